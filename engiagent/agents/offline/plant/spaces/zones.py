"""Zones in a plant: the room as a component, its limits, its gains, and the heat that it takes."""

from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.agents.offline.builder import Builder, for_owner
from engiagent.agents.offline.climate import add_comfort, scheme_of
from engiagent.agents.offline.draft import Band, Json, Priced, Value, source_span
from engiagent.agents.offline.plant.spaces.changes import add_changes
from engiagent.agents.offline.plant.spaces.piping import is_fed, own_limit, walls_of
from engiagent.agents.offline.plant.spaces.roomfiles import add_use_bands, use_gains
from engiagent.agents.offline.plant.stores.tanks import largest_made
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.storage import requirements
from engiagent.agents.offline.tariffs import scheduled
from engiagent.agents.offline.tokens import Period

_SLOTS: Final = (
    "capacitance", "resistance", "initial_temperature", "ambient_temperature",
)  # fmt: skip


def add_zone(system: System, instance: Instance) -> None:
    """Add a room with what heats and cools it; call it behind all units that do."""
    builder, name = system.builder, instance.name
    filled = system.filled[name]
    given: Json = {slot: filled[slot] for slot in _SLOTS if slot in filled}
    gains = _gains(system, name)
    if gains is not None:
        given["gains"] = gains
    for carrier, series in (("heat", "heating"), ("cooling", "cooling")):
        if carrier not in system.supplies or not is_fed(system, name, carrier):
            continue
        most = own_limit(system, name, carrier) or _largest(system, name, carrier, series)
        if most is not None:
            given[f"{series}_power_max"] = most
        elif carrier == "cooling" or len(system.reader.plant.of("zone")) > 1:
            builder.draft.doubt(0, f"the largest {series} of {name} is not given")
        system.demand(carrier, f"{name}_{series}[t]", most)
    component: Json = {"name": name, "model": "thermal_zone", "index": "T", "parameters": given}
    walls = walls_of(system, name)
    if walls:
        component["connections"] = {"neighbours": walls}
    component["options"] = {"scheme": scheme_of(builder)}
    builder.components.append(component)
    requirements(builder, name, for_owner(builder.draft, "zone", name), filled)
    _contradicted(builder, name)
    add_comfort(builder, name, filled)
    add_use_bands(system, name)
    add_changes(system, name)


def _contradicted(builder: Builder, name: str) -> None:
    """Report two limits of one kind for the same times that are not the same."""
    bands = [b for b in builder.draft.bands if b.owner in (name, "*")]
    said = [b.period for b in bands if b.period is not None and not b.period.rest]
    seen: dict[tuple[str, bytes], tuple[Band, Value]] = {}
    at_end: set[str] = set()
    for band in bands:
        inside = _instants(builder, band.period, [p for p in said if p is not None])
        for kind, value in band.limits:
            first = seen.setdefault((kind, inside.tobytes()), (band, value))
            values = [float(builder._canonical(v)) for v in (first[1], value)]
            at_end |= {kind} if inside[-1] else set()
            if abs(values[0] - values[1]) < 1e-9:
                continue
            slot = "lowest_temperature" if kind == "lower" else "highest_temperature"
            spans = tuple(source_span(v.source) or (0, 0) for v in (first[1], value))
            builder.draft.clash(
                band.line, "two-values", (name, slot),
                f"{name}: two values for the {slot.replace('_', ' ')} at the same times", spans,
            )  # fmt: skip
    free = builder.draft.fact("open_end")
    if free is not None and at_end != {kind for band in bands for kind, _ in band.limits}:
        builder.draft.doubt(free.line, "which of the limits hold at the end?")


def _instants(
    builder: Builder, period: Period | None, named: list[Period]
) -> npt.NDArray[np.bool_]:
    """Return at which instants of the horizon a limit holds."""
    axis = builder.axis
    clocks = np.array([*axis.clocks(), axis.end_clock % 24])
    if period is None:
        return np.ones(clocks.shape, dtype=bool)
    ranges = period.ranges or tuple(r for p in named for r in p.ranges)
    inside = np.zeros(clocks.shape, dtype=bool)
    for a, b in ranges:
        inside |= (a - 1e-9 <= clocks) & (clocks <= b + 1e-9)
    return np.asarray(inside != period.rest, dtype=bool)


def _largest(system: System, name: str, carrier: str, series: str) -> str | None:
    """Return the most that all units together can give; None where one of them has no limit."""
    builder, plant = system.builder, system.reader.plant
    made = largest_made(system, carrier)
    if made is None or any(i.unit.card.get("carrier") == carrier for i in plant.instances):
        return None
    text, inputs = made
    return builder.derived(
        f"{name}_{series}_power_max", text, "kW", f"largest {series}",
        inputs, any(i in builder.indexed for i in inputs),
        note="what all units together can give",
    )  # fmt: skip


def _gains(system: System, name: str) -> str | None:
    """Return the sum of all heat gains: each sentence, and a series, is one source of heat."""
    builder, draft = system.builder, system.builder.draft
    by_line: dict[int, list[Priced]] = {}
    for entry in (g for g in draft.gains if g.role in (name, "*")):
        by_line.setdefault(entry.line, []).append(entry)
    made: list[str] = []
    for k, entries in enumerate(by_line.values(), 1):
        timed = any(e.period is not None for e in entries)
        some = scheduled(
            builder, f"{name}_gains_{k}" if len(by_line) > 1 else f"{name}_gains_said", entries,
            "kW", "heat gains", "0[kW]" if timed else None,
        )  # fmt: skip
        if some is not None:
            made.append(some)
    used = use_gains(system, name)
    if used is not None:
        made.append(used)
    if "gains" in system.filled[name]:
        made.append(system.filled[name]["gains"])
    if len(made) < 2:
        return made[0] if made else None
    draft.assume("heat gains of several sources add up")
    return builder.derived(
        f"{name}_gains_total", " + ".join(builder.at(m) for m in made), "kW", "all heat gains",
        made, any(m in builder.indexed for m in made), note="sum of all heat gains",
    )  # fmt: skip
