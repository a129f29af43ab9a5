"""Chillers and cooling towers."""

import numpy as np

from engiagent.models.hvac.curves import EVERYWHERE, Biquadratic, Polynomial
from engiagent.models.hvac.fluids import YorkCalcTower
from engiagent.models.hvac.machines import Chiller
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.heating import power_limit
from engiagent.verify.plants.partload import Machine, by_table, operated
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.switching import ONLY_WITH
from engiagent.verify.plants.unit import Unit
from engiagent.verify.values import Floats

EVEN = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
STRAIGHT = (0.0, 1.0)


def chiller(unit: Unit) -> Chiller:
    """Return the model of a chiller."""
    leaving, entering = (_fitted(unit, side) for side in ("leaving", "entering"))
    return Chiller(
        rated_capacity=unit.series("rated_capacity"),
        rated_cop=unit.series("rated_cop"),
        capacity_curve=Biquadratic(
            unit.table("capacity_curve") or EVEN, x_range=leaving, y_range=entering
        ),
        eir_curve=Biquadratic(unit.table("eir_curve") or EVEN, x_range=leaving, y_range=entering),
        part_load_curve=Polynomial(unit.table("part_load_curve") or STRAIGHT),
        minimum_part_load=unit.need("minimum_part_load"),
        minimum_unloading=unit.single("minimum_unloading"),
        **unit.numbers("maximum_part_load", "heat_to_condenser"),
    )


def _fitted(unit: Unit, side: str) -> tuple[float, float]:
    """Return the range in which the curves were fitted; what leaves it is noted."""
    slot = f"{side}_range"
    ends = unit.table(slot)
    if ends is not None and len(ends) != 2:
        raise EvaluationError(f"{unit.name}: {slot} has {len(ends)} numbers; give two")
    at = unit.series(f"{side}_temperature")
    seen = f"{float(at.min()):g} to {float(at.max()):g} degC"
    if ends is None:
        if any(unit.parameters.get(f"{name}_curve") is not None for name in ("capacity", "eir")):
            unit.plant.note(
                f"{unit.name}: no {slot} is given, so its curves are used by their formula at "
                f"{side} temperatures of {seen}, wherever they were fitted"
            )
        return EVERYWHERE
    outside = int(((at < ends[0]) | (at > ends[1])).sum())
    if outside:
        unit.plant.note(
            f"{unit.name}: the {side} temperature leaves the range of the curves, {ends[0]:g} to "
            f"{ends[1]:g} degC, in {outside} of {at.size} periods ({seen}); the curves hold their "
            "value at the nearest end"
        )
    return ends[0], ends[1]


def _execute_chiller(unit: Unit) -> Run:
    model = chiller(unit)
    leaving, entering = (unit.series(f"{w}_temperature") for w in ("leaving", "entering"))
    capacity = model.capacity(leaving, entering)

    def power_at(ratio: Floats) -> Floats:
        return model.operate(ratio * capacity, leaving=leaving, entering=entering).power

    machine = Machine(
        capacity,
        by_table(unit, model.full_load_power(leaving, entering)) or power_at,
        unit.need("minimum_part_load"),
        unit.need("maximum_part_load"),
    )
    cooling = unit.decision("cooling")
    done = operated(unit, machine, cooling, "cooling")
    share = unit.need("heat_to_condenser")
    declared, exact = done.declared, done.exact
    rejected = cooling + share * declared
    results = (
        unit.result("electric_power", declared, "its cooling", exact=exact),
        unit.result("heat_rejected", rejected, "its cooling", exact=cooling + share * exact),
        *done.state.results,
    )
    limits = power_limit(unit, done)
    return Run((), results, (*done.excesses, *limits))


def _execute_tower(unit: Unit) -> Run:
    tower = YorkCalcTower(**unit.numbers("rated_water_flow", "rated_fan_power", "fan_exponent"))
    heat, speed = unit.flow("heat_rejected"), unit.decision("speed")
    stated = unit.slot("water_flow")
    flow = unit.series("rated_water_flow") if stated is None else stated
    wet = unit.series("wet_bulb_temperature")
    turns = np.clip(speed, 0.0, 1.0)
    works = (turns > 0) & (flow > 0)
    # A fan at rest cools nothing: the correlation needs air.
    water = tower.water_out(
        np.where(works, heat, 0.0),
        wet_bulb=wet,
        water_flow=np.where(works, flow, 1.0),
        speed=np.where(works, turns, 1.0),
    )
    water = np.where(works, water, wet)
    scale = float(np.max(heat, initial=0.0))
    excesses = [
        *unit.between("speed", speed, 1.0, 1.0, "above full speed"),
        unit.fault(
            "rest",
            f"{unit.name}.heat_rejected",
            np.where(works, 0.0, heat),
            "kW",
            scale,
            "rejected while its fan or its pump stands,",
        ),
    ]
    most = unit.slot("water_temperature_max")
    if most is not None:
        beyond = np.where(works, water - most, 0.0)
        name = "water_temperature"
        excesses.append(unit.excess("above", name, beyond, 0.0, "above its maximum"))
    results = (
        unit.result("electric_power", tower.fan_power(turns), "its speed"),
        unit.result("water_temperature", water, "its heat and speed"),
    )
    return Run((), results, tuple(excesses))


ENTRIES = {
    "chiller": Entry(
        _execute_chiller,
        supplies={"cooling_bus": "cooling", "zone": "cooling", "heat_bus": "heat_rejected"},
        demands={"bus": "electric_power"},
        only_with=ONLY_WITH,
    ),
    "cooling_tower": Entry(
        _execute_tower, demands={"bus": "electric_power", "heat_bus": "heat_rejected"}
    ),
}
