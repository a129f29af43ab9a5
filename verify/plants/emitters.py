"""Radiators and coils between a bus of heat or cold and a zone."""

from collections.abc import Sequence

import numpy as np

from engiagent.verify.frames import MissingQuantity
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics

SERVES = {"heat_bus": "heat", "cooling_bus": "cooling"}


def _execute(plant: Plant, group: Sequence[Dynamics]) -> Run:
    """Keep what the plan gives to the zone; it is at least 0 and at most the limit."""
    unit = group[0]
    words = [word for bus, word in SERVES.items() if bus in unit.connections] or [*SERVES.values()]
    found = {word: series for word in words if (series := plant.claimed(unit, word)) is not None}
    if not found:
        raise MissingQuantity(plant.names(unit, words[0])[0])
    over, most, excesses = plant.periods(unit), plant.slot(unit, "power_max"), []
    for word, series in found.items():
        name, scale = f"{unit.name}.{word}", float(np.max(np.abs(series), initial=0.0))
        excesses.append(Excess(f"sign:{name}", name, -series, "kW", scale, over, "negative"))
        if most is not None:
            excesses.append(
                Excess(f"limit:{name}", name, series - most, "kW", scale, over, "above its limit")
            )
    return Run(excesses=tuple(excesses))


ENTRIES = {
    "emitter": Entry(
        "emitter",
        "radiator or coil: power from a bus of heat or cold to a zone",
        SLOTS["emitter"],
        _execute,
        connections={
            "heat_bus": "from which it takes heat",
            "cooling_bus": "to which heat goes",
            "zone": "that it serves",
        },
        demands=SERVES,
        serves=SERVES,
    )
}
