"""A tank of hot water by its temperature: draws, what heats it, rules against legionella."""

import re
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import currency_of
from engiagent.agents.offline.claims.card import domain
from engiagent.agents.offline.claims.facts import Facts
from engiagent.agents.offline.claims.reader import Said
from engiagent.agents.offline.claims.study import Opened, named_units, understand
from engiagent.agents.offline.draft import Json, Value
from engiagent.agents.offline.engine import Understanding
from engiagent.agents.offline.plant.system import CAPACITY, LOGIC, PHYSICS
from engiagent.agents.offline.storage import constrain

if TYPE_CHECKING:
    from engiagent.problems.problem import Problem

_TANK: Final = re.compile(r"(?<![a-z])(?:tank|cylinder|calorifier)s?(?![a-z])")
_OTHERS: Final = re.compile(
    r"(?<![a-z])(?:radiators?|buffer|chp|chillers?|batter(?:y|ies)|photovoltaics?|solar|kwh/k"
    r"|space heating|circulation)(?![a-z])"
)


def understand_tank(problem: "Problem") -> Understanding | None:
    """Read a tank of domestic hot water; None where the text is on something else."""
    opened = Opened(problem)
    lines = [line.line for line in opened.draft.lines if not line.sentence.is_heading]
    kinds = {t.amount.kind for ln in opened.draft.lines for t in ln.tokens if t.amount is not None}
    drawn = any(c.unit in ("L/h", "m3/h", "L/min") for c in opened.columns)
    if not drawn or "volume" not in kinds or not any(_TANK.search(t) for t in lines):
        return None
    if any(_OTHERS.search(t) for t in lines):
        return None
    card = domain("tank")
    return understand(opened, card, named_units(opened, card), build)


def build(facts: Facts) -> Json | None:
    """Add the tank, what heats it, what is drawn, the rules, and the cost."""
    draft, builder = facts.builder.draft, facts.builder
    if facts.says("law") is None:
        draft.doubt(0, "how the temperature follows from step to step is not said")
    for said in (*facts.all("users"), *facts.all("counted")):
        value = said.values["value"]
        _explained(facts, value, "counts what the text gives")
        facts.use(said)
        heated_by = len({"pump", "rod"} & set(facts.reader.names))
        if "devices" in said.said and value.number != heated_by:
            draft.doubt(said.line, "the text speaks of another number of devices than it describes")
    volume = facts.number("volume", None, "volume", "water in the tank")
    volume = facts.needed(volume, "tank", "volume", "L", "volume")
    heat = facts.number("holds_heat", None, "water_heat", "heat of a litre of the tank")
    heat = facts.needed(heat, "tank", "heat_capacity", "Wh/(L*K)", "heat of a litre")
    low = facts.number("band", None, "lowest", "lowest temperature", "lower")
    high = facts.number("band", None, "highest", "highest temperature", "upper")
    low = facts.needed(low, "tank", "temperature_min", "degC", "lowest temperature")
    high = facts.needed(high, "tank", "temperature_max", "degC", "highest temperature")
    start = facts.number("initial", None, "initial_temperature", "temperature at the start")
    start = facts.needed(start, "tank", "initial_temperature", "degC", "temperature at the start")
    builder.variables.append(
        {"name": "tank_temperature", "index": ["i in I"], "type": "continuous", "lower": low,
         "upper": high, "unit": "degC", "quantity": "tank.temperature", "role": "auxiliary",
         "description": "temperature of the tank"}
    )  # fmt: skip
    devices, cost = _devices(facts)
    losses = _losses(facts)
    flows = f"{' + '.join(devices)}{_drawn(facts)}{losses}"
    facts.row("temperature of the tank", f"tank_temperature[t+1] == tank_temperature[t] + dt(t)/"
              f"({heat}*{volume})*({flows})", PHYSICS)  # fmt: skip
    facts.row("temperature at the start", f"tank_temperature[first(I)] == {start}", PHYSICS,
              each=False)  # fmt: skip
    _end(facts, start)
    _rules(facts, low, high)
    return _objective(facts, cost)


def _devices(facts: Facts) -> tuple[list[str], str]:
    """Add what heats the tank; return its heat and the electric power as terms."""
    terms, cost = [], []
    if facts.reader.names.get("pump"):
        most = facts.number("pump_heat", None, "pump_heat_max", "largest heat of the heat pump")
        most = facts.needed(most, "heat_pump", "heat_max", "kW", "largest heat")
        cop = facts.number("pump_cop", None, "pump_cop", "COP of the heat pump")
        cop = facts.needed(cop, "heat_pump", "cop", "1", "coefficient of performance")
        facts.variable("pump_heat", lower=0, upper=most, unit="kW", quantity="heat_pump.heat",
                       role="decision", description="heat of the heat pump")  # fmt: skip
        terms.append("pump_heat[t]")
        cost.append(f"pump_heat[t]/{cop}")
    if facts.reader.names.get("rod"):
        most = facts.number("rod_power", None, "heater_power_max", "power of the heater")
        most = facts.needed(most, "electric_heater", "power_max", "kW", "largest power")
        facts.variable("heater_power", lower=0, upper=most, unit="kW", role="decision",
                       quantity="electric_heater.electric_power",
                       description="power of the immersion heater")  # fmt: skip
        if facts.says("rod_full") is None:
            told = [s for s in facts.all("rod_power") if "alltoheat" in s.said]
            if not told:
                facts.builder.draft.assume("all electric power of the heater becomes heat")
        terms.append("heater_power[t]")
        cost.append("heater_power[t]")
    if not terms:
        facts.needed(None, "tank", "heater", "kW", "power of what heats it")
    return terms or ["0[kW]"], " + ".join(cost)


def _losses(facts: Facts) -> str:
    found = facts.all("loss")
    facts.use(*found)
    if not found:
        facts.builder.draft.assume("the tank loses no heat to its surroundings")
        return ""
    if len(found) > 1:
        facts.builder.draft.doubt(found[-1].line, "the losses are given twice")
    loss = facts.value(found[0], "loss", "loss to the surroundings")
    room = facts.value(found[0], "room_temperature", "temperature around the tank", "room")
    return f" - {loss}*(tank_temperature[t] - {room})"


def _drawn(facts: Facts) -> str:
    """Return the heat that is drawn, as a term to be subtracted."""
    draft = facts.builder.draft
    draw = facts.series("draw", None, "draw", "water that is drawn")
    draw = facts.needed(draw, "tank", "draw", "L/h", "water that is drawn", True)
    warm, cold = facts.one("warm"), facts.one("cold")
    rule = facts.one("per_litre", name="heat")
    if rule is None:
        facts.needed(None, "tank", "draw_heat", "Wh/(L*K)", "heat that a litre takes")
        return ""
    heat = facts.value(rule, "draw_heat", "heat of a litre that is drawn", "heat")
    lift = facts.value(rule, "draw_lift", "by which a litre is warmed", "lift")
    for said in (warm, cold):
        if said is not None:
            facts.use(said)
            _explained(facts, said.values["value"], "what a litre is warmed by is given")
    if warm is not None and cold is not None:
        gap = _plain(warm) - _plain(cold)
        if abs(gap - float(rule.values["lift"].number or 0.0)) > 1e-9:
            draft.doubt(rule.line, "the lift is not that from the cold water to the mixed one")
    low = facts.one("band", None, "lower")
    for said in facts.all("valid_above"):
        facts.restated(said, low, "lowest temperature")
    return f" - {heat}*{facts.builder.at(draw)}*{lift}"


def _explained(facts: Facts, value: Value, reason: str) -> None:
    """Account for a number that enters no equation of its own."""
    facts.builder.used.append(value.source)
    entry = {"span": value.source["span"], "quote": value.source["quote"], "reason": reason}
    facts.builder.draft.unused.append(entry)


def _plain(said: Said) -> float:
    return float(said.values["value"].number or 0.0)


def _end(facts: Facts, start: str) -> None:
    again = facts.all("final_initial")
    facts.use(*again)
    for said in again:
        text = f"tank_temperature[last(I)] >= {start}"
        facts.row("temperature at the end", text, LOGIC, said.line, each=False)
    for said in facts.all("final"):
        made = facts.value(said, "final_temperature", "temperature at the end")
        sign = "==" if said.bound == "value" else ">="
        text = f"tank_temperature[last(I)] {sign} {made}"
        facts.row("temperature at the end", text, LOGIC, said.line, each=False)
    if not again and not facts.all("final"):
        facts.builder.draft.assume("nothing is required of the tank at the end")


# --- rules against legionella --------------------------------------------------------------------


def _clocks(facts: Facts, said: Said) -> list[tuple[float, tuple[int, int]]]:
    """Return the times of the day in the words of a claim, with their places."""
    line = facts.builder.draft.lines[said.line]
    return [
        (t.clock % 24, t.span) for t in line.tokens
        if t.clock is not None and t.kind in ("clock", "period_open")
        and said.span[0] <= t.span[0] < said.span[1]
    ]  # fmt: skip


def _rules(facts: Facts, low: str, high: str) -> None:
    """Add the mark of the night at which the tank is hot, and what hangs on it."""
    draft, builder = facts.builder.draft, facts.builder
    hygiene, locks, hot = (facts.all(c) for c in ("hygiene", "lock", "hot_marks"))
    facts.use(*hygiene, *locks, *hot)
    if not hygiene:
        if locks or hot:
            draft.doubt((locks or hot)[0].line, "which mark is the chosen one?")
        return
    said = hygiene[0]
    clocks = _clocks(facts, said)
    if len(hygiene) > 1 or len(locks) > 1 or len(hot) > 1 or not clocks or builder.axis.hours > 24:
        draft.doubt(said.line, "one mark of one night is what the engine knows")
        return
    where = " or ".join(f"clock(i) == {clock:g}[h]" for clock, _ in clocks)
    spans = tuple(span for _, span in clocks)
    # The last instant is another one than the first, where the horizon is a whole day.
    builder.sets.append(
        {"name": "Marks", "kind": "subset", "of": "I", "binder": "i",
         "where": f"({where}) and pos(i) < len(T)",
         "source_reference": draft.quote(said.line, *spans)}
    )  # fmt: skip
    builder.variables.append(
        {"name": "chosen", "index": ["i in Marks"], "type": "binary", "unit": "1",
         "quantity": "tank.chosen", "role": "decision", "description": "1 at the chosen mark"}
    )  # fmt: skip
    target = facts.value(said, "hygiene_temperature", "temperature at the chosen mark")
    constrain(builder, "one mark", "sum(chosen[i] for i in Marks) == 1", LOGIC, said.line)
    constrain(builder, "hot at the chosen mark",
              f"tank_temperature[i] >= {low} + ({target} - {low})*chosen[i]", LOGIC, said.line,
              ["i in Marks"])  # fmt: skip
    for one in locks:
        _lock(facts, one)
    for one in hot:
        _hot(facts, one, high)


Spans = tuple[tuple[int, int], ...]


def _start(facts: Facts) -> Spans:
    """Return where the text says at which time of the day the horizon begins."""
    draft, start = facts.builder.draft, facts.builder.axis.start_clock
    shown = f"{int(start):02d}:{round(start % 1 * 60):02d}"
    told = [
        t.span for line in draft.lines for t in line.tokens
        if t.kind == "clock" and t.clock is not None and abs(t.clock - start) < 1e-9
    ]  # fmt: skip
    place = draft.text.find(shown)
    found = told[:1] or ([(place, place + len(shown))] if place >= 0 else [])
    return tuple(found)


def _until(facts: Facts, said: Said, index: str) -> tuple[str, str, Spans] | None:
    """Return the conditions before, and after, a time that lies in the horizon, and its places."""
    clocks, axis = _clocks(facts, said), facts.builder.axis
    if len(clocks) != 1:
        facts.builder.draft.doubt(said.line, "until when does this hold?")
        return None
    clock, span = clocks[0]
    steps = ((clock - axis.start_clock) % 24) * 60 / axis.step_minutes
    if abs(steps - round(steps)) > 1e-6 or steps > axis.periods:
        facts.builder.draft.doubt(said.line, "a time outside the horizon, or within a step")
        return None
    over = axis.start_clock > clock
    order = "<" if index == "t" else "<="
    first = f"clock({index}) {order} {clock:g}[h]"
    if over:  # the horizon begins before midnight, and this time is behind it
        before = f"({first} or clock({index}) >= {axis.start_clock:g}[h])"
        after = f"not {before}"
    else:
        before, after = first, f"not ({first})"
    return before, after, (span, *_start(facts)) if over else (span,)


def _lock(facts: Facts, said: Said) -> None:
    """Lock the heat pump from an hour before the chosen mark until a time."""
    builder = facts.builder
    found = _until(facts, said, "t")
    lead = 60 / builder.axis.step_minutes
    if found is None or abs(lead - round(lead)) > 1e-9 or not facts.reader.names.get("pump"):
        builder.draft.doubt(said.line, "when is which device locked?")
        return
    most = facts.number("pump_heat", None, "pump_heat_max", "largest heat of the heat pump")
    known = next(v["upper"] for v in builder.variables if v["name"] == "pump_heat")
    if most != known and most is not None:
        builder.parameters[:] = [p for p in builder.parameters if p["name"] != most]
    text = f"sum(chosen[i] for i in I if i in Marks and pos(i) <= pos(t) + {round(lead)})"
    constrain(builder, "heat pump is locked", f"pump_heat[t] <= {known}*(1 - {text})", CAPACITY,
              said.line, ["t in T"], found[0], spans=found[2])  # fmt: skip


def _hot(facts: Facts, said: Said, high: str) -> None:
    """Keep the tank below a temperature but at the marks from the chosen one to a time."""
    builder = facts.builder
    found = _until(facts, said, "i")
    if found is None:
        return
    most = facts.value(said, "usual_highest", "temperature above which the tank may be then only")
    text = "sum(chosen[j] for j in I if j in Marks and pos(j) <= pos(i))"
    constrain(builder, "hot from the chosen mark only",
              f"tank_temperature[i] <= {most} + ({high} - {most})*{text}", LOGIC, said.line,
              ["i in I"], found[0], spans=found[2])  # fmt: skip
    constrain(builder, "not hot later", f"tank_temperature[i] <= {most}", LOGIC, said.line,
              ["i in I"], found[1], spans=found[2])  # fmt: skip


def _objective(facts: Facts, cost: str) -> Json | None:
    draft = facts.builder.draft
    goals = facts.all("goal_cost")
    facts.use(*goals)
    price = facts.series("price", None, "price", "price of electricity")
    price = facts.needed(price, "site", "import_price", "EUR/kWh", "price of electricity", True)
    if not goals or not cost:
        return None
    unit = next((str(p["unit"]) for p in facts.builder.parameters if p["name"] == price), "EUR")
    return {
        "name": "cost", "sense": "minimize", "unit": currency_of(unit) or "EUR",
        "expression": f"sum({facts.builder.at(price)}*({cost})*dt(t) for t in T)",
        "source_reference": draft.quote(goals[0].line),
    }  # fmt: skip
