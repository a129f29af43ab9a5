"""Chillers and cooling towers."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engiagent.models.hvac.chiller import Chiller
from engiagent.models.hvac.curves import EVERYWHERE, Biquadratic, Polynomial
from engiagent.models.hvac.york_calc import YorkCalcTower
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.heating import power_limit
from engiagent.verify.plants.partload import Machine, by_table, operated
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.switching import ONLY_WITH
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

EVEN = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
STRAIGHT = (0.0, 1.0)


def chiller(plant: Plant, unit: Dynamics) -> Chiller:
    """Return the model of a chiller."""
    leaving, entering = (_fitted(plant, unit, side) for side in ("leaving", "entering"))
    return Chiller(
        rated_capacity=plant.series(unit, "rated_capacity"),
        rated_cop=plant.series(unit, "rated_cop"),
        capacity_curve=Biquadratic(
            plant.table(unit, "capacity_curve") or EVEN, x_range=leaving, y_range=entering
        ),
        eir_curve=Biquadratic(
            plant.table(unit, "eir_curve") or EVEN, x_range=leaving, y_range=entering
        ),
        part_load_curve=Polynomial(plant.table(unit, "part_load_curve") or STRAIGHT),
        minimum_part_load=plant.need(unit, "minimum_part_load"),
        minimum_unloading=plant.single(unit, "minimum_unloading"),
        maximum_part_load=plant.need(unit, "maximum_part_load"),
        heat_to_condenser=plant.need(unit, "heat_to_condenser"),
    )


def _fitted(plant: Plant, unit: Dynamics, side: str) -> tuple[float, float]:
    """Return the range in which the curves were fitted; what leaves it is noted."""
    slot = f"{side}_range"
    ends = plant.table(unit, slot)
    if ends is not None and len(ends) != 2:
        raise EvaluationError(f"{unit.name}: {slot} has {len(ends)} numbers; give two")
    at = plant.series(unit, f"{side}_temperature")
    seen = f"{float(at.min()):g} to {float(at.max()):g} degC"
    if ends is None:
        if any(unit.parameters.get(f"{name}_curve") is not None for name in ("capacity", "eir")):
            plant.note(
                f"{unit.name}: no {slot} is given, so its curves are used by their formula at "
                f"{side} temperatures of {seen}, wherever they were fitted"
            )
        return EVERYWHERE
    outside = int(((at < ends[0]) | (at > ends[1])).sum())
    if outside:
        plant.note(
            f"{unit.name}: the {side} temperature leaves the range of the curves, {ends[0]:g} to "
            f"{ends[1]:g} degC, in {outside} of {at.size} periods ({seen}); the curves hold their "
            "value at the nearest end"
        )
    return ends[0], ends[1]


def _execute_chiller(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    model = chiller(plant, unit)
    leaving, entering = (plant.series(unit, f"{w}_temperature") for w in ("leaving", "entering"))
    capacity = model.capacity(leaving, entering)

    def power_at(ratio: Floats) -> Floats:
        return model.operate(ratio * capacity, leaving=leaving, entering=entering).power

    machine = Machine(
        capacity,
        by_table(plant, unit, model.full_load_power(leaving, entering)) or power_at,
        plant.need(unit, "minimum_part_load"),
        plant.need(unit, "maximum_part_load"),
    )
    cooling = plant.decision(unit, "cooling")
    done = operated(plant, unit, machine, cooling, "cooling", "kW")
    power = plant.result(unit, "electric_power", done.declared, "its cooling")
    share = plant.need(unit, "heat_to_condenser")
    rejected = plant.result(unit, "heat_rejected", cooling + share * done.declared, "its cooling")
    limits = power_limit(plant, unit, done.declared, done.state.count)
    results = (
        replace(power, exact=done.exact),
        replace(rejected, exact=cooling + share * done.exact),
        *done.state.results,
    )
    return Run((), results, (*done.excesses, *limits))


def _execute_tower(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    tower = YorkCalcTower(
        rated_water_flow=plant.need(unit, "rated_water_flow"),
        rated_fan_power=plant.need(unit, "rated_fan_power"),
        fan_exponent=plant.need(unit, "fan_exponent"),
    )
    over = plant.periods(unit)
    heat, speed = plant.flow(unit, "heat_rejected"), plant.decision(unit, "speed")
    stated = plant.slot(unit, "water_flow")
    flow = plant.series(unit, "rated_water_flow") if stated is None else stated
    wet = plant.series(unit, "wet_bulb_temperature")
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
    name, scale = f"{unit.name}.speed", float(np.max(heat, initial=0.0))
    excesses = [
        Excess(f"sign:{name}", name, -speed, "1", 1.0, over, "negative"),
        Excess(f"limit:{name}", name, speed - 1.0, "1", 1.0, over, "above full speed"),
        Excess(
            f"rest:{unit.name}",
            f"{unit.name}.heat_rejected",
            np.where(works, 0.0, heat),
            "kW",
            scale,
            over,
            "rejected while its fan or its pump stands,",
        ),
    ]
    most = plant.slot(unit, "water_temperature_max")
    if most is not None:
        excesses.append(
            Excess(
                f"above:{unit.name}.water_temperature",
                f"{unit.name}.water_temperature",
                np.where(works, water - most, 0.0),
                "degC",
                0.0,
                over,
                "above its maximum",
            )
        )
    results = (
        plant.result(unit, "electric_power", tower.fan_power(turns), "its speed"),
        plant.result(unit, "water_temperature", water, "its heat and speed"),
    )
    return Run((), results, tuple(excesses))


ENTRIES = {
    "chiller": Entry(
        "chiller",
        "electric power in, cooling out, by curves of EnergyPlus",
        SLOTS["chiller"],
        _execute_chiller,
        connections={
            "bus": "electric",
            "cooling_bus": "that it feeds",
            "zone": "that it serves",
            "heat_bus": "into which it rejects its heat",
        },
        supplies={"cooling_bus": "cooling", "zone": "cooling", "heat_bus": "heat_rejected"},
        demands={"bus": "electric_power"},
        only_with=ONLY_WITH,
    ),
    "cooling_tower": Entry(
        "cooling_tower",
        "heat of a condenser into the air",
        SLOTS["cooling_tower"],
        _execute_tower,
        connections={"bus": "electric", "heat_bus": "whose heat it rejects"},
        demands={"bus": "electric_power", "heat_bus": "heat_rejected"},
    ),
}
