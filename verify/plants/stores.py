"""Stores of heat, cold and ice by their energy.

Water may flow through a store while it is charged and discharged at once, which is no fault here.
"""

from collections.abc import Iterator

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.models import Battery
from engiagent.models.storage import IceTankCurves
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.batteries import SIZED, energy_of, storage_rows, store
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.unit import Unit
from engiagent.verify.values import Floats

WAYS = ("charge", "discharge")
LIMITS = tuple((way, f"{way}_power_max") for way in WAYS)
SUPPLIES = {"heat_bus": "discharge", "cooling_bus": "discharge"}
DEMANDS = {"heat_bus": "charge", "cooling_bus": "charge"}


def _execute_store(unit: Unit) -> Run:
    energy = energy_of(unit, store(unit), "energy")
    return Run((energy,))


def _store_rows(unit: Unit) -> Iterator[ConstraintDef]:
    yield from storage_rows(unit, store(unit), "energy")


def ice(unit: Unit) -> Battery:
    """Return a store of ice by its energy, which holds cold without efficiencies."""
    return Battery(**unit.numbers("energy_capacity", "minimum_energy", "self_discharge"))


def _execute_ice(unit: Unit) -> Run:
    energy = energy_of(unit, ice(unit), "energy")
    excesses = []
    content = np.clip(energy.declared[:-1], 0.0, energy.scale)
    for way in WAYS:
        limit = _ice_limit(unit, way, content)
        if limit is None:
            continue
        over, most = unit.decision(way) - limit, float(np.max(limit, initial=0.0))
        excesses.append(unit.excess("ice", way, over, most, "above what the ice allows"))
    return Run((energy,), (), tuple(excesses))


def _ice_limit(unit: Unit, way: str, content: Floats) -> Floats | None:
    """Return the largest rate at the content [kWh] of the start of each period. [kW]."""
    full = unit.need("energy_capacity")
    shares, limits = unit.table(f"{way}_limit_share"), unit.table(f"{way}_limit")
    if shares is not None and limits is not None:
        return np.asarray(np.interp(content / full, shares, limits))
    curve = unit.table(f"{way}_curve")
    if curve is None:
        return None
    if len(curve) != 6:
        raise EvaluationError(f"{way}_curve of {unit.name} has {len(curve)} coefficients, not 6")
    six = (curve[0], curve[1], curve[2], curve[3], curve[4], curve[5])
    tank = IceTankCurves(
        energy_capacity=full,
        charge_curve=six,
        discharge_curve=six,
        **unit.numbers("curve_hours", "nominal_difference"),
    )
    difference = unit.series(f"{way}_difference")
    found = tank.charge_limit if way == "charge" else tank.discharge_limit
    return found(content, difference=difference)


def _ice_rows(unit: Unit) -> Iterator[ConstraintDef]:
    yield from storage_rows(unit, ice(unit), "energy")


ENTRIES = {
    "thermal_store": Entry(
        _execute_store,
        limits=LIMITS,
        supplies=SUPPLIES,
        demands=DEMANDS,
        rows=_store_rows,
        sized=SIZED,
    ),
    "ice_tank": Entry(
        _execute_ice,
        limits=LIMITS,
        supplies={"cooling_bus": "discharge"},
        demands={"cooling_bus": "charge"},
        rows=_ice_rows,
    ),
}
