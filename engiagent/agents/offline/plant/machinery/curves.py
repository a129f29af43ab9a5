"""What a unit costs or burns by a formula of the text, or by the blocks that it offers."""

import re
from typing import Final

from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.plant.machinery.formulas import Curve, Term
from engiagent.agents.offline.plant.system import LOGIC, System, lacking
from engiagent.agents.offline.plant.units import Instance
from engiagent.blueprint.units import parse_unit

UNITS: Final = {"volume": "L", "mass": "kg"}


def add_curve(system: System, instance: Instance, curve: Curve) -> None:
    """Add what a unit costs, or burns, at every output."""
    name, draft = instance.name, system.builder.draft
    if dict(curve.of) != dict(parse_unit("kW").dimension):
        draft.refuse(curve.line, "the variable of this formula is no power")
        return
    made = {
        symbol: system.builder.value(f"{name}_{symbol}", value, f"coefficient {symbol}")
        for symbol, value in sorted(curve.coefficients.items())
    }
    rate = _rate(system, name, curve, made)
    if curve.gives == "money":
        system.costs.append(("+", f"sum({rate}*dt(t) for t in T)"))
    elif curve.gives in UNITS:
        burn(system, instance, UNITS[curve.gives], f"{rate}*dt(t)")
    else:
        draft.refuse(curve.line, "a formula that gives neither a cost nor a fuel")


def burn(system: System, instance: Instance, unit: str, text: str) -> None:
    """Add fuel that a unit burns in a period, in kg or L: to the objective or to its cost."""
    goal = system.reader.goal
    if goal is not None and goal.target == "fuel":
        system.burnt.append((unit, f"sum({text} for t in T)"))
        return
    slot = {"L": "volume_price", "kg": "mass_price"}[unit]
    fuels = system.reader.plant.of("fuel")
    price = next(
        (system.filled[f.name][slot] for f in fuels if slot in system.filled[f.name]), None
    )
    if price is None:
        price = lacking(system, instance, "fuel_price")
    system.costs.append(("+", f"sum({price}*{text} for t in T)"))


def least_fuel(system: System, goal: Goal) -> Json | None:
    """Return the objective of burning as little as possible."""
    draft = system.builder.draft
    units = {unit for unit, _ in system.burnt}
    if system.costs or len(units) != 1:
        draft.doubt(goal.line, "the objective is fuel, and there are costs, or several units of it")
        return None
    return {
        "name": "fuel",
        "sense": "minimize",
        "expression": " + ".join(text for _, text in system.burnt),
        "unit": units.pop(),
        "source_reference": draft.quote(goal.line),
    }


def _rate(system: System, name: str, curve: Curve, made: dict[str, str]) -> str:
    switched = any(v["name"] == f"{name}_on" for v in system.builder.variables)
    if switched and not _may_stand(system):
        draft = system.builder.draft
        draft.doubt(curve.line, "may a unit with a least output be switched off, or does it run?")
    texts = []
    for term in curve.formula.terms:
        filled = re.sub(r"\{(\w+)\}", lambda m: made.get(m[1], f"{name}_power[t]"), term.text)
        if switched and not _vanishes(term, curve.formula.variable):
            filled = f"{filled}*{name}_on[t]"  # nothing is burnt by a unit that stands
        texts.append(filled)
    return f"({' + '.join(texts)})".replace("+ -", "- ")


def _may_stand(system: System) -> bool:
    """Whether the text speaks of units that stand, stop or start."""
    reader = system.reader
    told = {"offstate", "swoff", "startup", "canstop"}
    return any(
        reader.marked(n).said() & told
        for n, line in enumerate(system.builder.draft.lines)
        if not line.sentence.is_heading
    )


def _vanishes(term: Term, variable: str) -> bool:
    """Whether a summand is zero at no output."""
    return term.symbols is not None and term.symbols.get(variable, 0) > 0


def add_offer(system: System, instance: Instance) -> bool:
    """Add the blocks of a unit and their costs; False where it has none."""
    offer = system.reader.offers.get(instance.name)
    if offer is None:
        return False
    builder, name, draft = system.builder, instance.name, system.builder.draft
    if any(system.has(name, slot) for slot in ("energy_cost", "efficiency", "fuel_volume")):
        draft.doubt(offer.line, f"{name}: its costs are given in two ways")
    tops, prices = system.blocks[name], []
    for k, (_, price) in enumerate(offer.blocks, 1):
        prices.append(builder.value(f"{name}_block_{k}_price", price, f"price of block {k}"))
        builder.variables.append(
            {"name": f"{name}_block_{k}", "index": ["t in T"], "type": "continuous", "lower": 0,
             "upper": tops[k - 1], "unit": "kW", "quantity": f"{name}.block_{k}",
             "role": "auxiliary", "description": f"power of {name} from its block {k}"}
        )  # fmt: skip
        cost = f"sum({prices[-1]}*{name}_block_{k}[t]*dt(t) for t in T)"
        system.costs.append(("+", cost))
    values = [float(builder.numbers[price]) for price in prices]
    if values != sorted(values):
        draft.doubt(offer.line, f"{name}: its blocks do not become dearer; in which order?")
    total = " + ".join(f"{name}_block_{k}[t]" for k in range(1, len(tops) + 1))
    system.row(f"blocks of {name}", f"{name}_power[t] == {total}", LOGIC, offer.line)
    return True
