"""Heat pumps, boilers, chillers, cooling towers, heaters, coolers, fans and pumps."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from engiagent.blueprint.elements import ConstraintDef
from engiagent.models.hvac.curves import EVERYWHERE, Biquadratic, Polynomial, Surface
from engiagent.models.hvac.fluids import PartLoadFan, YorkCalcTower
from engiagent.models.hvac.machines import Boiler, CarnotCop, Chiller, HeatPump
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants import Entry
from engiagent.verify.plants.run import Excess, Run
from engiagent.verify.plants.switching import ONLY_WITH, Machine, Operated, by_table, operated
from engiagent.verify.plants.unit import Unit, known, row, size, written
from engiagent.verify.values import Floats

PERFORMANCES = ("cop", "carnot_fraction", "cop_curve")


@dataclass(frozen=True)
class Stated:
    """A coefficient of performance that is given by period, whatever the temperatures."""

    values: Floats

    def at(self, x: object, y: object) -> Floats:
        """Return the stated values."""
        return self.values


def _heat_pump(unit: Unit) -> Run:
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


def boiler(unit: Unit) -> Boiler:
    """Return the model of a boiler."""
    curve = unit.table("efficiency_curve")
    return Boiler(
        **unit.numbers("rated_capacity", "rated_efficiency"),
        efficiency_curve=None if curve is None else Biquadratic(curve),
        **unit.numbers("minimum_part_load", "standby_loss"),
    )


def _boiler(unit: Unit) -> Run:
    model, capacity = boiler(unit), unit.series("rated_capacity")
    curved = unit.given("efficiency_curve")
    water = unit.series("water_temperature") if curved else np.zeros(capacity.size)
    full = capacity / unit.need("rated_efficiency")
    machine = Machine(
        capacity,
        by_table(unit, full)
        or (lambda ratio: model.operate(ratio * capacity, temperature=water).fuel),
        unit.need("minimum_part_load"),
    )
    heat = unit.decision("heat")
    done = operated(unit, machine, heat, "heat")
    fuel = unit.result("fuel", done.declared, "its heat", exact=done.exact)
    return Run((), (fuel, *done.state.results), done.excesses)


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


def _chiller(unit: Unit) -> Run:
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


def _tower(unit: Unit) -> Run:
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
    scale, name = float(np.max(heat, initial=0.0)), f"{unit.name}.heat_rejected"
    words = "rejected while its fan or its pump stands,"
    excesses = [
        *unit.between("speed", speed, 1.0, 1.0, "above full speed"),
        unit.fault("rest", name, np.where(works, 0.0, heat), "kW", scale, words),
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


OUTPUTS = {"heater": "heat", "cooler": "cooling"}


def _converter(unit: Unit) -> Run:
    """Keep the electric power; where the plan has only what it gives, find the power of that."""
    word, cop = OUTPUTS[unit.model], unit.series("cop")
    power = unit.claimed("electric_power")
    if power is None:
        power = np.divide(unit.decision(word), cop)
        return Run((), (unit.result("electric_power", power, f"its {word}"),))
    return Run((), (unit.result(word, cop * power, "its electric power"),))


def _converter_rows(unit: Unit) -> Iterator[ConstraintDef]:
    word = OUTPUTS[unit.model]
    power, output = known(unit, "electric_power"), known(unit, word)
    cop = written(unit, "cop") or "1"
    if power is not None and output is not None:
        text = f"{output}[t] == {cop}*{power}[t]"
        yield row(f"{unit.name} output", text, unit.periods.name)


ELECTRIC = {"bus": "electric_power"}


def _converting(word: str, bus: str) -> Entry:
    return Entry(
        _converter,
        limits=(("electric_power", "electric_power_max"),),
        supplies={"zone": word, bus: word},
        demands=ELECTRIC,
        answered=("electric_power",),
        rows=_converter_rows,
    )


AFFINITY = (0.0, 0.0, 0.0, 1.0)
"""Power by the cube of the flow: the affinity laws in a system whose resistance stays."""


def fan(unit: Unit) -> PartLoadFan:
    """Return the model of a fan or pump, or of the fans of an air handler."""
    curve = unit.table("power_curve") if "power_curve" in unit.slots else None
    sizes = unit.numbers("rated_flow", "rated_power")
    return PartLoadFan(**sizes, power_curve=Polynomial(curve or AFFINITY))


def _fan(unit: Unit) -> Run:
    flow, model = unit.series("rated_flow"), fan(unit)
    machine = Machine(flow, lambda ratio: model.power(ratio * flow), unit.need("minimum_flow"))
    done = operated(unit, machine, unit.decision("flow"), "flow")
    power = unit.result("electric_power", done.declared, "its flow", exact=done.exact)
    return Run((), (power, *done.state.results), done.excesses)


FAN = Entry(_fan, demands=ELECTRIC, only_with=ONLY_WITH)
HEAT = {"heat_bus": "heat", "zone": "heat"}
COLD = {"cooling_bus": "cooling", "zone": "cooling", "heat_bus": "heat_rejected"}
PUMPED = {**HEAT, "cooling_bus": "source_heat"}
BURNT = {"fuel_bus": "fuel", "bus": "fuel"}
ENTRIES = {
    "heat_pump": Entry(
        _heat_pump, supplies=PUMPED, demands=ELECTRIC, only_with=ONLY_WITH, answered=("heat",)
    ),
    "boiler": Entry(_boiler, supplies=HEAT, demands=BURNT, only_with=ONLY_WITH),
    "chiller": Entry(_chiller, supplies=COLD, demands=ELECTRIC, only_with=ONLY_WITH),
    "cooling_tower": Entry(_tower, demands={**ELECTRIC, "heat_bus": "heat_rejected"}),
    "heater": _converting("heat", "heat_bus"),
    "cooler": _converting("cooling", "cooling_bus"),
    "fan": FAN,
    "pump": FAN,
}
