"""Tanks of water: of one temperature, with draws of warm water, of a hot and a cold zone."""

from collections.abc import Iterator, Sequence

import numpy as np

from engiagent.blueprint.document import ConstraintDef
from engiagent.models import Battery
from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.storage.mixed_tank import MixedTank
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.rows import known, row
from engiagent.verify.plants.run import Excess, Run, Trajectory
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.starts import first
from engiagent.verify.plants.stores import DEMANDS, LIMITS, PORTS, SUPPLIES
from engiagent.verify.requirements import Dynamics
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats


def cold(unit: Dynamics) -> bool:
    """Whether a tank holds cold: it is on a bus of cold, and charging cools it."""
    return "cooling_bus" in unit.connections and "heat_bus" not in unit.connections


def body(plant: Plant, unit: Dynamics) -> MixedTank:
    """Return the model of the water in a tank of one temperature."""
    return MixedTank(
        mass=plant.need(unit, "mass"),
        loss_conductance=plant.need(unit, "loss_conductance"),
        temperature_min=plant.need(unit, "temperature_min"),
        temperature_max=plant.need(unit, "temperature_max"),
    )


def mixed(plant: Plant, unit: Dynamics, heat: Floats) -> tuple[Trajectory, Trajectory]:
    """Return temperature and energy of a tank that takes up heat. [kW]."""
    tank, periods = body(plant, unit), plant.periods(unit)
    hours, ambient = plant.hours(periods), plant.series(unit, "ambient_temperature")
    name, claimed = plant.state(unit, "temperature")
    start = first(plant, unit, "initial_temperature", claimed)
    path = tank.simulate(start, step_hours=hours, heat=heat, ambient=ambient).temperature
    defect = None
    if claimed is not None:
        after = tank.step(claimed[:-1], step_hours=hours, heat=heat, ambient=ambient).temperature
        defect = np.concatenate((claimed[:1] - start, claimed[1:] - after))
    low, high = plant.need(unit, "temperature_min"), plant.need(unit, "temperature_max")
    over = plant.instants(periods)
    scale = float(np.max(np.abs(path), initial=1.0))
    temperature = Trajectory(
        tuple(plant.names(unit, "temperature")),
        name,
        "degC",
        path,
        path,
        claimed,
        defect,
        scale,
        over,
        low,
        high,
    )
    held = tank.energy(high - path) if cold(unit) else tank.energy(path, low)
    own, told = plant.state(unit, "energy")
    full = float(tank.energy(high, low))
    energy = Trajectory(
        tuple(plant.names(unit, "energy")), own, "kWh", held, held, told, None, full, over
    )
    return temperature, energy


def _execute_tank(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    net = plant.decision(unit, "charge") - plant.decision(unit, "discharge")
    return Run(mixed(plant, unit, -net if cold(unit) else net))


def draw_heat(plant: Plant, unit: Dynamics) -> Floats:
    """Return the heat of the warm water that is wanted. [kW]."""
    warm = plant.series(unit, "use_temperature") - plant.series(unit, "cold_temperature")
    return np.asarray(plant.series(unit, "use") * SPECIFIC_HEAT * warm)


def _execute_hot_water(plant: Plant, group: Sequence[Dynamics]) -> Run:
    """Keep the charge and, where the plan admits it, the heat that is missing."""
    unit = group[0]
    wanted, over = draw_heat(plant, unit), plant.periods(unit)
    unmet = plant.claimed(unit, "unmet")
    given = np.zeros(over.size) if unmet is None else unmet
    states = mixed(plant, unit, plant.decision(unit, "charge") - (wanted - given))
    path, need = states[0].declared, plant.series(unit, "use_temperature")
    drawn = plant.series(unit, "use") > 0
    coldest = np.minimum(path[:-1], path[1:])
    # A plan that owns to missing heat may be too cold while it misses it.
    served = drawn & (given <= TOLERANCES["floor_kW"])
    scale = float(np.max(wanted, initial=0.0))
    excesses = (
        Excess(
            f"warm:{unit.name}",
            f"{unit.name} warm enough to draw from",
            np.where(served, need - coldest, 0.0),
            "degC",
            0.0,
            over,
            "too cold",
        ),
        Excess(
            f"sign:{unit.name}.unmet", f"{unit.name}.unmet", -given, "kW", scale, over, "negative"
        ),
        Excess(
            f"limit:{unit.name}.unmet",
            f"{unit.name}.unmet",
            given - wanted,
            "kW",
            scale,
            over,
            "above what is wanted",
        ),
    )
    draw = plant.result(unit, "draw", wanted, "its use")
    missing = plant.result(unit, "unmet", given, "the plan")
    return Run(states, (draw, missing), excesses)


def _execute_two_zones(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    tank, periods = zones(plant, unit), plant.periods(unit)
    full, hours, over = tank.energy_capacity, plant.hours(periods), plant.instants(periods)
    standing = _standing(plant, unit)
    into = plant.decision(unit, "charge") - standing
    out = plant.decision(unit, "discharge")
    (name, claimed), (own, share) = plant.state(unit, "energy"), plant.state(unit, "fraction")
    told = claimed if claimed is not None or share is None else share * full
    start = first(plant, unit, "initial_fraction", None if told is None else told / full) * full
    path = tank.simulate(into, out, hours, start)
    defect = None
    if claimed is not None:
        decay, gain = tank.coefficients(hours)
        defect = np.concatenate(
            (claimed[:1] - start, claimed[1:] - decay * claimed[:-1] - gain * (into - out))
        )
    low = plant.need(unit, "minimum_fraction")
    energy = Trajectory(
        tuple(plant.names(unit, "energy")),
        name,
        "kWh",
        path,
        path,
        claimed,
        defect,
        full,
        over,
        low * full,
        full,
    )
    fraction = Trajectory(
        tuple(plant.names(unit, "fraction")),
        own,
        "1",
        path / full,
        path / full,
        share,
        None,
        1.0,
        over,
    )
    return Run((energy, fraction))


def zones(plant: Plant, unit: Dynamics) -> Battery:
    """Return the boundary between two zones as a store: each zone loses by its own share."""
    tank = MixedTank(mass=plant.need(unit, "mass"))
    hot, cool = plant.need(unit, "hot_temperature"), plant.need(unit, "cold_temperature")
    return Battery(
        energy_capacity=float(tank.energy(hot, cool)),
        self_discharge=plant.need(unit, "loss_conductance") / float(tank.capacity),
    )


def _standing(plant: Plant, unit: Dynamics) -> Floats:
    """Return what a tank without anything in it loses. [kW]."""
    ambient, loss = plant.series(unit, "ambient_temperature"), plant.need(unit, "loss_conductance")
    if cold(unit):
        return np.asarray(loss * (ambient - plant.need(unit, "hot_temperature")))
    return np.asarray(loss * (plant.need(unit, "cold_temperature") - ambient))


def _tank_rows(plant: Plant, unit: Dynamics) -> Iterator[ConstraintDef]:
    """Yield limits of a temperature and, of tanks with equal steps, its dynamics."""
    over = plant.periods(unit)
    instants, state = plant.instants(over), known(plant, unit, "temperature")
    if instants is None or state is None:
        return
    low, high = plant.need(unit, "temperature_min"), plant.need(unit, "temperature_max")
    yield ConstraintDef(
        constraint_id=f"{unit.name} temperature",
        expression=f"{low!r}[degC] <= {state}[i] <= {high!r}[degC]",
        forall=(f"i in {instants.name}",),
    )
    start = plant.single(unit, "initial_temperature")
    if start is not None:
        text = f"{state}[first({instants.name})] == {start!r}[degC]"
        yield row(f"{unit.name} start", text, None)
    charge, discharge = (known(plant, unit, word) for word in ("charge", "discharge"))
    hours, ambient = plant.hours(over), plant.series(unit, "ambient_temperature")
    same = (hours == hours[0]).all() and (ambient == ambient[0]).all()
    if charge is None or discharge is None or not same:
        return
    ends = (
        body(plant, unit)
        .simulate(
            [0.0, 0.0, 1.0], step_hours=hours[:1], heat=np.array([[0.0, 1.0, 0.0]]), ambient=0.0
        )
        .temperature[1]
    )
    keep, gain = float(ends[2] - ends[0]), float(ends[1] - ends[0])
    around, sign = f"{float(ambient[0])!r}[degC]", "-" if cold(unit) else ""
    text = (
        f"{state}[t+1] - {around} == {keep!r}*({state}[t] - {around})"
        f" + {sign}{gain!r}[K/kW]*({charge}[t] - {discharge}[t])"
    )
    yield row(f"{unit.name} dynamics", text, over.name)


ENTRIES = {
    "tank": Entry(
        "tank",
        "tank of water of one temperature",
        SLOTS["tank"],
        _execute_tank,
        limits=LIMITS,
        connections=PORTS,
        supplies=SUPPLIES,
        demands=DEMANDS,
        rows=_tank_rows,
    ),
    "hot_water_tank": Entry(
        "hot_water_tank",
        "mixed tank of domestic hot water with draws that a valve tempers",
        SLOTS["hot_water_tank"],
        _execute_hot_water,
        limits=(("charge", "charge_power_max"),),
        connections={"heat_bus": "that heats it"},
        demands={"heat_bus": "charge"},
    ),
    "two_zone_tank": Entry(
        "two_zone_tank",
        "layered tank as a hot and a cold zone with a boundary that moves",
        SLOTS["two_zone_tank"],
        _execute_two_zones,
        limits=LIMITS,
        connections=PORTS,
        supplies=SUPPLIES,
        demands=DEMANDS,
    ),
}
