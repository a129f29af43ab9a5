"""Heat pumps and boilers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from engiagent.models.hvac.boiler import Boiler
from engiagent.models.hvac.curves import Biquadratic, Polynomial, Surface
from engiagent.models.hvac.heat_pump import CarnotCop, Cycling, HeatPump
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.partload import Machine, by_table, operated
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.switching import ONLY_WITH
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats

PERFORMANCES = ("cop", "carnot_fraction", "cop_curve")


@dataclass(frozen=True)
class Stated:
    """A coefficient of performance that is given by period, whatever the temperatures."""

    values: Floats

    def at(self, x: object, y: object) -> Floats:
        """Return the stated values."""
        return self.values

    def valid(self, x: object, y: object) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Return that they hold everywhere."""
        return np.ones(self.values.shape, dtype=bool)


def _execute_pump(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    pump, source, sink = heat_pump(plant, unit)
    over = plant.periods(unit)
    capacity = pump.capacity(source, sink) + np.zeros(over.size)
    standby = plant.need(unit, "standby_power")

    def power_at(ratio: Floats) -> Floats:
        done = pump.operate(ratio * capacity, source=source, sink=sink)
        return np.asarray(done.power - standby)

    full = capacity / pump.full_load_cop(source, sink)
    machine = Machine(
        capacity,
        by_table(plant, unit, full) or power_at,
        plant.need(unit, "minimum_part_load"),
        standing=standby,
    )
    heat = plant.claimed(unit, "heat")
    if heat is None:
        heat = pump.heat(plant.decision(unit, "electric_power"), source=source, sink=sink)
    done = operated(plant, unit, machine, heat, "heat", "kW")
    power = plant.result(unit, "electric_power", done.declared, "its heat")
    taken = plant.result(
        unit, "source_heat", heat - (done.declared - done.state.count * standby), "its heat"
    )
    results = (replace(power, exact=done.exact), taken, *done.state.results)
    if plant.claimed(unit, "heat") is None:
        results = (plant.result(unit, "heat", heat, "its electric power"), *results)
    limits = power_limit(plant, unit, done.declared, done.state.count)
    return Run((), results, (*done.excesses, *limits))


def heat_pump(plant: Plant, unit: Dynamics) -> tuple[HeatPump, Floats, Floats]:
    """Return the model of a heat pump with the temperatures of its source and sink. [degC]."""
    given = [slot for slot in PERFORMANCES if slot in unit.parameters]
    if len(given) != 1:
        raise EvaluationError(
            f"the performance of {unit.name} is given by {' and '.join(given) or 'nothing'}; give "
            f"one of {', '.join(PERFORMANCES)}"
        )
    curve, capacity = plant.table(unit, "cop_curve"), plant.table(unit, "capacity_curve")
    size = plant.periods(unit).size
    if given == ["cop"] and capacity is None:
        source, sink = np.zeros(size), np.zeros(size)
    else:
        source, sink = (plant.series(unit, f"{end}_temperature") for end in ("source", "sink"))
    if curve is not None:
        cop: Surface = Biquadratic(curve)
    elif given == ["cop"]:
        cop = cast("Surface", Stated(plant.series(unit, "cop")))
    else:
        cop = CarnotCop(
            fraction=plant.need(unit, "carnot_fraction"),
            sink_approach=plant.need(unit, "sink_approach"),
            source_approach=plant.need(unit, "source_approach"),
            minimum_lift=plant.need(unit, "minimum_lift"),
        )
    model = HeatPump(
        rated_capacity=plant.need(unit, "rated_capacity"),
        cop_map=cop,
        rated_cop=plant.need(unit, "rated_cop") if curve is not None else 1.0,
        capacity_map=None if capacity is None else Biquadratic(capacity),
        modulation=Polynomial(plant.table(unit, "modulation_curve") or (1.0,)),
        minimum_part_load=plant.need(unit, "minimum_part_load"),
        cycling=Cycling(coefficient=plant.need(unit, "cycling_coefficient")),
        standby_power=plant.need(unit, "standby_power"),
    )
    return model, source, sink


def power_limit(plant: Plant, unit: Dynamics, power: Floats, count: float) -> tuple[Excess, ...]:
    """Return by how much machines draw more than their electric limit, none without one."""
    most = plant.slot(unit, "electric_power_max")
    if most is None:
        return ()
    name = f"{unit.name}.electric_power"
    scale = float(np.max(np.abs(power), initial=0.0))
    return (
        Excess(
            f"limit:{name}",
            name,
            power - count * most,
            "kW",
            scale,
            plant.periods(unit),
            "above its limit",
        ),
    )


def _execute_boiler(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    curve = plant.table(unit, "efficiency_curve")
    boiler = Boiler(
        rated_capacity=plant.need(unit, "rated_capacity"),
        rated_efficiency=plant.need(unit, "rated_efficiency"),
        efficiency_curve=None if curve is None else Biquadratic(curve),
        minimum_part_load=plant.need(unit, "minimum_part_load"),
        standby_loss=plant.need(unit, "standby_loss"),
    )
    capacity = plant.series(unit, "rated_capacity")
    water = np.zeros(capacity.size) if curve is None else plant.series(unit, "water_temperature")
    full = capacity / plant.need(unit, "rated_efficiency")
    machine = Machine(
        capacity,
        by_table(plant, unit, full)
        or (lambda ratio: boiler.operate(ratio * capacity, temperature=water).fuel),
        plant.need(unit, "minimum_part_load"),
    )
    heat = plant.decision(unit, "heat")
    done = operated(plant, unit, machine, heat, "heat", "kW")
    fuel = plant.result(unit, "fuel", done.declared, "its heat")
    return Run((), (replace(fuel, exact=done.exact), *done.state.results), done.excesses)


ENTRIES = {
    "heat_pump": Entry(
        "heat_pump",
        "electric power in, heat out, by temperatures and part load",
        SLOTS["heat_pump"],
        _execute_pump,
        connections={
            "bus": "electric",
            "heat_bus": "that it feeds",
            "zone": "that it serves",
            "cooling_bus": "from which it takes its heat",
        },
        supplies={"heat_bus": "heat", "zone": "heat", "cooling_bus": "source_heat"},
        demands={"bus": "electric_power"},
        only_with=ONLY_WITH,
        answered=("heat",),
    ),
    "boiler": Entry(
        "boiler",
        "fuel in, heat out",
        SLOTS["boiler"],
        _execute_boiler,
        connections={
            "fuel_bus": "of its fuel",
            "bus": "when it is electric",
            "heat_bus": "that it feeds",
            "zone": "that it serves",
        },
        supplies={"heat_bus": "heat", "zone": "heat"},
        demands={"fuel_bus": "fuel", "bus": "fuel"},
        only_with=ONLY_WITH,
    ),
}
