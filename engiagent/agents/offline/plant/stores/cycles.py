"""Budgets of full cycles: over the horizon, or on each of its days."""

from dataclasses import replace

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.draft import Json, Reading
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.storage import constrain

_DAY = 25.0
"""Hours of the longest day."""


def add_cycles(system: System, instance: Instance) -> None:
    """Limit the energy that a store gives in cycles, of its capacity or of a stated energy."""
    builder, name = system.builder, instance.name
    readings = for_owner(builder.draft, instance.unit.component, name)
    limits = readings.get("cycles", [])
    sizes = readings.get("cycle_energy", [])
    if not limits:
        return
    if sizes:
        size = builder.value(f"{name}_cycle_energy", sizes[0].value, sizes[0].slot.said)
    else:
        size = system.filled[name]["energy_capacity"]
        builder.draft.assume(f"{name}: a full cycle is one energy capacity discharged, at the "
                             "terminals")  # fmt: skip
    seen: set[bool] = set()
    for reading in limits:
        daily = _daily(system, reading)
        if daily is None:
            continue
        if daily in seen:
            builder.draft.doubt(reading.line, "two budgets of cycles for the same time")
            continue
        seen.add(daily)
        _limit(system, name, reading, size, daily)


def _daily(system: System, reading: Reading) -> bool | None:
    """Return whether a budget is for each day; None, reported, where the text does not say."""
    words = set(reading.words.split())
    by_unit = "/d" in reading.value.unit
    if by_unit or words & {"eachday", "each"}:
        return system.builder.axis.hours > _DAY
    if system.builder.axis.hours <= _DAY or words & {"overday", "together"}:
        return False
    system.builder.draft.doubt(max(reading.line, 0), "a budget of each day, or of all days?")
    return None


def _limit(system: System, name: str, reading: Reading, size: str, daily: bool) -> None:
    builder = system.builder
    value = reading.value
    if "/d" in value.unit:
        value = replace(value, unit="cycle")
    limit = builder.value(f"{name}_cycles", value, reading.slot.said)
    taken = f"{name}_discharge[t]*dt(t) for t in T"
    forall = None
    if daily:
        if builder.axis.start_clock or abs(builder.axis.hours % 24) > 1e-9 or _shifts(system):
            builder.draft.doubt(reading.line, "days that the horizon does not hold as a whole")
            return
        if all(entry["name"] != "D" for entry in builder.sets):
            builder.sets.append(_days(system))
        taken, forall = f"{taken} if within(t, d)", ["d in D"]
    constrain(builder, reading.slot.said, f"sum({taken}) <= {limit}*{size}/1[cycle]",
              "Strategic Requirements", reading.line, forall)  # fmt: skip


def _shifts(system: System) -> bool:
    """Whether clocks are put back or forth within the horizon."""
    axis = system.builder.axis
    return abs(axis.end_clock % 24 - (axis.start_clock + axis.hours) % 24) > 1e-9


def _days(system: System) -> Json:
    """Return the days of the horizon as a set of its own."""
    axis = system.builder.axis
    days: Json = {"name": "D", "kind": "time", "start": axis.start, "step": "24 h"}
    days["periods"] = round(axis.hours / 24)
    if axis.zone is not None:
        days["zone"] = axis.zone
    return days
