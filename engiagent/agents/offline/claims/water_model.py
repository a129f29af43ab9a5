"""The model of pumps that fill a reservoir or feed a main."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from engiagent.agents.offline.claims.facts import Facts
from engiagent.agents.offline.claims.switching import Water, running, switching, together
from engiagent.agents.offline.draft import Json, Value
from engiagent.agents.offline.plant.machinery.formulas import Formula
from engiagent.agents.offline.plant.system import BALANCE, CAPACITY, LOGIC, PHYSICS
from engiagent.blueprint.units import convert, parse_unit

STRATEGIC = "Strategic Requirements"
_CONTENTS = ("initial", "final", "minimum", "maximum", "band", "final_as_start", "spills")
_OPERATORS = {"lower": ">=", "upper": "<=", "value": "==", "exact": "=="}


@dataclass(frozen=True)
class Shape:
    """The power of pumps by a formula of the text, with the coefficients of each."""

    formula: Formula
    values: Mapping[tuple[str, str], Value]
    line: int
    powers: bool


def build(facts: Facts, shape: Shape | None) -> Json | None:
    """Add pumps, reservoir and demand; return the objective."""
    water = Water(facts)
    pumps = facts.reader.names.get("pump", {})
    _horsepower(facts)
    facts.says("additive")
    facts.says("switch_free")
    for name in pumps:
        if shape is not None:
            _by_formula(water, name, shape)
        else:
            _pump(water, name)
    facts.says("off_is_nothing")
    facts.says("no_less_flow")
    for name in pumps:
        switching(water, name)
    together(water)
    unit = _flow_unit(water)
    if facts.reader.names.get("reservoir"):
        _reservoir(water, unit)
    else:
        _main(water, unit)
    return _objective(water)


# --- pumps ---------------------------------------------------------------------------------------


def _horsepower(facts: Facts) -> None:
    """Hold 'take 1 hp as 0.7457 kW' against the table of units."""
    for said in facts.all("unit_factor"):
        facts.use(said)
        a, b = said.values["one"], said.values["other"]
        facts.builder.used += [a.source, b.source]
        assert a.number is not None
        assert b.number is not None
        known = convert(a.number, parse_unit(a.unit), parse_unit(b.unit))
        if a.unit == b.unit or abs(known - b.number) > 2e-6 * abs(b.number):
            facts.builder.draft.doubt(said.line, f"{a.unit} is defined otherwise than usual")
            continue
        facts.builder.draft.assume(f"{a.unit} by the table of units, as the text has it")
        for value in (a, b):
            entry = {"span": value.source["span"], "quote": value.source["quote"],
                     "reason": f"the definition of {a.unit}"}  # fmt: skip
            facts.builder.draft.unused.append(entry)


def _pump(water: Water, name: str) -> None:
    facts, draft = water.facts, water.facts.builder.draft
    rated = facts.number("flow", name, f"{name}_rated_flow", "flow")
    if facts.says("rated_at_max", name) is not None and rated is None:
        rated = facts.number("max_flow", name, f"{name}_rated_flow", "flow", "upper")
    flow = facts.needed(rated, name, "flow", "m3/h", "flow")
    power = facts.needed(
        facts.number("power", name, f"{name}_rated_power", "electric power"), name, "power", "kW",
        "electric power",
    )  # fmt: skip
    fixed, cube = facts.says("fixed", name), facts.says("cube", name)
    facts.says("variable", name)
    if (fixed is None) is (cube is None):
        line = max((s.line for s in facts.all("flow")), default=0)
        draft.doubt(max(line, 0), f"{name}: is its speed fixed, and how does its power change?")
        return
    if cube is None:
        on = running(water, name)
        water.flows[name], water.powers[name] = f"{flow}*{on}", f"{power}*{on}"
        return
    unit = str(next(p for p in facts.builder.parameters if p["name"] == flow)["unit"])
    share = facts.number("min_share", name, f"{name}_least_share", "least share", "lower")
    least = facts.number("min_flow", name, f"{name}_least_flow", "least flow", "lower")
    standing = facts.number("standing", name, "drive", "power of the drive while it runs")
    _at_rated(facts, name, standing)
    made = facts.variable(
        f"{name}_flow", lower=0, upper=flow, unit=unit, quantity=f"{name}.flow", role="decision"
    )
    water.flows[name] = f"{made}[t]"
    cubed = f"({made}[t]/{flow})**3"
    low = f"{share}*{flow}" if share is not None else least
    if share is not None and least is not None:
        draft.doubt(0, f"{name}: its least flow is given in two ways")
    if low is None and standing is None:
        water.powers[name] = f"{power}*{cubed}"
        return
    on = running(water, name)
    water.powers[name] = f"{power}*({standing}*{on} + {cubed})" if standing else f"{power}*{cubed}"
    facts.row(f"{name} off", f"{made}[t] <= {flow}*{on}", LOGIC)
    if low is not None:
        facts.row(f"{name} least flow", f"{low}*{on} <= {made}[t]", CAPACITY)


def _at_rated(facts: Facts, name: str, standing: str | None) -> None:
    """Hold 'at the rated flow it thus takes 104 %' against the standing share."""
    said = facts.one("at_rated", name)
    if said is None:
        return
    value = said.values["value"]
    facts.use(said)
    facts.builder.used.append(value.source)
    share = float(facts.builder.numbers[standing]) if standing is not None else 0.0
    if value.number is None or abs(value.number / 100 - 1 - share) > 1e-9:
        facts.builder.draft.doubt(said.line, "the power at the rated flow is another one")
        return
    entry = {"span": value.source["span"], "quote": value.source["quote"],
             "reason": "the sum of the cube and the standing share"}  # fmt: skip
    if entry not in facts.builder.draft.unused:
        facts.builder.draft.unused.append(entry)


def _by_formula(water: Water, name: str, shape: Shape) -> None:
    """Add a pump whose power is a formula in a multiple of a flow."""
    facts, builder = water.facts, water.facts.builder
    facts.says("formula")
    facts.says("variable", name)
    unit_said = facts.one("variable_of", name)
    symbols = {s for t in shape.formula.terms for s in re.findall(r"\{(\w+)\}", t.text)}
    symbols -= {shape.formula.variable}
    gaps = [s for s in symbols if (name, s) not in shape.values]
    powers = all(
        parse_unit(v.unit).dimension == parse_unit("kW").dimension
        for (owner, _), v in shape.values.items() if owner == name
    )  # fmt: skip
    pure = all(
        t.symbols is not None and set(t.symbols.values()) <= {1, 2, 3} for t in shape.formula.terms
    )
    if gaps or not powers or not pure or unit_said is None or not facts.all("formula"):
        builder.draft.doubt(shape.line, f"{name}: what this formula gives is not clear")
        return
    known = [p["name"] for p in builder.parameters]
    unit_flow = "unit_flow"
    if unit_flow not in known:
        facts.value(unit_said, unit_flow, "flow of which the variable is a multiple")
    made = {
        s: builder.value(f"{name}_{s}", shape.values[name, s], f"coefficient {s} of the power")
        for s in sorted(symbols)
    }
    low = facts.number("least_q", name, f"{name}_least", "least multiple", "lower")
    high = facts.number("most_q", name, f"{name}_most", "largest multiple", "upper")
    high = facts.needed(high, name, "most", "1", "largest flow")
    facts.says("limited", name)
    variable = facts.variable(
        f"{name}_q", lower=0, upper=high, unit="1", quantity=f"{name}.flow", role="decision"
    )
    on = running(water, name)
    facts.row(f"{name} off", f"{variable}[t] <= {high}*{on}", LOGIC)
    if low is not None:
        facts.row(f"{name} least flow", f"{low}*{on} <= {variable}[t]", CAPACITY)
    parts = []
    for term in shape.formula.terms:
        text = term.text
        for s, parameter in made.items():
            text = text.replace(f"{{{s}}}", parameter)
        moving = shape.formula.variable in (term.symbols or {})
        text = text.replace(f"{{{shape.formula.variable}}}", f"{variable}[t]")
        parts.append(text if moving else f"{text}*{on}")
    water.powers[name] = "(" + " + ".join(parts).replace("+ -", "- ") + ")"
    water.flows[name] = f"{unit_flow}*{variable}[t]"


# --- where the water goes ------------------------------------------------------------------------


def _flow_unit(water: Water) -> str:
    """Return ``m3/h`` or ``kg/s``: in what the flows of the pumps are measured."""
    units = {
        str(p["unit"]) for p in water.facts.builder.parameters
        if p["name"].endswith("rated_flow") or p["name"] == "unit_flow"
    }  # fmt: skip
    dims = {parse_unit(u).dimension for u in units}
    return "m3" if dims <= {parse_unit("m3/h").dimension} else "kg"


def _reservoir(water: Water, unit: str) -> None:
    facts, builder = water.facts, water.facts.builder
    given = " + ".join(water.flows.values()) or f"0[{unit}/h]"
    tanks = facts.reader.names["reservoir"]
    if len(tanks) != 1:
        builder.draft.doubt(0, "there are several reservoirs")
        return
    name = next(iter(tanks))
    demand = facts.series("demand", None, "demand", "water that is taken")
    inflow = facts.series("inflow", None, "inflow", "natural inflow")
    _totals(water, given)
    keeps = [c for c in _CONTENTS if facts.all(c)]
    if demand is None and not keeps:
        if not facts.all("received"):
            facts.needed(None, name, "demand", f"{unit}/h", "water that is taken", True)
        return
    start = facts.needed(
        facts.number("initial", None, "V_start", "content at the start"), name, "initial_volume",
        unit, "content at the start",
    )  # fmt: skip
    if demand is None:
        demand = facts.needed(None, name, "demand", f"{unit}/h", "water that is taken", True)
    low = facts.number("minimum", None, "V_low", "least content", "lower")
    low = low or facts.number("minimum", None, "V_low", "least content", "value")
    low = low or facts.number("band", None, "V_low", "least content", "lower")
    high = facts.number("maximum", None, "V_high", "largest content")
    high = high or facts.number("band", None, "V_high", "largest content", "upper")
    spills = facts.one("spills")
    if spills is not None:
        facts.use(spills)
        builder.draft.doubt(spills.line, "may water be spilled, or must it not?")
    content = f"{name}_content"
    builder.variables.append(
        {"name": content, "index": ["i in I"], "type": "continuous", "lower": low or 0,
         **({"upper": high} if high else {}), "unit": unit,
         "quantity": f"{name}.content", "role": "auxiliary"}
    )  # fmt: skip
    taken = builder.at(demand)
    more = f" + {builder.at(inflow)}" if inflow is not None else ""
    text = f"{content}[t+1] == {content}[t] + ({given}{more} - {taken})*dt(t)"
    facts.row("content", text, PHYSICS)
    facts.row("content at the start", f"{content}[first(I)] == {start}", PHYSICS, each=False)
    for said in facts.all("final"):
        made = facts.value(said, "V_end", "content at the end")
        text = f"{content}[last(I)] {_OPERATORS[said.bound]} {made}"
        facts.row("content at the end", text, STRATEGIC, said.line, each=False)
    same = facts.all("final_as_start")
    for said in same:
        facts.use(said)
        operator = ">=" if said.said & {"least", "below"} else "=="
        text = f"{content}[last(I)] {operator} {content}[first(I)]"
        facts.row("content at the end", text, STRATEGIC, said.line, each=False)


def _totals(water: Water, given: str) -> None:
    """Add what a reservoir has to receive in all, and may receive in a period."""
    facts = water.facts
    for said in facts.all("received"):
        made = facts.value(said, "received", "water in all")
        operator = "==" if said.bound == "exact" else ">="
        text = f"sum(({given})*dt(t) for t in T) {operator} {made}"
        facts.row("water in all", text, BALANCE, said.line, each=False)
    for said in facts.all("step_max"):
        if facts.all("demand") and not said.said & {"bring", "received", "lift"}:
            facts.builder.draft.doubt(said.line, "is this what comes in, or what is taken?")
        made = facts.value(said, "step_max", "largest volume of a period")
        facts.row("water of a period", f"({given})*dt(t) <= {made}", CAPACITY, said.line)


def _main(water: Water, unit: str) -> None:
    """Let the pumps deliver together what is taken."""
    facts, builder = water.facts, water.facts.builder
    name = next(iter(facts.reader.names.get("main", {"main": None})))
    demand = facts.series("demand", None, "demand", "flow that is wanted")
    demand = facts.needed(demand, name, "demand", f"{unit}/h", "flow that is wanted", True)
    facts.says("sum_is_flow")
    given = " + ".join(water.flows.values()) or f"0[{unit}/h]"
    facts.row("flow", f"{given} == {builder.at(demand)}", BALANCE)


# --- what it is for ------------------------------------------------------------------------------


def _objective(water: Water) -> Json | None:
    facts, builder = water.facts, water.facts.builder
    cost, energy = facts.all("goal_cost"), facts.all("goal_energy")
    price = facts.series("price", None, "price", "price of electricity")
    facts.use(*cost, *energy)
    goals = cost or energy
    if not goals or not water.powers:
        return None
    if cost and energy:
        builder.draft.doubt(energy[0].line, "two objectives: cost and energy")
    power = " + ".join(water.powers.values())
    line = goals[0].line
    if energy and not cost:
        return {
            "name": "energy", "sense": "minimize", "unit": "kWh",
            "expression": f"sum(({power})*dt(t) for t in T)",
            "source_reference": builder.draft.quote(line),
        }  # fmt: skip
    price = facts.needed(price, "site", "import_price", "EUR/kWh", "price of electricity")
    from engiagent.agents.offline.amounts import currency_of

    unit = next(str(p["unit"]) for p in builder.parameters if p["name"] == price)
    text = f"sum({builder.at(price)}*({power})*dt(t) for t in T)"
    return {
        "name": "cost", "sense": "minimize", "unit": currency_of(unit) or "EUR",
        "expression": " + ".join([text, *water.costs]),
        "source_reference": builder.draft.quote(line),
    }  # fmt: skip
