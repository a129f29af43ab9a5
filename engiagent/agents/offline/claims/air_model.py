"""The model of an air handler: the mixture, the coils, and what the rooms take up."""

import re
from typing import Final

from engiagent.agents.offline.amounts import currency_of, kind_of
from engiagent.agents.offline.claims.air_boxes import boxes, rooms
from engiagent.agents.offline.claims.air_parts import Air, price_of, unit_of
from engiagent.agents.offline.claims.facts import Facts
from engiagent.agents.offline.claims.reader import Said
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.plant.system import BALANCE, CAPACITY, LOGIC, PHYSICS

_FAHRENHEIT: Final = re.compile(r"°\s?F|degrees? F|Fahrenheit", re.I)
_KELVIN: Final = re.compile(r"°\s?C|degrees? C|Celsius|\bK\b|kelvin", re.I)


def build(facts: Facts) -> Json | None:
    """Add the air handler, its rooms and its costs; return the objective."""
    air = Air(facts)
    zones = facts.reader.names.get("zone", {})
    air.boxes = tuple(zones) if facts.all("need") else ()
    _temperatures(air)
    stream = None if air.boxes else _stream(air)
    if air.boxes:
        rooms(air)
        excess = boxes(air)
    else:
        share = _share(air)
        excess = f"{stream}*({air.back} - {air.supply} + {share}*({air.out} - {air.back}))"
        air.most = f"{stream}*max({air.back} - {air.low}, {air.out} - {air.low})"
        air.warmest = f"{stream}*max(0[K], {air.high} - {air.out}, {air.high} - {air.back})"
        _gains(air, stream or "")
    _coils(air, excess)
    return _objective(air)


# --- temperatures --------------------------------------------------------------------------------


def _temperatures(air: Air) -> None:
    facts = air.facts
    room, back = facts.one("room"), facts.one("return")
    made = facts.value(room, "room", "temperature of the room") if room is not None else None
    air.room = made
    if back is not None and room is not None and _same(room, back):
        facts.restated(back, room, "temperature of the air that comes back")
        air.back = made or ""
    elif back is not None:
        said = facts.builder.draft.text[back.span[0] : back.span[1]].lower()
        if room is not None and "room air" in said:
            facts.builder.draft.doubt(back.line, "two temperatures of the room")
        air.back = facts.value(back, "return_air", "temperature of the return air")
    else:
        air.back = made or ""
        if room is not None:
            facts.builder.draft.assume("the air that comes back has the temperature of the room")
    air.back = air.back or facts.needed(
        None, "air_handler", "return_temperature", "degC", "temperature of the return air"
    )
    out = facts.series("outdoor", None, "outdoor", "temperature outdoors")
    out = facts.needed(out, "weather", "outdoor_temperature", "degC", "temperature outdoors", True)
    air.out = facts.builder.at(out)
    _supply(air)


def _same(a: Said, b: Said) -> bool:
    x, y = a.values["value"], b.values["value"]
    return (x.number, x.unit) == (y.number, y.unit)


def _supply(air: Air) -> None:
    facts = air.facts
    fixed = facts.one("supply")
    low = facts.number("supply_limit", None, "supply_low", "coldest supply air", "lower")
    high = facts.number("supply_limit", None, "supply_high", "warmest supply air", "upper")
    if fixed is not None:
        if low is not None or high is not None:
            facts.builder.draft.doubt(fixed.line, "the supply air is fixed and has limits")
        air.supply = air.low = air.high = facts.value(
            fixed, "supply_air", "temperature of the supply air"
        )
        return
    if low is None and high is None:
        air.supply = air.low = air.high = facts.needed(
            None, "air_handler", "supply_temperature", "degC", "temperature of the supply air"
        )
        return
    air.low, air.high = low or "0[degC]", high or air.back
    made = facts.variable(
        "supply", lower=air.low, upper=air.back, unit=unit_of(air, low or high or air.back),
        quantity="air_handler.supply_temperature", role="decision",
    )  # fmt: skip
    if low is None:
        facts.builder.draft.assume("the supply air is not below freezing")
    for limit, bound in ((low, "lower"), (high, "upper")):
        said = facts.one("supply_limit", None, bound)
        if limit is not None and said is not None:
            sign = ">=" if bound == "lower" else "<="
            facts.row(f"{bound} limit of the supply air", f"{made}[t] {sign} {limit}", CAPACITY,
                      said.line)  # fmt: skip
    air.supply = f"{made}[t]"
    for ramp in facts.all("supply_ramp"):
        most = facts.value(ramp, "supply_change", "largest change of the supply air")
        if kind_of(ramp.values["value"].unit) == "temperature_rate":
            most = f"{most}*dt(t)"
        elif not ramp.said & {"eachstep", "nexthour"}:
            facts.builder.draft.doubt(ramp.line, "in what time may it change by this?")
        for a, b in ((f"{made}[t]", f"{made}[t-1]"), (f"{made}[t-1]", f"{made}[t]")):
            text = f"{a} - {b} <= {most}"
            facts.row("change of the supply air", text, CAPACITY, ramp.line,
                      where="t != first(T)")  # fmt: skip


# --- one stream of air ---------------------------------------------------------------------------


def _stream(air: Air) -> str:
    """Return how much heat a kelvin of the whole stream is, as an expression in kW/K."""
    facts, draft = air.facts, air.facts.builder.draft
    flow, stream = facts.all("flow"), facts.one("stream")
    if flow and stream is not None:
        draft.doubt(stream.line, "the stream of air is given in two ways")
    if stream is not None:
        text = draft.text[stream.span[0] : stream.span[1]]
        kinds = {"degF_diff": _FAHRENHEIT.search(text), "K": _KELVIN.search(text)}
        units = [unit for unit, found in kinds.items() if found is not None]
        if len(units) != 1:
            draft.doubt(stream.line, "of which scale are these degrees?")
        made = facts.value(stream, "stream", "heat per degree at full flow")
        text = f"{made}/1[{(units or ['K'])[0]}]"
        share = facts.series("flow_share", None, "flow_share", "share of full flow")
        return f"{text}*{facts.builder.at(share)}" if share is not None else text
    given = facts.series("flow", None, "flow", "flow of the supply air")
    if given is None:
        return facts.needed(None, "air_handler", "flow", "kg/s", "flow of air")
    heat = facts.number("specific_heat", None, "specific_heat", "specific heat of air")
    heat = facts.needed(heat, "air", "specific_heat", "kJ/(kg*K)", "specific heat")
    text = f"{facts.builder.at(given)}*{heat}"
    if kind_of(unit_of(air, given)) == "mass_flow":
        return text
    density = facts.number("density", None, "density", "density of air")
    density = facts.needed(density, "air", "density", "kg/m3", "density")
    return f"{facts.builder.at(given)}*{density}*{heat}"


def _share(air: Air) -> str:
    """Return the share of outdoor air: a parameter, or a decision within its limits."""
    facts, draft = air.facts, air.facts.builder.draft
    fixed = facts.one("share", None, "value") or facts.one("share", None, "exact")
    low = facts.number("share", None, "share_low", "least share of outdoor air", "lower")
    high = facts.number("share", None, "share_high", "largest share of outdoor air", "upper")
    fresh = facts.one("outdoor_min")
    if fixed is not None:
        if low is not None or high is not None or facts.all("dew_share") or fresh is not None:
            draft.doubt(fixed.line, "the share of outdoor air is fixed and has limits")
        return facts.value(fixed, "share", "share of outdoor air")
    if low is None and high is None and fresh is None:
        return facts.needed(None, "air_handler", "outdoor_share", "1", "share of outdoor air")
    made = facts.variable(
        "share", lower=low or 0, upper=high or 1, unit="1", quantity="air_handler.outdoor_share",
        role="decision",
    )  # fmt: skip
    if fresh is not None:
        least = facts.value(fresh, "outdoor_min", "least outdoor air")
        known = [p["name"] for p in facts.builder.parameters]
        same = "flow" in known and kind_of(unit_of(air, "flow")) == kind_of(unit_of(air, least))
        if not same:
            draft.doubt(fresh.line, "of which flow is this the least outdoor air?")
        text = f"{made}[t]*{facts.builder.at('flow')} >= {least}"
        facts.row("least outdoor air", text, CAPACITY, fresh.line)
    for claim, measure in (("dew_share", "dew"), ("dry_share", "outdoor")):
        for said in facts.all(claim):
            _limited(air, said, measure, made)
    for said in facts.all("mean_share"):
        target = facts.value(said, "mean_share", "share of outdoor air over all periods")
        weights = [w for w in ("flow_share", "flow") if w in facts.builder.indexed]
        weight = f"{weights[0]}[t]*dt(t)" if weights else "dt(t)"
        text = f"sum({weight}*{made}[t] for t in T) >= {target}*sum({weight} for t in T)"
        facts.row("share over all periods", text, BALANCE, said.line, each=False)
    return f"{made}[t]"


def _limited(air: Air, said: Said, measure: str, share: str) -> None:
    """Limit the share of outdoor air where a temperature outdoors exceeds a value."""
    facts = air.facts
    limit = facts.value(said, f"{measure}_limit", "temperature above which it holds", "limit")
    most = facts.value(said, f"{measure}_share", "largest share of outdoor air then")
    series = "outdoor"
    if measure == "dew":
        dew = facts.series("dew", None, "dew_point", "dew point outdoors")
        series = facts.needed(dew, "weather", "dew_point", "degC", "dew point outdoors", True)
    at = facts.builder.at(series)
    facts.row(f"share of outdoor air by {measure}", f"{share}[t] <= {most}", LOGIC, said.line,
              where=f"{at} > {limit}")  # fmt: skip


def _gains(air: Air, stream: str) -> None:
    """Let the supply air take up the gains of the room."""
    facts, draft = air.facts, air.facts.builder.draft
    gains = facts.series("gains", None, "gains", "heat gains of the room")
    met = facts.one("gains_met")
    if gains is None:
        if met is not None:
            facts.needed(None, "zone", "gains", "kW", "heat gains of the room", True)
        return
    if met is None or air.room is None:
        draft.doubt(0, "whether the air has to take up the gains of the room is not said")
        return
    facts.restated(met, facts.one("room"), "temperature of the room")
    sign = "==" if met.bound == "exact" else ">="
    text = f"{stream}*({air.room} - {air.supply}) {sign} {facts.builder.at(gains)}"
    facts.row("gains are taken up", text, BALANCE, met.line)


# --- coils and money -----------------------------------------------------------------------------


def _coils(air: Air, excess: str) -> None:
    """Add the coils, which bring the mixture to the supply temperature, and what they cost."""
    facts, draft = air.facts, air.facts.builder.draft
    facts.says("coil_cools")
    never = facts.says("coil_only")
    fixed = facts.one("supply")
    for said in (*facts.all("cools_above"), *facts.all("heats_below")):
        if "value" in said.values:
            facts.restated(said, fixed, "supply temperature")
        facts.use(said)
    furnace = bool(facts.all("heats_below") or facts.all("gas_price"))
    if furnace and never is not None and not facts.reader.names.get("furnace"):
        draft.doubt(never.line, "a coil that cannot heat, and one that does")
    cooling = facts.variable(
        "cooling", lower=0, upper=air.most or None, unit="kW", quantity="coil.cooling",
        role="decision",
    )  # fmt: skip
    text = f"{cooling}[t]"
    if furnace:
        heating = facts.variable(
            "heating", lower=0, upper=air.warmest or None, unit="kW", quantity="furnace.heat",
            role="decision",
        )  # fmt: skip
        text += f" - {heating}[t]"
        efficiency = facts.number("heat_efficiency", None, "furnace_efficiency", "efficiency")
        burns = any(s.said & {"gas", "burns"} for s in facts.reader.found)
        if burns:
            efficiency = facts.needed(efficiency, "furnace", "efficiency", "1", "efficiency")
        gas = facts.number("gas_price", None, "heating_price", "price of heat, or of gas")
        gas = gas or price_of(facts, "heat_price", "heating_price", "price of heat")
        gas = facts.needed(gas, "furnace", "fuel_price", "EUR/kWh", "price of gas")
        air.costs.append(f"{gas}*{heating}[t]" + (f"/{efficiency}" if efficiency else ""))
    facts.row("heat of the mixture", f"{excess} == {text}", PHYSICS)
    price = price_of(facts, "cold_price", "cold_price", "price of cold")
    use = facts.number("cooling_use", None, "cooling_use", "electricity per unit of cold")
    if use is not None:
        electric = price_of(facts, "electric_price", "electric_price", "price of electricity")
        electric = facts.needed(electric, "site", "import_price", "EUR/kWh", "electricity price")
        if price is not None:
            draft.doubt(0, "the cost of cold is given in two ways")
        air.costs.append(f"{electric}*{use}*{cooling}[t]")
        return
    price = facts.needed(price, "coil", "cold_price", "EUR/kWh", "price of cold")
    air.costs.append(f"{price}*{cooling}[t]")


def _objective(air: Air) -> Json | None:
    facts, builder = air.facts, air.facts.builder
    goals = facts.all("goal_cost")
    facts.use(*goals)
    if not goals:
        return None
    units = [str(p["unit"]) for p in builder.parameters if str(p["name"]).endswith("_price")]
    found = {c for unit in units if (c := currency_of(unit)) is not None}
    if len(found) > 1:
        builder.draft.doubt(goals[0].line, "prices in several currencies")
    return {
        "name": "cost", "sense": "minimize", "unit": min(found) if found else "EUR",
        "expression": f"sum(({' + '.join(air.costs)})*dt(t) for t in T)",
        "source_reference": builder.draft.quote(goals[0].line),
    }  # fmt: skip
