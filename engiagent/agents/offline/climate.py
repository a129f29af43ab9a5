"""Zones, what heats and cools them, and the temperatures that they must keep."""

from engiagent.agents.offline.builder import Builder, for_owner
from engiagent.agents.offline.draft import Band, Json, Reading, Value
from engiagent.agents.offline.owners import Owners
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain, parameters, requirements
from engiagent.agents.offline.tariffs import condition, scheduled
from engiagent.agents.offline.tokens import Period

ZONE = {
    "capacitance": "kWh/K", "resistance": "K/kW", "initial_temperature": "degC",
    "ambient_temperature": "degC", "gains": "kW",
}  # fmt: skip
CONVERTER = {"electric_power_max": "kW", "cop": "1"}


def add_zones(builder: Builder, owners: Owners) -> tuple[str, ...]:
    """Add every zone with its limits; return their names."""
    zones = owners.instances("zone")
    ambient = _ambient(builder)
    walls = _walls(builder, owners)
    for name in zones:
        readings = for_owner(builder.draft, "zone", name)
        filled = parameters(builder, "zone", name, readings, ZONE)
        if ambient is not None and "ambient_temperature" not in filled:
            filled["ambient_temperature"] = ambient
        _require(builder, name, filled, bool(walls) and len(zones) > 1)
        gains = _gains(builder, name)
        if gains is not None:
            filled["gains"] = gains
        component: Json = {
            "name": name,
            "model": "thermal_zone",
            "index": "T",
            "parameters": {slot: filled[slot] for slot in ZONE if slot in filled},
        }
        own = {b: made for (a, b), made in walls.items() if a == name}
        if own:
            component["connections"] = {"neighbours": own}
        component["options"] = {"scheme": scheme_of(builder)}
        builder.components.append(component)
        requirements(builder, name, readings, filled)
        add_comfort(builder, name, filled)
    return zones


def _ambient(builder: Builder) -> str | None:
    series = builder.draft.series.get(("zone", "ambient_temperature"))
    if series is None:
        return None
    return builder.value("ambient_temperature", series, "outdoor temperature")


def _require(builder: Builder, name: str, filled: dict[str, str], coupled: bool) -> None:
    lacks = [s for s in ("capacitance", "resistance", "initial_temperature") if s not in filled]
    if "ambient_temperature" not in filled:
        lacks.append("ambient_temperature")
    if coupled and {"resistance"} <= set(lacks):
        lacks = [s for s in lacks if s != "resistance"]
    examples = {"capacitance": "2 kWh/K", "resistance": "5 K/kW", "initial_temperature": "20 degC",
                "ambient_temperature": "0 degC"}  # fmt: skip
    for slot in lacks:
        said = slot.replace("_", " ")
        filled[slot] = builder.missing(
            f"{name}_{slot}", ZONE[slot], said,
            Missing(name, slot, f"zone '{name}': the {said} is not given; "
                    f'add it or use --set {name}.{slot}="{examples[slot]}"'),
        )  # fmt: skip
    if coupled and "resistance" not in filled:
        filled.pop("ambient_temperature", None)


def scheme_of(builder: Builder) -> str:
    """Return how temperatures are stepped; announce the convention where nothing says it."""
    draft = builder.draft
    stated = [s for s in ("euler", "implicit", "exact") if draft.has(s)]
    if "exact" in stated:
        return "exact"
    if len(stated) == 1:
        return stated[0]
    draft.assume(
        "temperatures follow the exact solution with inputs held over each step (none was declared)"
    )
    return "exact"


def _walls(builder: Builder, owners: Owners) -> dict[tuple[str, str], str]:
    """Return the resistances between zones; each wall stands with the first of its zones."""
    walls: dict[tuple[str, str], str] = {}
    for reading in builder.draft.readings:
        template = reading.slot.options.get("coupling")
        if template is None:
            continue
        pair = _pair(builder, owners, reading)
        if pair is None:
            builder.draft.doubt(max(reading.line, 0), "between which two zones?")
            continue
        name = "_".join((*pair, "resistance" if template == "{x}" else "conductance"))
        made = builder.value(name, reading.value, reading.slot.said)
        if template != "{x}":
            made = builder.derived(
                "_".join((*pair, "resistance")), template.format(x=made), "K/kW",
                "thermal resistance between zones", [made],
            )  # fmt: skip
        if pair in walls:
            builder.draft.doubt(max(reading.line, 0), "two resistances between the same zones")
        walls[pair] = made
    return walls


def _pair(builder: Builder, owners: Owners, reading: Reading) -> tuple[str, str] | None:
    names = owners.names["zone"]
    if len(names) == 2:
        first, second = names
        return first, second
    line = builder.draft.lines[reading.line].line
    found = [name for name, pattern in names.items() if pattern.search(line)]
    return (found[0], found[1]) if len(found) == 2 else None


def _gains(builder: Builder, name: str) -> str | None:
    entries = [g for g in builder.draft.gains if g.role in (name, "*")]
    series = builder.draft.series.get(("zone", "gains"))
    if series is not None:
        if entries:
            builder.draft.doubt(entries[0].line, "heat gains are given as a series and as a number")
        return builder.value(f"{name}_gains", series, "heat gains")
    if not entries:
        return None
    timed = any(e.period is not None for e in entries)
    return scheduled(
        builder, f"{name}_gains", entries, "kW", "heat gains", "0[kW]" if timed else None
    )


# --- comfort -------------------------------------------------------------------------------------


def add_comfort(builder: Builder, name: str, filled: dict[str, str]) -> None:
    """Add the limits of a zone's temperature with the times at which they hold."""
    bands = [b for b in builder.draft.bands if b.owner in (name, "*")]
    named = [b.period for b in bands if b.period is not None and not b.period.rest]
    for k, band in enumerate(bands, 1):
        limits: dict[str, str] = {}
        for kind, value in band.limits:
            said = "lowest" if kind == "lower" else "highest"
            limits[kind] = builder.value(
                f"{name}_{said}_temperature_{k}", value, f"{said} temperature"
            )
        _limit(builder, name, band, limits, _when(builder, band, named), filled)


def _when(builder: Builder, band: Band, named: list[Period]) -> Period | None:
    """Return when a band holds; a rest without times is the rest of all other bands' times."""
    period = band.period
    if period is None or not period.rest or period.ranges:
        return period
    if not named:
        builder.draft.doubt(band.line, "the other times of which this is the rest are not given")
    unique = tuple(dict.fromkeys(r for p in named for r in p.ranges))
    return Period(unique, rest=True, spans=tuple(s for p in named for s in p.spans))


def _limit(
    builder: Builder,
    name: str,
    band: Band,
    limits: dict[str, str],
    period: Period | None,
    filled: dict[str, str],
) -> None:
    temperature = f"{name}_temperature[i]"
    text = temperature
    if "lower" in limits:
        text = f"{limits['lower']} <= {text}"
    if "upper" in limits:
        text = f"{text} <= {limits['upper']}"
    where, note = None, None
    if period is not None:
        where = condition(period, "i", inclusive=True)
        note = "at every instant of these times of the day, both ends included"
        if period.rest:
            where = f"not ({where})" if not where.startswith("(") else f"not {where}"
            note = "at every instant outside these times of the day"
        if not band.inclusive and not builder.draft.has("inclusive"):
            builder.draft.assume(
                "temperature limits for times of the day hold at every instant of these times, "
                "both ends included"
            )
    constrain(
        builder, f"temperature limits of {name}", text, "Strategic Requirements", band.line,
        ["i in I"], where, note, period.spans if period is not None else (),
    )  # fmt: skip
    _check_start(builder, name, limits, period, band, filled)


def _check_start(
    builder: Builder,
    name: str,
    limits: dict[str, str],
    period: Period | None,
    band: Band,
    filled: dict[str, str],
) -> None:
    """Report a start outside a limit that holds at the start: it cannot be meant."""
    start = builder.numbers.get(filled.get("initial_temperature", ""))
    if start is None or not _holds_at_start(builder, period):
        return
    for kind, sign in (("lower", -1.0), ("upper", 1.0)):
        if kind in limits and sign * float(start - builder.numbers[limits[kind]]) > 1e-9:
            reading = builder.draft.find(name, "initial_temperature")
            builder.draft.clash(
                band.line,
                "outside-limits",
                (name, "initial_temperature"),
                f"{name}: the temperature at the start lies outside this limit; "
                "from when on does it hold?",
                (builder.draft.place(reading) if reading else (0, 0), band.span),
            )


def _holds_at_start(builder: Builder, period: Period | None) -> bool:
    if period is None:
        return True
    clock = builder.axis.start_clock
    inside = any(a - 1e-9 <= clock <= b + 1e-9 for a, b in period.ranges)
    return inside != period.rest


# --- heaters and coolers -------------------------------------------------------------------------


def add_converters(
    builder: Builder, owners: Owners, zones: tuple[str, ...], bus: str | None
) -> tuple[str, ...]:
    """Add the heaters and coolers of all zones; return their names."""
    made: list[str] = []
    for kind in ("heater", "cooler"):
        if kind not in owners.present:
            continue
        for zone in zones:
            owner = f"{zone}_{kind}"
            readings = for_owner(builder.draft, kind, owner)
            joint = readings.pop("together_power", None)
            if joint and len(zones) == 1 and not any("power_max" in name for name in readings):
                readings["power_max"] = joint
            if not readings and len(zones) > 1 and _others_served(builder, kind, zones):
                continue
            name = _name(builder, kind) if len(zones) == 1 else owner
            made.append(_converter(builder, kind, name, zone, readings, bus))
    if not made:
        builder.draft.missing.append(
            Missing("heater", "electric_power_max", "nothing that heats or cools is described")
        )
    return tuple(made)


def _others_served(builder: Builder, kind: str, zones: tuple[str, ...]) -> bool:
    return any(for_owner(builder.draft, kind, f"{z}_{kind}") for z in zones)


def _name(builder: Builder, kind: str) -> str:
    text = " ".join(line.line for line in builder.draft.lines)
    if kind == "heater":
        return "heat_pump" if "heat pump" in text else "heater"
    return "cooler"


def _converter(
    builder: Builder,
    kind: str,
    name: str,
    zone: str,
    readings: dict[str, list[Reading]],
    bus: str | None,
) -> str:
    filled: dict[str, str] = {}
    pumped = kind == "cooler" or "heat pump" in " ".join(ln.line for ln in builder.draft.lines)
    cop = _cop(builder, kind, name, readings, pumped)
    if cop is not None:
        filled["cop"] = cop
    rest = {k: v for k, v in readings.items() if k not in ("cop", "efficiency")}
    _either(builder, name, rest, pumped)
    with_cop = {**CONVERTER}
    if "thermal_power_max" in rest and cop is None:
        rest = {"electric_power_max": rest["thermal_power_max"]}
        rest["electric_power_max"] = [_as_electric(r) for r in rest["electric_power_max"]]
    found = (
        parameters(builder, kind, name, rest, with_cop)
        if cop is None
        else _with_cop(builder, kind, name, rest, with_cop, cop)
    )
    filled |= found
    if "electric_power_max" not in filled:
        filled["electric_power_max"] = builder.missing(
            f"{name}_electric_power_max", "kW", "largest electric power",
            Missing(name, "electric_power_max", f"{kind} '{name}': the largest power is not given; "
                    f'add it or use --set {name}.electric_power_max="5 kW"'),
        )  # fmt: skip
    connections = {"bus": bus, "zone": zone} if bus is not None else {"zone": zone}
    builder.components.append(
        {
            "name": name,
            "model": kind,
            "index": "T",
            "parameters": {s: filled[s] for s in CONVERTER if s in filled},
            "connections": connections,
        }
    )
    return name


def _as_electric(reading: Reading) -> Reading:
    from dataclasses import replace

    return replace(reading, slot=replace(reading.slot, name="electric_power_max", options={}))


def _with_cop(
    builder: Builder,
    kind: str,
    name: str,
    readings: dict[str, list[Reading]],
    wanted: dict[str, str],
    cop: str,
) -> dict[str, str]:
    found = parameters(
        builder, kind, name, {k: v for k, v in readings.items() if k != "thermal_power_max"}, wanted
    )
    for reading in readings.get("thermal_power_max", ())[:1]:
        value: Value = reading.value
        base = builder.value(f"{name}_thermal_power_max", value, reading.slot.said)
        derived = builder.derived(
            f"{name}_electric_power_max", f"{base}/{builder.at(cop)}", "kW",
            "largest electric power", [base, cop], series=cop in builder.indexed,
        )  # fmt: skip
        found.setdefault("electric_power_max", derived)
    return found


def _cop(
    builder: Builder, kind: str, name: str, readings: dict[str, list[Reading]], pumped: bool
) -> str | None:
    series = builder.draft.series.get((kind, "cop"))
    if series is not None:
        known = next(
            (p["name"] for p in builder.parameters if p.get("data") == series.data and series.data),
            None,
        )
        return known or builder.value(f"{name}_cop", series, "coefficient of performance")
    if "efficiency" in readings and not pumped:
        return builder.value(f"{name}_efficiency", readings["efficiency"][0].value, "efficiency")
    if "cop" in readings:
        return builder.value(f"{name}_cop", readings["cop"][0].value, "coefficient of performance")
    if pumped:
        return builder.missing(
            f"{name}_cop", "1", "coefficient of performance",
            Missing(name, "cop", f"{kind} '{name}': the coefficient of performance is not given; "
                    f"add it or use --set {name}.cop=3"),
        )  # fmt: skip
    if not builder.draft.has("cop_one"):
        builder.draft.assume(f"{name}: all of its electric power becomes heat")
    return None


def _either(builder: Builder, name: str, readings: dict[str, list[Reading]], pumped: bool) -> None:
    """Settle a power that is called neither electric nor thermal: clear only if they are one."""
    unclear = readings.pop("power_max", None)
    if unclear is None:
        return
    if pumped:
        builder.draft.doubt(max(unclear[0].line, 0), f"{name}: is this power electric or thermal?")
        return
    for reading in unclear:
        readings.setdefault("electric_power_max", []).append(_as_electric(reading))


def together(builder: Builder, names: tuple[str, ...]) -> None:
    """Add limits on the power of all heaters together."""
    for reading in builder.draft.readings:
        if reading.slot.name != "together_power" or reading.value.source in builder.used:
            continue
        limit = builder.value("heaters_power_max", reading.value, reading.slot.said)
        text = " + ".join(f"{n}_electric_power[t]" for n in names)
        constrain(
            builder, "power of all heaters", f"{text} <= {limit}", "Resource Capacity",
            reading.line, ["t in T"],
        )  # fmt: skip
