"""Tanks in layers, with a heater, a discharge and draws of warm water."""

from collections.abc import Sequence

import numpy as np

from engiagent.models.storage.hot_water import HotWaterTank
from engiagent.models.storage.stratified_tank import StratifiedTank
from engiagent.models.storage.tank_parts import Port
from engiagent.verify.frames import EvaluationError
from engiagent.verify.levels.execution import Plant
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Result, Run, Trajectory
from engiagent.verify.plants.slots import SLOTS
from engiagent.verify.plants.starts import first
from engiagent.verify.plants.tanks import draw_heat
from engiagent.verify.requirements import Dynamics
from engiagent.verify.values import Floats


def _execute(plant: Plant, group: Sequence[Dynamics]) -> Run:
    unit = group[0]
    tank, drawn = _tank(plant, unit), "use" in unit.parameters
    heat = _heat(plant, unit, tank)
    name, claimed = plant.state(unit, "temperature")
    start = np.full(tank.layers, first(plant, unit, "initial_temperature", claimed))
    over = plant.periods(unit)
    hours, ambient = plant.hours(over), plant.series(unit, "ambient_temperature")
    low, high = plant.need(unit, "temperature_min"), plant.need(unit, "temperature_max")
    missing = np.zeros(over.size)
    if drawn:
        path = HotWaterTank(tank=tank).simulate(
            start,
            step_hours=hours,
            heat=heat,
            ambient=ambient,
            use=plant.series(unit, "use"),
            use_temperature=plant.series(unit, "use_temperature"),
            cold_temperature=plant.series(unit, "cold_temperature"),
        )
        layers, missing = path.temperature, path.draw.missing
    else:
        layers = tank.simulate(
            start, step_hours=hours, periods=over.size, heat=heat, ambient=ambient
        ).temperature
    held, (own, told) = tank.energy(layers, low), plant.state(unit, "energy")
    instants, full = plant.instants(over), float(tank.energy(np.full(tank.layers, high), low))
    states = (
        Trajectory(
            tuple(plant.names(unit, "temperature")),
            name,
            "degC",
            layers[:, 0],
            layers[:, 0],
            claimed,
            None,
            float(np.abs(layers).max()),
            instants,
            low,
            high,
        ),
        Trajectory(
            tuple(plant.names(unit, "energy")), own, "kWh", held, held, told, None, full, instants
        ),
    )
    results: tuple[Result, ...] = (plant.result(unit, "unmet", missing, "its draws"),)
    if drawn:
        wanted = draw_heat(plant, unit)
        results = (plant.result(unit, "draw", wanted, "its use"), *results)
    if plant.claimed(unit, "discharge") is None:
        results = (plant.result(unit, "discharge", np.zeros(over.size), "the plan"), *results)
    return Run(states, results, tuple(_extremes(unit, layers, low, high, plant)))


def _extremes(
    unit: Dynamics, layers: Floats, low: float, high: float, plant: Plant
) -> Sequence[Excess]:
    """Return how far any layer is beyond the limits of the tank."""
    over = plant.instants(plant.periods(unit))
    return [
        Excess(
            f"layers:{unit.name}.{end}", f"layers of {unit.name}", amount, "degC", 0.0, over, words
        )
        for end, amount, words in (
            ("low", low - layers.min(axis=1), "below the minimum"),
            ("high", layers.max(axis=1) - high, "above the maximum"),
        )
    ]


def _tank(plant: Plant, unit: Dynamics) -> StratifiedTank:
    count = plant.need(unit, "layers")
    if count != int(count):
        raise EvaluationError(f"{unit.name} has {count:g} layers; give a whole number")
    layers = int(count)
    ports = (Port(inlet=layers - 1, outlet=0),) if "use" in unit.parameters else ()
    return StratifiedTank(
        mass=plant.need(unit, "mass"),
        layers=layers,
        height=plant.need(unit, "height"),
        area=plant.need(unit, "area"),
        conductivity=plant.need(unit, "conductivity"),
        loss_conductance=plant.need(unit, "loss_conductance"),
        ports=ports,
    )


def _heat(plant: Plant, unit: Dynamics, tank: StratifiedTank) -> Floats:
    """Return the heat into each layer by period. [kW]."""
    place = plant.single(unit, "heater_layer")
    layer = tank.layers - 1 if place is None else int(place)
    if not 0 <= layer < tank.layers:
        raise EvaluationError(f"the heater of {unit.name} is at layer {layer} of {tank.layers}")
    heat = np.zeros((plant.periods(unit).size, tank.layers))
    heat[:, layer] += plant.decision(unit, "charge")
    out = plant.claimed(unit, "discharge")
    if out is not None:
        heat[:, 0] -= out
    return heat


ENTRIES = {
    "stratified_tank": Entry(
        "stratified_tank",
        "tank in layers",
        SLOTS["stratified_tank"],
        _execute,
        limits=(("charge", "charge_power_max"),),
        connections={"heat_bus": "that it buffers"},
        supplies={"heat_bus": "discharge"},
        demands={"heat_bus": "charge"},
        only_with={"draw": ("use",)},
        answered=("discharge",),
    )
}
