"""Voltages and flows of a feeder: their limits, and the laws that join them."""

from engiagent.agents.offline.builder import note_repeat
from engiagent.agents.offline.draft import Json, Reading
from engiagent.agents.offline.feeders.network import (
    CAPACITY,
    PHYSICS,
    Network,
    impedance,
    of_lines,
)
from engiagent.agents.offline.feeders.sheets import PER_UNIT


def add_voltages(network: Network) -> None:
    """Add the squared voltages of the nodes between their limits; fix that of the source."""
    lines, draft, builder = network.scene.lines, network.draft, network.builder
    network.per_unit = "r" in lines.roles and lines.unit("r") == PER_UNIT
    stated = {
        name: (*found, name)
        for name, found in (
            ("source_voltage", ("source", "voltage")),
            ("lowest_voltage", ("feeder", "minimum_voltage")),
            ("highest_voltage", ("feeder", "maximum_voltage")),
        )
    }  # fmt: skip
    nominal = network.readings("feeder").get("nominal_voltage", [])
    made: dict[str, str] = {}
    for name, (component, plain, _) in stated.items():
        ways = [s for s in (plain, f"{plain}_pu") if s in network.readings(component)]
        slot = ways[0] if ways else plain
        if len(ways) > 1:
            draft.doubt(network.readings(component)[slot][0].line, "a voltage is given twice")
        found = network.value(component, slot, name)
        if found is None and name == "source_voltage":
            found = network.wanted(component, slot, name, "the voltage at the station is 10 kV")
        if found is not None:
            made[name] = _of_base(network, name, found, component, slot, nominal)
    _tolerance(network, made, nominal)
    for reading in nominal:
        if reading.value.source not in builder.used:
            builder.used.append(reading.value.source)
            note_repeat(builder, reading.value)
    network.highest = "" if network.per_unit else made.get("highest_voltage", "")
    network.base = made["source_voltage"]
    unit = "1" if network.per_unit else "kV**2"
    bounds = _band(network, made)
    network.variable("v", ["n in N", "t in T"], unit, **bounds, quantity="node.squared_voltage",
                     role="auxiliary", description="squared voltage of a node")  # fmt: skip
    network.row("voltage at the source", f"v['{lines.source}', t] == {made['source_voltage']}**2",
                ["t in T"])  # fmt: skip
    if not {"lowest_voltage", "highest_voltage"} & made.keys():
        draft.assume("no limit of the voltage is stated: it may be any")


def _tolerance(network: Network, made: dict[str, str], nominal: list[Reading]) -> None:
    """Add limits that are stated as a deviation from the nominal voltage."""
    share = network.value("feeder", "voltage_tolerance", "voltage_tolerance")
    if share is None:
        return
    line = network.readings("feeder")["voltage_tolerance"][0].line
    if {"lowest_voltage", "highest_voltage"} & made.keys():
        network.draft.doubt(line, "the limits of the voltage are given in two ways")
    if not nominal and not network.per_unit:
        network.draft.doubt(line, "a deviation from which voltage?")
        return
    base, unit = ("1", "1") if network.per_unit else ("", nominal[0].value.unit)
    inputs = [share]
    if not base:
        base = str(network.value("feeder", "nominal_voltage", "nominal_voltage"))
        inputs.append(base)
    for name, sign in (("lowest_voltage", "-"), ("highest_voltage", "+")):
        made[name] = network.builder.derived(
            name, f"{base}*(1 {sign} {share})", unit, name.replace("_", " "), inputs
        )


def _of_base(
    network: Network, name: str, made: str, component: str, slot: str, nominal: list[Reading]
) -> str:
    """Return a voltage in the unit of the squared voltages: kV, or per unit."""
    found = network.readings(component).get(slot)
    if not found:
        return made
    per_unit = found[0].value.unit == "1"
    if per_unit == network.per_unit:
        return made
    if not nominal or network.per_unit:
        network.draft.doubt(max(found[0].line, 0), "voltages per unit and in volts, of which base?")
        return made
    base = network.value("feeder", "nominal_voltage", "nominal_voltage")
    return network.builder.derived(
        f"{name}_in_volts",
        f"{made}*{base}",
        nominal[0].value.unit,
        found[0].slot.said,
        [made, str(base)],
    )


def _band(network: Network, made: dict[str, str]) -> Json:
    """Return the bounds of the squared voltages; the source has its own voltage."""
    lines, numbers = network.scene.lines, network.builder.numbers
    source = made["source_voltage"]
    bounds: Json = {}
    for side, name, sign in (("lower", "lowest_voltage", 1), ("upper", "highest_voltage", -1)):
        if name not in made:
            if side == "lower":
                bounds[side] = 0
            continue
        bounds[side] = f"{made[name]}**2"
        a, b = numbers.get(source), numbers.get(made[name])
        if (
            a is None
            or b is None
            or not sign * (_kv(network, source) - _kv(network, made[name])) < 0
        ):
            continue
        slot = {"lower": "minimum_voltage", "upper": "maximum_voltage"}[side]
        slots = (slot, f"{slot}_pu", "voltage_tolerance")
        found = network.readings("feeder")
        reading = next(found[s][0] for s in slots if s in found)
        if "elsewhere" not in reading.words.split():
            network.draft.doubt(reading.line, "the source itself is outside these limits")
        bounds[side] = f"({made[name]} if n != '{lines.source}' else {source})**2"
    return bounds


def _kv(network: Network, name: str) -> float:
    from engiagent.blueprint.units import convert, parse_unit

    unit = next(p["unit"] for p in network.builder.parameters if p["name"] == name)
    value = float(network.builder.numbers[name])
    return value if unit == "1" else convert(value, parse_unit(unit), parse_unit("kV"))


def add_flows(network: Network) -> None:
    """Add active and reactive flows, their limits, and how the voltage falls along a section."""
    lossy, index = network.lossy, ["(i, j) in L", "t in T"]
    bounds = _limits(network)
    network.variable("P", index, "MW", **bounds, quantity="line.active_power", role="auxiliary",
                     description="active power at the sending end of a section")  # fmt: skip
    others = bounds if lossy else {}
    network.variable("Q", index, "Mvar", **others, quantity="line.reactive_power",
                     role="auxiliary",
                     description="reactive power at the sending end of a section")  # fmt: skip
    if network.per_unit:
        base = network.wanted("feeder", "base_power", "base_power", "a base power of 1 MVA")
        network.scale = f"/{base}"
    r, x = impedance(network, "r"), impedance(network, "x")
    if "x" not in network.scene.lines.roles:
        network.draft.doubt(0, "the reactances of the lines are not given")
    fall = f"2*({r}*P[i, j, t] + {x}*Q[i, j, t]){network.scale}"
    law = _law(network)
    if not lossy:
        network.row("fall of the voltage", f"v[j, t] == v[i, t] - {fall}", index, PHYSICS, law)
        return
    if network.per_unit:
        network.draft.doubt(0, "losses per unit are no part of the reader")
    network.row(
        "fall of the voltage", f"v[j, t] == v[i, t] - {fall} + (({r})**2 + ({x})**2)*l[i, j, t]",
        index, PHYSICS, law,
    )  # fmt: skip
    _current(network)


def _current(network: Network) -> None:
    """Add that the squared current times the squared voltage is the square of the power.

    It is written as the length of a vector, of which a bound can be proven: half of the equation
    is a cone, and a plan at which the cone alone is an equation is the best of all.
    """
    said = "P² + Q² = l v as the length of a vector, all divided by 1 MW and the source's voltage"
    current, voltage = f"l[i, j, t]*{network.base}**2/1[MW**2]", f"v[i, t]/{network.base}**2"
    parts = f"(2*P[i, j, t]/1[MW])**2 + (2*Q[i, j, t]/1[Mvar])**2 + ({current} - {voltage})**2"
    network.row(
        "squared current", f"sqrt({parts}) == {current} + {voltage}", ["(i, j) in L", "t in T"],
        PHYSICS, {"kind": "assumption", "reason": said},
    )  # fmt: skip


def _law(network: Network) -> Json:
    """Return where the law of the voltage is from: the text, or the known one."""
    stated = network.draft.fact("fall_of_voltage")
    if stated is not None:
        return network.draft.quoted(stated.span)
    reason = "the squared voltage falls by 2(rP + xQ) along a section"
    if network.lossy:
        reason += ", less (r² + x²) times the squared current"
    network.draft.assume(reason)
    return {"kind": "assumption", "reason": reason}


def _phases(network: Network) -> set[str]:
    """Return what the text says of the phases that powers and currents count."""
    reader, draft = network.reader, network.draft
    lines = (n for n, line in enumerate(draft.lines) if not line.sentence.is_heading)
    return {
        c for n in lines for c in reader.marked(n).concepts if c in ("singlephase", "threephase")
    }


def _limits(network: Network) -> Json:
    """Return bounds of the active flow, or add other limits of a section."""
    lines, draft = network.scene.lines, network.draft
    unit = lines.unit("limit") if "limit" in lines.roles else ""
    current: Json = {"lower": 0}
    bounds: Json = {}
    if "limit" in lines.roles:
        limit = of_lines(network, "limit", "largest load") if unit else "limit"
        if not unit or unit == PER_UNIT:
            draft.doubt(0, "the unit of the limit of the sections is not given")
        elif unit.endswith("VA"):
            row = f"P[i, j, t]**2 + Q[i, j, t]**2 <= {limit}[i, j]**2"
            if network.lossy:
                draft.doubt(0, "at which end of a section does the limit hold?")
            network.row("load of a section", row, ["(i, j) in L", "t in T"], CAPACITY)
        elif unit.endswith("W"):
            if network.lossy:
                draft.doubt(0, "at which end of a section does the limit hold?")
            bounds = {"lower": f"-{limit}[i, j]", "upper": f"{limit}[i, j]"}
        elif unit.endswith("A"):
            phases = _phases(network)
            if len(phases) != 1 or not network.lossy:
                draft.doubt(0, "do the currents and powers count one phase, or three?")
            factor = "3*" if phases == {"threephase"} else ""
            current["upper"] = f"{factor}{limit}[i, j]**2"
            if network.highest:
                most = f"{f'sqrt({factor[0]})*' if factor else ''}{network.highest}*{limit}[i, j]"
                bounds = {"lower": f"-{most}", "upper": most}
        else:
            draft.doubt(0, "limits of the sections in a unit that the reader does not know")
    if network.lossy:
        network.variable("l", ["(i, j) in L", "t in T"], "MW**2/kV**2", **current,
                         quantity="line.squared_current", role="auxiliary",
                         description="squared current of a section")  # fmt: skip
    return bounds
