"""Which rooms of several take the heat, or the cold, that units make, and the walls of a room."""

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.plant.units import Instance

_LIMITS = {"heat": ("heat_limit", "heat_or_cold_limit"),
           "cooling": ("cool_limit", "heat_or_cold_limit")}  # fmt: skip


def own_limit(system: System, name: str, carrier: str) -> str | None:
    """Return the most that a room can take by what it has of its own, as its radiators."""
    builder = system.builder
    readings = for_owner(builder.draft, "zone", name)
    for slot in _LIMITS[carrier]:
        for reading in readings.get(slot, ()):
            if slot == "heat_or_cold_limit" and len(set(_LIMITS) & set(system.supplies)) > 1:
                builder.draft.doubt(max(reading.line, 0), "of heat or of cold?")
            if len(readings[slot]) > 1:
                builder.draft.doubt(max(reading.line, 0), f"{name}: its limit is given twice")
            word = "heating" if carrier == "heat" else "cooling"
            made = f"{name}_largest_{word}"
            if made in builder.numbers:
                return made
            return builder.value(made, reading.value, reading.slot.said)
    return None


def taken_by_room(system: System, instance: Instance) -> str | None:
    """Return the most that a unit without a limit can give: what the one room can take."""
    plant = system.reader.plant
    carriers = dict(instance.unit.card.get("supplies", {})).keys() & {"heat", "cooling"}
    if len(carriers) != 1 or len(plant.of("zone")) != 1:
        return None
    carrier = next(iter(carriers))
    others = [
        i for i in plant.instances
        if i is not instance and (i.unit.card.get("carrier") == carrier
        or carrier in {**i.unit.card.get("supplies", {}), **i.unit.card.get("demands", {})})
    ]  # fmt: skip
    return None if others else own_limit(system, plant.of("zone")[0].name, carrier)


def is_fed(system: System, name: str, carrier: str) -> bool:
    """Whether a room takes heat, or cold, from the units: as told, or by what it has of its own."""
    zones = system.reader.plant.of("zone")
    if len(zones) == 1:
        return True
    draft = system.builder.draft
    makers = [i.name for i in system.reader.plant.instances
              if carrier in i.unit.card.get("supplies", {})]  # fmt: skip
    told = {f.unit: set(f.zones) for f in system.reader.feeds if f.unit in makers}
    if told:
        some = list(told.values())
        if set(told) != set(makers) or any(s != some[0] for s in some):
            draft.doubt(system.reader.feeds[0].line, "which unit heats, or cools, which room?")
        return name in some[0]
    own = [z.name for z in zones
           if {*_LIMITS[carrier]} & set(for_owner(draft, "zone", z.name))]  # fmt: skip
    if not own:
        word = "heat" if carrier == "heat" else "cold"
        draft.doubt(0, f"which of the rooms takes the {word} is not said")
    return name in own


def walls_of(system: System, name: str) -> dict[str, str]:
    """Return the resistances to other rooms of the walls that this one comes first at."""
    builder, found = system.builder, {}
    pairs = [frozenset((k.first, k.second)) for k in system.reader.links]
    for link in system.reader.links:
        if link.first != name:
            continue
        if pairs.count(frozenset((link.first, link.second))) > 1:
            builder.draft.doubt(max(link.line, 0), "two walls between the same rooms")
        stem = f"{link.first}_{link.second}"
        if link.conductance:
            made = builder.value(f"{stem}_conductance", link.value, "conductance between rooms")
            made = builder.derived(
                f"{stem}_resistance", f"1/{made}", "K/kW", "resistance between rooms", [made]
            )
        else:
            made = builder.value(f"{stem}_resistance", link.value, "resistance between rooms")
        found[link.second] = made
    return found
