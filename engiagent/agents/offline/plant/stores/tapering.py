"""Rows for powers of a store that fall with its content."""

import numpy as np

from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.plant.stores.tapers import Point, Taper, in_kilowatts
from engiagent.agents.offline.plant.system import CAPACITY, STORES, System
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.storage import constrain
from engiagent.blueprint.units import convert, parse_unit


def tapers_of(system: System, instance: Instance) -> list[Taper]:
    """Return the tapers of a store, one for each way; those of a table before those of a text."""
    draft = system.builder.draft
    stores = [i for i in system.reader.plant.instances if i.unit.component in STORES]
    found: dict[str, Taper] = {}
    for taper in sorted(system.reader.tapers, key=lambda t: not t.table):
        if stores != [instance]:
            draft.doubt(taper.line, "of which store is this the power?")
            continue
        other = found.get(taper.way)
        if other is None:
            found[taper.way] = taper
        elif not _agree(system, instance, other, taper):
            draft.doubt(taper.line, "the powers at some contents are given in two ways that differ")
    return list(found.values())


def fill_tapered(system: System, instance: Instance) -> None:
    """Fill the largest powers of a store that only a taper gives."""
    builder, name, filled = system.builder, instance.name, system.filled[instance.name]
    for taper in tapers_of(system, instance):
        slot = f"{taper.way}_power_max"
        given = builder.numbers.get(filled.get(slot, ""))
        powers = [in_kilowatts(p) for p in taper.points]
        if given is not None and powers[0] is None:
            powers[0] = float(given)
        if any(p is None for p in powers) or "energy_capacity" not in filled:
            builder.draft.doubt(taper.line, f"{name}: from which power does it fall?")
            continue
        most = max(p for p in powers if p is not None)
        if given is not None and abs(float(given) - most) > 1e-9 * max(1.0, most):
            builder.draft.doubt(taper.line, f"{name}: the largest power is given in two ways")
            continue
        _add(system, instance, taper, [float(p) for p in powers if p is not None])


def _add(system: System, instance: Instance, taper: Taper, powers: list[float]) -> None:
    """Add the points of a taper, the row that holds the power to them, and the largest power."""
    builder, name, way = system.builder, instance.name, taper.way
    filled = system.filled[name]
    draft = builder.draft
    points = list(taper.points)
    capacity = float(builder.numbers[filled["energy_capacity"]])
    share = points[0].content_unit == "%"
    top = (
        100.0 if share else convert(capacity, parse_unit("kWh"), parse_unit(points[0].content_unit))
    )
    if points[0].content > 0:
        reason = "below the first content the power is what it is there"
        first: Json = {"kind": "assumption", "reason": reason}
        points.insert(0, Point(0.0, points[0].content_unit, points[0].power, points[0].power_unit,
                               (first, points[0].sources[1])))  # fmt: skip
        powers = [powers[0], *powers]
    if abs(points[-1].content - top) > 1e-9 * max(1.0, top):
        draft.doubt(taper.line, f"{name}: the power of a full store is not said")
        return
    if not taper.edge:
        draft.doubt(taper.line, f"{name}: does the content at the beginning of a period count?")
        return
    rows = f"{name}_{way}_points"
    builder.sets.append({"name": rows, "kind": "range", "start": 0, "stop": len(points) - 1,
                         "description": "points of a power by the content"})  # fmt: skip
    contents = _column(system, f"{name}_{way}_content", rows, points[0].content_unit,
                       [p.content for p in points], [p.sources[0] for p in points])  # fmt: skip
    unit = next(p.power_unit for p in reversed(points))
    permitted = _permitted(system, taper, points, rows, unit, powers)
    state = f"{name}_state_of_charge[{'t' if taper.edge == 'start' else 't+1'}]"
    state = f"{state}/{filled['energy_capacity']}" if share else state
    draft.assume(f"{name}: between the points the power changes in a straight line")
    constrain(
        builder, f"{way} by the content",
        f"{name}_{way}[t] <= piecewise({state}, {contents}, {permitted})", CAPACITY, taper.line,
        ["t in T"],
    )  # fmt: skip
    slot = f"{way}_power_max"
    if slot not in filled:
        best = int(np.argmax(powers))
        filled[slot] = builder.derived(
            f"{name}_{slot}", f"{permitted}[{best}]", unit, "largest power", [permitted]
        )
        builder.numbers[filled[slot]] = np.array(max(powers))


def _permitted(
    system: System, taper: Taper, points: list[Point], rows: str, unit: str, powers: list[float]
) -> str:
    """Add the powers of the points; the first may be the largest power, given elsewhere."""
    values = [convert(p, parse_unit("kW"), parse_unit(unit)) for p in powers]
    exact = [v if p.power is None or p.power_unit != unit else p.power
             for v, p in zip(values, points, strict=True)]  # fmt: skip
    sources = []
    for point in points:
        source = point.sources[1]
        if source is None:
            reading = next(
                r for r in system.builder.draft.readings
                if r.slot.name in (f"{taper.way}_power_max", "power_max")
            )  # fmt: skip
            source = reading.value.source
        sources.append(source)
    name = rows.removesuffix("_points")
    return _column(system, f"{name}_permitted", rows, unit, exact, sources)


def _column(
    system: System, name: str, rows: str, unit: str, values: list[float], sources: list[Json]
) -> str:
    """Add a parameter over the points of a taper."""
    made = system.builder.parameter(
        name, unit, name.replace("_", " "), index=[rows], value=values, source_reference=sources
    )
    system.builder.indexed.discard(made)
    system.builder.numbers[made] = np.array(values)
    return made


def _agree(system: System, instance: Instance, table: Taper, text: Taper) -> bool:
    """Whether the points of a sentence and those of a table are one curve."""
    from engiagent.agents.offline.builder import note_repeat
    from engiagent.agents.offline.draft import Value

    one, two = (_curve(system, instance, t) for t in (table, text))
    if one is None or two is None or len(two[0]) < 2:
        return False
    at = np.union1d(one[0], two[0])
    same = np.allclose(np.interp(at, *one), np.interp(at, *two), rtol=1e-6, atol=1e-9)
    for source in (s for p in text.points for s in p.sources if s is not None) if same else ():
        note_repeat(system.builder, Value("", source))
    return bool(same)


def _curve(
    system: System, instance: Instance, taper: Taper
) -> tuple[list[float], list[float]] | None:
    """Return the contents in kWh and powers in kW of a taper."""
    capacity = system.builder.numbers.get(system.filled[instance.name].get("energy_capacity", ""))
    if capacity is None:
        return None
    contents, powers = [], []
    for point in taper.points:
        power = in_kilowatts(point)
        if power is None:
            return None
        share = point.content_unit == "%"
        contents.append(
            point.content / 100 * float(capacity) if share
            else convert(point.content, parse_unit(point.content_unit), parse_unit("kWh"))
        )  # fmt: skip
        powers.append(power)
    return contents, powers
