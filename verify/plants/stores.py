"""Stores of heat, cold and ice by their energy.

Water may flow through a store while it is charged and discharged at once, which is no fault here.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.models import Battery
from engiagent.models.storage.ice_tank import IceTankCurves
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.batteries import energy_of, store
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.rows import storage_rows
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

WAYS = ("charge", "discharge")
LIMITS = tuple((way, f"{way}_power_max") for way in WAYS)
PORTS = {"heat_bus": "that it buffers", "cooling_bus": "that it buffers, when it holds cold"}
SUPPLIES = {"heat_bus": "discharge", "cooling_bus": "discharge"}
DEMANDS = {"heat_bus": "charge", "cooling_bus": "charge"}


def _execute_store(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    energy = energy_of(plant, unit, store(plant, unit), "energy")
    return Run((energy,))


def _store_rows(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    yield from storage_rows(plant, unit, store(plant, unit), "energy")


def ice(plant: Plant, unit: Dynamics) -> Battery:
    """Return a store of ice by its energy, which holds cold without efficiencies."""
    return Battery(
        energy_capacity=plant.need(unit, "energy_capacity"),
        minimum_energy=plant.need(unit, "minimum_energy"),
        self_discharge=plant.need(unit, "self_discharge"),
    )


def _execute_ice(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    energy = energy_of(plant, unit, ice(plant, unit), "energy")
    excesses = []
    content = np.clip(energy.declared[:-1], 0.0, energy.scale)
    for way in WAYS:
        limit = _ice_limit(plant, unit, way, content)
        if limit is None:
            continue
        rate, name = plant.decision(unit, way), f"{unit.name}.{way}"
        excesses.append(
            Excess(
                f"ice:{name}",
                name,
                rate - limit,
                "kW",
                float(np.max(limit, initial=0.0)),
                plant.periods(unit),
                "above what the ice allows",
            )
        )
    return Run((energy,), (), tuple(excesses))


def _ice_limit(plant: Plant, unit: Dynamics, way: str, content: Floats) -> Floats | None:
    """Return the largest rate at the content [kWh] of the start of each period. [kW]."""
    full = plant.need(unit, "energy_capacity")
    shares, limits = plant.table(unit, f"{way}_limit_share"), plant.table(unit, f"{way}_limit")
    if shares is not None and limits is not None:
        return np.asarray(np.interp(content / full, shares, limits))
    curve = plant.table(unit, f"{way}_curve")
    if curve is None:
        return None
    if len(curve) != 6:
        raise EvaluationError(f"{way}_curve of {unit.name} has {len(curve)} coefficients, not 6")
    six = (curve[0], curve[1], curve[2], curve[3], curve[4], curve[5])
    tank = IceTankCurves(
        energy_capacity=full,
        charge_curve=six,
        discharge_curve=six,
        curve_hours=plant.need(unit, "curve_hours"),
        nominal_difference=plant.need(unit, "nominal_difference"),
    )
    difference = plant.series(unit, f"{way}_difference")
    found = tank.charge_limit if way == "charge" else tank.discharge_limit
    return found(content, difference=difference)


def _ice_rows(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    yield from storage_rows(plant, unit, ice(plant, unit), "energy")


ENTRIES = {
    "thermal_store": Entry(
        "thermal_store",
        "store of heat or cold by its energy",
        SLOTS["thermal_store"],
        _execute_store,
        limits=LIMITS,
        connections=PORTS,
        supplies=SUPPLIES,
        demands=DEMANDS,
        rows=_store_rows,
    ),
    "ice_tank": Entry(
        "ice_tank",
        "store of ice with limits by the share of ice",
        SLOTS["ice_tank"],
        _execute_ice,
        limits=LIMITS,
        connections={"cooling_bus": "that it buffers"},
        supplies={"cooling_bus": "discharge"},
        demands={"cooling_bus": "charge"},
        rows=_ice_rows,
    ),
}
