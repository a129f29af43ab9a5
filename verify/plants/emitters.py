"""Radiators and coils between a bus of heat or cold and a zone."""

from engiagent.verify.frames import MissingQuantity
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.unit import Unit

SERVES = {"heat_bus": "heat", "cooling_bus": "cooling"}


def _execute(unit: Unit) -> Run:
    """Keep what the plan gives to the zone; it is at least 0 and at most the limit."""
    words = [word for bus, word in SERVES.items() if bus in unit.connections] or [*SERVES.values()]
    found = {word: series for word in words if (series := unit.claimed(word)) is not None}
    if not found:
        raise MissingQuantity(f"{unit.name}.{words[0]}")
    most = unit.slot("power_max")
    excesses = (e for word, series in found.items() for e in unit.between(word, series, most))
    return Run(excesses=tuple(excesses))


ENTRIES = {"emitter": Entry(_execute, demands=SERVES, serves=SERVES)}
