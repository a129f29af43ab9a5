"""What units exchange: the buses of a site and the flows into and out of them."""

from collections.abc import Sequence

import numpy as np

from engiagent.slots import COMPONENTS
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants import entry_of
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

Side = tuple[Dynamics, str]
"""A unit and the quantity that it feeds into a bus, or draws from it."""


def buses_of(plant: Plant) -> dict[str, list[Dynamics]]:
    """Return the units on every bus that is judged.

    That is one with a grid or a load; within a feeder the power flow says what goes where.
    """
    fed = {
        str(bus)
        for unit in plant.units
        if unit.model == "feeder"
        for bus in unit.connections.get("buses") or ()
        if bus != unit.connections.get("source")
    }
    buses: dict[str, list[Dynamics]] = {}
    for unit in plant.units:
        if unit.model not in COMPONENTS:
            continue
        model = entry_of(unit.model)
        for port in dict.fromkeys((*model.supplies, *model.demands)):
            bus = None if port == "zone" else unit.connections.get(port)
            if bus is not None and str(bus) not in fed:
                members = buses.setdefault(str(bus), [])
                if unit not in members:
                    members.append(unit)
    return {
        bus: units
        for bus, units in buses.items()
        if any(unit.model in ("grid", "load") for unit in units)
    }


def sides_of(bus: str, units: Sequence[Dynamics]) -> tuple[list[Side], list[Side]]:
    """Return what flows into a bus and what flows out of it."""
    sides: tuple[list[Side], list[Side]] = ([], [])
    for unit in units:
        model = entry_of(unit.model)
        for flows, side in ((model.supplies, sides[0]), (model.demands, sides[1])):
            side += [
                (unit, word) for port, word in flows.items() if unit.connections.get(port) == bus
            ]
    return sides


def total(plant: Plant, side: Sequence[Side]) -> Floats:
    """Return the sum of one side of a bus over the periods. [kW]."""
    found = np.zeros(1)
    for unit, word in side:
        found = found + flow_of(plant, unit, word)
    return found


def flow_of(plant: Plant, unit: Dynamics, word: str) -> Floats:
    """Return what a unit feeds into its bus, or draws from it. [kW]."""
    if unit.model == "load":
        power = plant.slot(unit, "power")
        return plant.decision(unit, word) if power is None else power
    return plant.value(unit, word)
