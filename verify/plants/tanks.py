"""Tanks of water: of one temperature, with draws, of a hot and a cold zone, in layers, of ice."""

from collections.abc import Iterator, Sequence

import numpy as np

from engiagent.blueprint.elements import ConstraintDef
from engiagent.models import Battery
from engiagent.models.hvac.fluids import SPECIFIC_HEAT
from engiagent.models.storage import IceTankCurves, MixedTank, StratifiedTank
from engiagent.verify.frames import EvaluationError
from engiagent.verify.plants import Entry
from engiagent.verify.plants.run import Excess, Result, Run, Trajectory
from engiagent.verify.plants.stores import DEMANDS, LIMITS, SUPPLIES, WAYS, energy_of, storage_rows
from engiagent.verify.plants.unit import Unit, known, row
from engiagent.verify.tolerances import TOLERANCES
from engiagent.verify.values import Floats


def cold(unit: Unit) -> bool:
    """Whether a tank holds cold: it is on a bus of cold, and charging cools it."""
    return "cooling_bus" in unit.connections and "heat_bus" not in unit.connections


def body(unit: Unit) -> MixedTank:
    """Return the model of the water in a tank of one temperature."""
    return MixedTank(**unit.numbers("mass", "loss_conductance"))


def mixed(unit: Unit, heat: Floats) -> tuple[Trajectory, Trajectory]:
    """Return temperature and energy of a tank that takes up heat. [kW]."""
    tank = body(unit)
    hours, ambient = unit.hours, unit.series("ambient_temperature")
    _, claimed = unit.state("temperature")
    start = unit.start("initial_temperature", claimed)
    path = tank.simulate(start, step_hours=hours, heat=heat, ambient=ambient).temperature

    def after(before: Floats) -> Floats:
        return tank.step(before, step_hours=hours, heat=heat, ambient=ambient).temperature

    low, high = unit.need("temperature_min"), unit.need("temperature_max")
    scale = float(np.max(np.abs(path), initial=1.0))
    temperature = unit.trajectory("temperature", path, scale, after=after, lower=low, upper=high)
    held = tank.energy(high - path) if cold(unit) else tank.energy(path, low)
    full = float(tank.energy(high, low))
    energy = unit.trajectory("energy", held, full)
    return temperature, energy


def _tank(unit: Unit) -> Run:
    net = unit.decision("charge") - unit.decision("discharge")
    return Run(mixed(unit, -net if cold(unit) else net))


def draw_heat(unit: Unit) -> Floats:
    """Return the heat of the warm water that is wanted. [kW]."""
    warm = unit.series("use_temperature") - unit.series("cold_temperature")
    return np.asarray(unit.series("use") * SPECIFIC_HEAT * warm)


def _hot_water(unit: Unit) -> Run:
    """Keep the charge and, where the plan admits it, the heat that is missing."""
    wanted, given = draw_heat(unit), unit.optional("unmet")
    states = mixed(unit, unit.decision("charge") - (wanted - given))
    path, need = states[0].declared, unit.series("use_temperature")
    drawn = unit.series("use") > 0
    coldest = np.minimum(path[:-1], path[1:])
    # A plan that owns to missing heat may be too cold while it misses it.
    served = drawn & (given <= TOLERANCES["floor_kW"])
    scale, name = float(np.max(wanted, initial=0.0)), f"{unit.name} warm enough to draw from"
    excesses = (
        unit.fault("warm", name, np.where(served, need - coldest, 0.0), "degC", 0.0, "too cold"),
        *unit.between("unmet", given, wanted, scale, "above what is wanted"),
    )
    draw = unit.result("draw", wanted, "its use")
    missing = unit.result("unmet", given, "the plan")
    return Run(states, (draw, missing), excesses)


def _two_zones(unit: Unit) -> Run:
    tank = zones(unit)
    full, hours = tank.energy_capacity, unit.hours
    into = unit.decision("charge") - standing(unit)
    out = unit.decision("discharge")
    (_, claimed), (_, share) = unit.state("energy"), unit.state("fraction")
    told = claimed if claimed is not None or share is None else share * full
    start = unit.start("initial_fraction", None if told is None else told / full) * full
    path = tank.simulate(into, out, hours, start)
    decay, gain = tank.coefficients(hours)
    energy = unit.trajectory(
        "energy",
        path,
        full,
        after=lambda before: decay * before + gain * (into - out),
        lower=unit.need("minimum_fraction") * full,
        upper=full,
    )
    fraction = unit.trajectory("fraction", path / full, 1.0)
    return Run((energy, fraction))


def zones(unit: Unit) -> Battery:
    """Return the boundary between two zones as a store: each zone loses by its own share."""
    tank = MixedTank(mass=unit.need("mass"))
    hot, cool = unit.need("hot_temperature"), unit.need("cold_temperature")
    return Battery(
        energy_capacity=float(tank.energy(hot, cool)),
        self_discharge=unit.need("loss_conductance") / tank.capacity,
    )


def standing(unit: Unit) -> Floats:
    """Return what a tank without anything in it loses. [kW]."""
    ambient, loss = unit.series("ambient_temperature"), unit.need("loss_conductance")
    if cold(unit):
        return np.asarray(loss * (ambient - unit.need("hot_temperature")))
    return np.asarray(loss * (unit.need("cold_temperature") - ambient))


def _tank_rows(unit: Unit) -> Iterator[ConstraintDef]:
    """Yield limits of a temperature and, of tanks with equal steps, its dynamics."""
    over = unit.periods
    instants, state = unit.instants, known(unit, "temperature")
    if instants is None or state is None:
        return
    low, high = unit.need("temperature_min"), unit.need("temperature_max")
    yield ConstraintDef(
        constraint_id=f"{unit.name} temperature",
        expression=f"{low!r}[degC] <= {state}[i] <= {high!r}[degC]",
        forall=(f"i in {instants.name}",),
    )
    first = unit.single("initial_temperature")
    if first is not None:
        text = f"{state}[first({instants.name})] == {first!r}[degC]"
        yield row(f"{unit.name} start", text, None)
    charge, discharge = (known(unit, word) for word in ("charge", "discharge"))
    hours, ambient = unit.hours, unit.series("ambient_temperature")
    same = (hours == hours[0]).all() and (ambient == ambient[0]).all()
    if charge is None or discharge is None or not same:
        return
    start, heat = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    ends = body(unit).step(start, step_hours=hours[0], heat=heat, ambient=0.0).temperature
    keep, gain = float(ends[2] - ends[0]), float(ends[1] - ends[0])
    around, sign = f"{float(ambient[0])!r}[degC]", "-" if cold(unit) else ""
    text = (
        f"{state}[t+1] - {around} == {keep!r}*({state}[t] - {around})"
        f" + {sign}{gain!r}[K/kW]*({charge}[t] - {discharge}[t])"
    )
    yield row(f"{unit.name} dynamics", text, over.name)


def _layered(unit: Unit) -> Run:
    tank, drawn = _layers_of(unit), unit.given("use")
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
    over, name = unit.instants, f"layers of {unit.name}"
    return [
        unit.fault("layers", name, amount, "degC", 0.0, words, over=over, part=f".{end}")
        for end, amount, words in (
            ("low", low - layers.min(axis=1), "below the minimum"),
            ("high", layers.max(axis=1) - high, "above the maximum"),
        )
    ]


def _layers_of(unit: Unit) -> StratifiedTank:
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


def ice(unit: Unit) -> Battery:
    """Return a store of ice by its energy, which holds cold without efficiencies."""
    return Battery(**unit.numbers("energy_capacity", "minimum_energy", "self_discharge"))


def _ice_tank(unit: Unit) -> Run:
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


CHARGED, WARMED = LIMITS[:1], {"heat_bus": "charge"}
ENTRIES = {
    "ice_tank": Entry(
        _ice_tank,
        limits=LIMITS,
        supplies={"cooling_bus": "discharge"},
        demands={"cooling_bus": "charge"},
        rows=lambda unit: storage_rows(unit, ice(unit), "energy"),
    ),
    "tank": Entry(_tank, limits=LIMITS, supplies=SUPPLIES, demands=DEMANDS, rows=_tank_rows),
    "hot_water_tank": Entry(_hot_water, limits=CHARGED, demands=WARMED),
    "two_zone_tank": Entry(_two_zones, limits=LIMITS, supplies=SUPPLIES, demands=DEMANDS),
    "stratified_tank": Entry(
        _layered,
        limits=CHARGED,
        demands=WARMED,
        supplies={"heat_bus": "discharge"},
        only_with={"draw": ("use",)},
        answered=("discharge",),
    ),
}
