"""Night air through a building: whether a text is on it, and what it says."""

import re
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.claims.card import domain
from engiagent.agents.offline.claims.facts import Facts
from engiagent.agents.offline.claims.reader import Said
from engiagent.agents.offline.claims.study import Opened, named_units, understand
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.engine import Understanding
from engiagent.agents.offline.plant.system import LOGIC, PHYSICS

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_FAN: Final = re.compile(r"(?<![a-z])(?:fans?|ventilat\w+|blowers?)(?![a-z])")
_NIGHT: Final = re.compile(r"(?<![a-z])(?:night|overnight|nights|flush\w*)(?![a-z])")
_OTHERS: Final = re.compile(
    r"(?<![a-z])(?:heat pumps?|boilers?|turbines?|generators?|batter(?:y|ies)|cooling towers?|ice"
    r"|solar|pv|supply air|return air|economi[sz]er|heaters?|radiators?|blinds?)(?![a-z])"
)
_STAGES: Final = {"fullspeed": "full", "halfspeed": "half"}


def understand_flush(problem: "Problem") -> Understanding | None:
    """Read a problem on fans that cool a building with night air; None for any other text."""
    opened = Opened(problem)
    lines = [line.line for line in opened.draft.lines if not line.sentence.is_heading]
    kinds = {t.amount.kind for line in opened.draft.lines for t in line.tokens if t.amount}
    told = any(_FAN.search(t) for t in lines) and any(_NIGHT.search(t) for t in lines)
    if not told or not {"mass_flow", "heat_capacity"} <= kinds:
        return None
    if any(_OTHERS.search(t) for t in lines):
        return None
    card = domain("flush")
    return understand(opened, card, named_units(opened, card), build)


def build(facts: Facts) -> Json | None:
    """Add the temperature of the building, the stages of the fans, and what they save."""
    draft, builder = facts.builder.draft, facts.builder
    outdoor = facts.series("outdoor", None, "outdoor", "temperature outside")
    outdoor = facts.needed(outdoor, "weather", "outdoor_temperature", "degC", "temperature", True)
    heat = facts.number("specific_heat", None, "specific_heat", "specific heat of air")
    heat = facts.needed(heat, "air", "specific_heat", "kJ/(kg*K)", "specific heat")
    capacity = facts.number("capacity", None, "capacity", "heat capacity of the building")
    capacity = facts.needed(capacity, "zone", "capacitance", "kWh/K", "heat capacity")
    start = facts.number("initial", None, "initial_temperature", "temperature at the start")
    start = facts.needed(start, "zone", "initial_temperature", "degC", "temperature at the start")
    lowest = facts.number("lowest", None, "lowest_temperature", "lowest temperature", "lower")
    stages = _stages(facts)
    if facts.says("adiabatic") is None:
        draft.doubt(0, "whether the building loses or gains heat otherwise is not said")
    facts.says("heat_law")
    if not any(
        "beginning" in s.said for s in (*facts.all("specific_heat"), *facts.all("heat_law"))
    ):
        draft.doubt(
            0, "of which moment of a step is the temperature that the air takes up heat at?"
        )
    builder.variables.append(
        {"name": "temperature", "index": ["i in I"], "type": "continuous",
         **({"lower": lowest} if lowest is not None else {}), "upper": start, "unit": "degC",
         "quantity": "zone.temperature", "role": "auxiliary",
         "description": "temperature of the building"}
    )  # fmt: skip
    if _warmer(facts, outdoor, start):
        draft.doubt(0, "air that is warmer than the building would heat it")
    flows = " + ".join(f"{flow}*{name}[t]" for name, flow, _ in stages)
    gap = f"(temperature[t] - {builder.at(outdoor)})"
    facts.row("heat that the air takes", f"temperature[t+1] == temperature[t] - dt(t)/{capacity}"
              f"*{heat}*({flows})*{gap}", PHYSICS)  # fmt: skip
    facts.row("temperature at the start", f"temperature[first(I)] == {start}", PHYSICS, each=False)
    sums = " + ".join(f"{name}[t]" for name, _, _ in stages)
    if len(stages) > 1:
        facts.row("one stage at a time", f"{sums} <= 1", LOGIC)
    return _objective(facts, stages)


def _warmer(facts: Facts, outdoor: str, start: str) -> bool:
    out, first = (facts.builder.numbers.get(name) for name in (outdoor, start))
    return out is None or first is None or bool((out > first + 1e-9).any())


def _stages(facts: Facts) -> list[tuple[str, str, str]]:
    """Return the variable, the flow and the power of every stage of the fans."""
    draft, builder = facts.builder.draft, facts.builder
    made: list[tuple[str, str, str]] = []
    told = facts.all("stages")
    facts.use(*told)
    for concept, name in _STAGES.items():
        said = [s for s in facts.all("stage") if concept in s.said]
        asked = any(concept in s.said for s in told)
        if not said:
            if asked:
                facts.needed(None, "fan", f"{name}_flow", "kg/s", f"flow at {name} speed")
            continue
        if len(said) > 1 or not asked:
            draft.doubt(
                max(said[-1].line, 0), f"{name} speed of which fans, and may they run at it?"
            )
        flow = facts.value(said[0], f"{name}_flow", f"flow at {name} speed", "flow")
        power = facts.value(said[0], f"{name}_power", f"power at {name} speed", "power")
        builder.variables.append(
            {"name": f"runs_{name}", "index": ["t in T"], "type": "binary", "unit": "1",
             "quantity": f"fan.{name}", "role": "decision",
             "description": f"1 while the fans run at {name} speed"}
        )  # fmt: skip
        made.append((f"runs_{name}", flow, power))
    if not made:
        facts.needed(None, "fan", "flow", "kg/s", "flow of the fans")
    _affine(facts, made)
    return made


def _affine(facts: Facts, made: list[tuple[str, str, str]]) -> None:
    """Hold 'as the affinity law has it' against the powers and flows of two stages."""
    law = facts.says("affinity")
    if law is None:
        return
    numbers = facts.builder.numbers
    if len(made) == 2:
        ratios = [float(numbers[a] / numbers[b]) for a, b in zip(made[1], made[0], strict=True)
                  if a in numbers and b in numbers]  # fmt: skip
        if len(ratios) == 2 and abs(ratios[1] - ratios[0] ** 3) <= 1e-6 * ratios[1]:
            return
    facts.builder.draft.doubt(law.line, "the powers and flows do not follow the affinity law")


def _objective(facts: Facts, stages: list[tuple[str, str, str]]) -> Json | None:
    draft = facts.builder.draft
    goals: list[Said] = facts.all("goal_net")
    facts.use(*goals)
    saving = facts.one("saving")
    price = facts.number("fan_price", None, "fan_price", "price of electricity of the fans")
    price = facts.needed(price, "site", "import_price", "EUR/kWh", "price of electricity")
    if saving is None:
        facts.needed(None, "zone", "saving", "EUR/K", "what a kelvin saves")
        return None
    worth = facts.value(saving, "saving", "what a kelvin at the end saves")
    ref = facts.value(saving, "reference", "temperature from which it counts", "ref")
    if "end" not in saving.said:
        draft.doubt(saving.line, "of which moment is the temperature that saves?")
    if not goals:
        return None
    if not any("paying" in g.said for g in goals):
        draft.doubt(goals[0].line, "what is saved, with or without the cost of the fans?")
    cost = " + ".join(f"{power}*{name}[t]" for name, _, power in stages)
    return {
        "name": "saving", "sense": "maximize",
        "expression": f"{worth}*({ref} - temperature[last(I)])"
                      f" - sum({price}*({cost})*dt(t) for t in T)",
        "unit": _currency(facts, saving),
        "source_reference": draft.quote(goals[0].line),
    }  # fmt: skip


def _currency(facts: Facts, saving: Said) -> str:
    from engiagent.agents.offline.amounts import currency_of

    return currency_of(saving.values["value"].unit) or "EUR"
