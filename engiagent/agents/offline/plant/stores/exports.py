"""Energy to be fed in, or that may be bought, in all; stores of which only the room is given."""

from typing import Final

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.plant.times.limits import TIMES
from engiagent.agents.offline.plant.units import Instance
from engiagent.agents.offline.storage import constrain

_IN_ALL: Final = {
    "export_energy_min": ("export", ">="), "export_energy_max": ("export", "<="),
    "import_energy_min": ("import", ">="), "import_energy_max": ("import", "<="),
}  # fmt: skip
_ROOM: Final = ("energy_capacity", "discharge_power_max", "discharge_efficiency", "initial_energy")


def add_energies(system: System) -> None:
    """Add limits of the energy that is fed in or bought over the whole horizon."""
    builder = system.builder
    for instance in system.reader.plant.of("grid"):
        readings = for_owner(builder.draft, "grid", instance.name)
        for slot, (flow, operator) in _IN_ALL.items():
            for k, reading in enumerate(readings.get(slot, [])):
                words = set(reading.words.split())
                if operator == ">=" and "may" in words and "must" not in words:
                    builder.draft.doubt(reading.line, "is this required, or allowed?")
                made = builder.value(f"{slot}_{k + 1}", reading.value, reading.slot.said)
                text = f"sum({instance.name}_{flow}[t]*dt(t) for t in T) {operator} {made}"
                constrain(builder, reading.slot.said, text, "Strategic Requirements", reading.line)
    facts, draft = system.reader.facts, builder.draft
    unpaid = facts.get("export_unpaid", [])
    for prices in system.filled.values() if unpaid else ():
        price = builder.numbers.get(prices.get("export_price", ""))
        if price is not None and bool((price != 0).any()):
            draft.doubt(unpaid[0], "what is fed in is not paid here, and has a price elsewhere")
    lost, needed = facts.get("else_lost", []), facts.get("indispensable", [])
    if lost and not needed:
        draft.doubt(lost[0], "is this required, or may it be given up at the price that is named?")
    if needed and not lost:
        draft.doubt(needed[0], "what is it that we cannot do without?")


def contradictory(system: System) -> bool:
    """Whether something has to be fed in and nothing may be, whatever else is planned."""
    reader = system.reader
    least = [
        r for r in reader.draft.readings
        if r.slot.name == "export_energy_min" and (r.value.number or 0) > 0
    ]  # fmt: skip
    banned = any(
        ban.fact == "ban export" and ban.period is not None and not ban.only
        and any(reader.whole(t) for t in reader.draft.lines[ban.line].tokens if t.kind in TIMES)
        for ban in reader.bans
    )  # fmt: skip
    return bool(least) and (banned or "no_export" in reader.facts)


def only_taking(system: System, instance: Instance) -> None:
    """Let a store of which only the free room is given take what fits into it.

    Whether it may give something back is not said then; that is passed over only where it cannot
    matter, because no plan is allowed whatever it gives.
    """
    builder, name = system.builder, instance.name
    draft, filled = builder.draft, system.filled[name]
    found = for_owner(draft, instance.unit.component, name)
    if "free_room" not in found:
        return
    reading = found["free_room"][0]
    if set(_ROOM) & set(found) or len(found["free_room"]) > 1 or "power_max" in found:
        draft.doubt(reading.line, f"{name}: its free room beside its content or its other powers")
    for slot in _ROOM:
        known = next((p for p in builder.parameters if p["name"] == filled.get(slot)), None)
        if known is not None and known.get("status") == "missing":
            builder.parameters.remove(known)
    draft.missing[:] = [m for m in draft.missing if m.component != name or m.slot not in _ROOM]
    filled["energy_capacity"] = builder.value(f"{name}_free_room", reading.value, "free room")
    filled["initial_energy"] = builder.assumed(
        f"{name}_initial_energy", 0.0, "kWh", "content at the start",
        f"{name}: its content counts from what it holds at the start",
    )  # fmt: skip
    filled["discharge_power_max"] = "0[kW]"
    filled["discharge_efficiency"] = builder.assumed(
        f"{name}_discharge_efficiency", 1.0, "1", "discharging efficiency",
        f"{name}: nothing is said of what it gives; it only takes",
    )  # fmt: skip
    if not contradictory(system):
        draft.doubt(reading.line, f"{name}: may it give back what it takes?")
