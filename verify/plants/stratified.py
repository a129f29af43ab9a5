"""Tanks in layers, with a heater, a discharge and draws of warm water."""

from collections.abc import Sequence

import numpy as np

from engiagent.models.storage import StratifiedTank
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants.entry import Entry
from engiagent.verify.plants.run import Excess, Result, Run
from engiagent.verify.plants.tanks import draw_heat
from engiagent.verify.plants.unit import Unit
from engiagent.verify.values import Floats


def _execute(unit: Unit) -> Run:
    tank, drawn = _tank(unit), unit.given("use")
    heat = _heat(unit, tank)
    _, claimed = unit.state("temperature")
    start = np.full(tank.layers, unit.start("initial_temperature", claimed))
    over = unit.periods
    hours, ambient = unit.hours, unit.series("ambient_temperature")
    low, high = unit.need("temperature_min"), unit.need("temperature_max")
    draws = ("use", "use_temperature", "cold_temperature") if drawn else ()
    path = tank.simulate(
        start,
        step_hours=hours,
        heat=heat,
        ambient=ambient,
        **{slot: unit.series(slot) for slot in draws},
    )
    layers, missing = path.temperature, path.missing
    held = tank.energy(layers, low)
    full = float(tank.energy(np.full(tank.layers, high), low))
    states = (
        unit.trajectory(
            "temperature", layers[:, 0], float(np.abs(layers).max()), lower=low, upper=high
        ),
        unit.trajectory("energy", held, full),
    )
    results: tuple[Result, ...] = (unit.result("unmet", missing, "its draws"),)
    if drawn:
        wanted = draw_heat(unit)
        results = (unit.result("draw", wanted, "its use"), *results)
    if unit.claimed("discharge") is None:
        results = (unit.result("discharge", np.zeros(over.size), "the plan"), *results)
    return Run(states, results, tuple(_extremes(unit, layers, low, high)))


def _extremes(unit: Unit, layers: Floats, low: float, high: float) -> Sequence[Excess]:
    """Return how far any layer is beyond the limits of the tank."""
    over, name = unit.instants, f"layers of {unit.name}"
    return [
        unit.fault("layers", name, amount, "degC", 0.0, words, over=over, part=f".{end}")
        for end, amount, words in (
            ("low", low - layers.min(axis=1), "below the minimum"),
            ("high", layers.max(axis=1) - high, "above the maximum"),
        )
    ]


def _tank(unit: Unit) -> StratifiedTank:
    count = unit.need("layers")
    if count != int(count):
        raise EvaluationError(f"{unit.name} has {count:g} layers; give a whole number")
    layers = int(count)
    return StratifiedTank(
        mass=unit.need("mass"),
        layers=layers,
        **unit.numbers("height", "area", "conductivity", "loss_conductance"),
    )


def _heat(unit: Unit, tank: StratifiedTank) -> Floats:
    """Return the heat into each layer by period. [kW]."""
    place = unit.single("heater_layer")
    layer = tank.layers - 1 if place is None else int(place)
    if not 0 <= layer < tank.layers:
        raise EvaluationError(f"the heater of {unit.name} is at layer {layer} of {tank.layers}")
    heat = np.zeros((unit.periods.size, tank.layers))
    heat[:, layer] += unit.decision("charge")
    out = unit.claimed("discharge")
    if out is not None:
        heat[:, 0] -= out
    return heat


ENTRIES = {
    "stratified_tank": Entry(
        _execute,
        limits=(("charge", "charge_power_max"),),
        supplies={"heat_bus": "discharge"},
        demands={"heat_bus": "charge"},
        only_with={"draw": ("use",)},
        answered=("discharge",),
    )
}
