"""Heat pumps and boilers."""

from dataclasses import dataclass
from typing import cast

import numpy as np

from engiagent.models.hvac.curves import Biquadratic, Polynomial, Surface
from engiagent.models.hvac.machines import Boiler, CarnotCop, HeatPump
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.partload import Machine, Operated, by_table, operated
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.switching import ONLY_WITH
from engiagent.verify.plants.unit import Unit, size
from engiagent.verify.values import Floats

PERFORMANCES = ("cop", "carnot_fraction", "cop_curve")


@dataclass(frozen=True)
class Stated:
    """A coefficient of performance that is given by period, whatever the temperatures."""

    values: Floats

    def at(self, x: object, y: object) -> Floats:
        """Return the stated values."""
        return self.values


def _execute_pump(unit: Unit) -> Run:
    pump, source, sink = heat_pump(unit)
    capacity = pump.capacity(source, sink) + np.zeros(unit.periods.size)
    standby = unit.need("standby_power")

    def power_at(ratio: Floats) -> Floats:
        done = pump.operate(ratio * capacity, source=source, sink=sink)
        return np.asarray(done.power - standby)

    full = capacity / pump.full_load_cop(source, sink)
    machine = Machine(
        capacity, by_table(unit, full) or power_at, unit.need("minimum_part_load"), standing=standby
    )
    heat = unit.claimed("heat")
    if heat is None:
        heat = pump.heat(unit.decision("electric_power"), source=source, sink=sink)
    done = operated(unit, machine, heat, "heat")
    electric = done.declared
    taken = heat - (electric - done.state.count * standby)
    results = (
        unit.result("electric_power", electric, "its heat", exact=done.exact),
        unit.result("source_heat", taken, "its heat"),
        *done.state.results,
    )
    if unit.claimed("heat") is None:
        results = (unit.result("heat", heat, "its electric power"), *results)
    return Run((), results, (*done.excesses, *power_limit(unit, done)))


def heat_pump(unit: Unit) -> tuple[HeatPump, Floats, Floats]:
    """Return the model of a heat pump with the temperatures of its source and sink. [degC]."""
    given = [slot for slot in PERFORMANCES if slot in unit.parameters]
    if len(given) != 1:
        raise EvaluationError(
            f"the performance of {unit.name} is given by {' and '.join(given) or 'nothing'}; give "
            f"one of {', '.join(PERFORMANCES)}"
        )
    curve, capacity = unit.table("cop_curve"), unit.table("capacity_curve")
    size = unit.periods.size
    if given == ["cop"] and capacity is None:
        source, sink = np.zeros(size), np.zeros(size)
    else:
        source, sink = (unit.series(f"{end}_temperature") for end in ("source", "sink"))
    if curve is not None:
        cop: Surface = Biquadratic(curve)
    elif given == ["cop"]:
        cop = cast("Surface", Stated(unit.series("cop")))
    else:
        cop = CarnotCop(
            fraction=unit.need("carnot_fraction"),
            **unit.numbers("sink_approach", "source_approach", "minimum_lift"),
        )
    model = HeatPump(
        rated_capacity=unit.need("rated_capacity"),
        cop_map=cop,
        rated_cop=unit.need("rated_cop") if curve is not None else 1.0,
        capacity_map=None if capacity is None else Biquadratic(capacity),
        modulation=Polynomial(unit.table("modulation_curve") or (1.0,)),
        minimum_part_load=unit.need("minimum_part_load"),
        cycling=unit.need("cycling_coefficient"),
        standby_power=unit.need("standby_power"),
    )
    return model, source, sink


def power_limit(unit: Unit, done: Operated) -> tuple[Excess, ...]:
    """Return by how much machines draw more than their electric limit, none without one."""
    most, power = unit.slot("electric_power_max"), done.declared
    if most is None:
        return ()
    over = power - done.state.count * most
    return (unit.excess("limit", "electric_power", over, size(power), "above its limit"),)


def _execute_boiler(unit: Unit) -> Run:
    curve = unit.table("efficiency_curve")
    boiler = Boiler(
        **unit.numbers("rated_capacity", "rated_efficiency"),
        efficiency_curve=None if curve is None else Biquadratic(curve),
        **unit.numbers("minimum_part_load", "standby_loss"),
    )
    capacity = unit.series("rated_capacity")
    water = np.zeros(capacity.size) if curve is None else unit.series("water_temperature")
    full = capacity / unit.need("rated_efficiency")
    machine = Machine(
        capacity,
        by_table(unit, full)
        or (lambda ratio: boiler.operate(ratio * capacity, temperature=water).fuel),
        unit.need("minimum_part_load"),
    )
    heat = unit.decision("heat")
    done = operated(unit, machine, heat, "heat")
    fuel = unit.result("fuel", done.declared, "its heat", exact=done.exact)
    return Run((), (fuel, *done.state.results), done.excesses)


ENTRIES = {
    "heat_pump": Entry(
        _execute_pump,
        supplies={"heat_bus": "heat", "zone": "heat", "cooling_bus": "source_heat"},
        demands={"bus": "electric_power"},
        only_with=ONLY_WITH,
        answered=("heat",),
    ),
    "boiler": Entry(
        _execute_boiler,
        supplies={"heat_bus": "heat", "zone": "heat"},
        demands={"fuel_bus": "fuel", "bus": "fuel"},
        only_with=ONLY_WITH,
    ),
}
