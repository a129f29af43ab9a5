"""Thermal units as modules: buildings, tanks, heat pumps, chillers, boilers.

A machine is asked for a ``load`` and serves it as far as it goes; what of a load is above its
capacity is a violation ``unmet``. Temperatures that its power depends on are disturbances and may
be read from rooms, tanks or weather.
"""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from engiagent.models.buildings.network import HeatNetwork
from engiagent.models.chp import PartLoadChp
from engiagent.models.hvac.boiler import Boiler
from engiagent.models.hvac.chiller import Chiller
from engiagent.models.hvac.curves import Curve
from engiagent.models.hvac.heat_pump import HeatPump
from engiagent.models.hvac.turbomachines import PartLoadFan
from engiagent.models.hvac.york_calc import YorkCalcTower
from engiagent.models.ranges import Floats, ParameterError, units
from engiagent.models.storage.mixed_tank import MixedTank
from engiagent.models.systems.module import (
    Module,
    Outcome,
    Port,
    State,
    Values,
    Way,
    above,
    action,
    balance,
    disturbance,
    observation,
)


def heat_network(
    network: HeatNetwork, rooms: tuple[str, ...], *, driven: Mapping[str, float] | None = None
) -> Module:
    """Return a heat network whose ``rooms``, names of nodes, can be heated, cooled and read.

    Each boundary is a disturbance by its name. Each room has ``heating`` and ``cooling``, which
    balance a thermal bus each, the disturbance ``gains``, the ``temperature`` at the start of the
    period and its ``mean_temperature`` over the period. A room without mass is read as it was at
    the end of the period before. What is ``driven``, as ``office.heating``, is an action with a
    largest power [kW].
    """
    limits = driven or {}

    def possible(state: Values, inputs: Values, step_hours: float) -> Values:
        return {name: min(max(float(inputs[name]), 0.0), most) for name, most in limits.items()}

    def way(room: str, word: str) -> Port:
        name = f"{room}.{word}"
        direction: Way = "takes" if word == "heating" else "gives"
        if name in limits:
            return action(name, "kW", "thermal", way=direction, default=0.0)
        return balance(name, "kW", "thermal", way=direction)

    unknown = [room for room in rooms if room not in network.index]
    if unknown:
        raise ParameterError(
            f"there is no node {unknown[0]!r} for a room; "
            f"known: {', '.join(list(network.index)[:20])}"
        )
    names = [node.name for node in network.nodes]
    weights = [f"{node.name}.temperature" for node in network.nodes if node.capacity > 0]
    states = tuple(
        State(f"{node.name}.temperature", "degC", node.initial_temperature)
        for node in network.nodes
        if node.capacity > 0 or node.name in rooms
    )
    capacities = network.capacities[network.capacities > 0]
    # Among nodes the flows cancel; what is left runs to the boundaries.
    signs = np.array(
        [(k.one in names and not k.one_way) - (k.other in names) for k in network.links]
    )

    held = [(s.name, s.name.removesuffix(".temperature")) for s in states]

    places = [len(network.boundaries) + network.index[room] for room in rooms]
    known: dict[float, Floats] = {}

    def masses(state: Values) -> Floats:
        return np.array([state[name] for name in weights])

    def response(hours: float) -> Floats:
        """Return ends, means and what runs to the boundaries, from masses and inputs at once."""
        if hours not in known:
            d = network.discretise(hours)
            end, mean = (
                np.hstack((d.spread @ one, d.spread @ two + d.direct))
                for one, two in ((d.transition, d.drive), (d.mean_transition, d.mean_drive))
            )
            given = np.zeros((len(network.boundaries), end.shape[1]))
            given[:, len(weights) : len(weights) + len(given)] = np.eye(len(given))
            at = dict(zip([*names, *network.boundaries], np.vstack((mean, given)), strict=True))
            flows = [k.conductance * (at[k.one] - at[k.other]) for k in network.links]
            known[hours] = np.vstack((end, mean, signs @ np.array(flows)))
        return known[hours]

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        driving = np.zeros(len(network.boundaries) + len(names))
        driving[: len(network.boundaries)] = [inputs[name] for name in network.boundaries]
        gained = 0.0
        for place, room in zip(places, rooms, strict=True):
            gains = inputs[f"{room}.gains"]
            driving[place] = inputs[f"{room}.heating"] - inputs[f"{room}.cooling"] + gains
            gained += float(gains)
        done = (response(step_hours) @ np.concatenate((masses(state), driving))).tolist()
        found = dict(zip(names, done, strict=False))
        mean = dict(zip(names, done[len(names) :], strict=False))
        return Outcome(
            state={name: found[node] for name, node in held},
            outputs={f"{room}.mean_temperature": mean[room] for room in rooms},
            entered=gained,
            left=done[-1],
        )

    return Module(
        ports=(
            *(disturbance(name, "degC", "thermal") for name in network.boundaries),
            *(
                port
                for room in rooms
                for port in (
                    way(room, "heating"),
                    way(room, "cooling"),
                    disturbance(f"{room}.gains", "kW", "thermal", default=0.0),
                    observation(f"{room}.temperature", "degC", "thermal", instant=True),
                    observation(f"{room}.mean_temperature", "degC", "thermal"),
                )
            ),
        ),
        states=states,
        step=step,
        stored=lambda state: float(capacities @ masses(state)),
        possible=possible if limits else None,
    )


def heater(electric_power_max: float = np.inf, cop: float = 1.0) -> Module:
    """Return a heater or heat pump: ``electric_power`` is an action, ``cop`` a disturbance.

    What the heat exceeds the electric power by enters from the ambient.
    """
    return _by_cop(observation("heat", "kW", "thermal", way="gives"), electric_power_max, cop)


def cooler(electric_power_max: float = np.inf, cop: float = 1.0) -> Module:
    """Return a cooler: ``electric_power`` is an action; the cooling leaves with it."""
    return _by_cop(observation("cooling", "kW", "thermal", way="takes"), electric_power_max, cop)


def _by_cop(useful: Port, electric_power_max: float, cop: float) -> Module:
    sign = -1.0 if useful.way == "gives" else 1.0

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        electric = inputs["electric_power"]
        moved = inputs["cop"] * electric
        rest = electric + sign * moved
        return Outcome(
            outputs={useful.name: moved},
            entered=float(above(-rest)),
            left=float(above(rest)),
            violations={
                "electric_power": above(electric, electric_power_max),
                "negative_power": above(-electric),
            },
        )

    def possible(state: Values, inputs: Values, step_hours: float) -> Values:
        power = min(max(float(inputs["electric_power"]), 0.0), electric_power_max)
        return {"electric_power": power}

    ports = (
        action("electric_power", "kW", "electrical", way="takes"),
        disturbance("cop", "1", default=cop),
        useful,
    )
    return Module(ports=ports, step=step, possible=possible)


def emitter(power_max: float = np.inf, *, cooling: bool = False) -> Module:
    """Return a radiator or coil: its ``power`` goes from a bus of heat to a room.

    ``cooling`` is taken ``from`` the room and goes to a bus of cold.
    """
    one: Way = "gives" if cooling else "takes"
    other: Way = "takes" if cooling else "gives"

    def possible(state: Values, inputs: Values, step_hours: float) -> Values:
        return {"power": min(max(float(inputs["power"]), 0.0), power_max)}

    return Module(
        ports=(
            action("power", "kW", "thermal", way=one, default=0.0),
            observation("room", "kW", "thermal", way=other),
        ),
        step=lambda state, inputs, hours: Outcome(
            outputs={"room": inputs["power"]},
            violations={"power": above(inputs["power"], power_max)},
        ),
        possible=possible,
    )


def several(one: Module, count: int, capacity: float) -> Module:
    """Return units alike behind one ``load``: as few run as are enough and share it evenly.

    What stands is asked for nothing. ``capacity`` is that of one, in the unit of the load.
    """
    sums = {port.name for port in one.ports if port.unit in ("kW", "kg/s")}

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        load = float(inputs["load"])
        fewest = min(max(math.ceil(load / capacity - 1e-9), 1), count)
        for running in range(fewest, count + 1):
            each = one.step(state, {**inputs, "load": load / running}, step_hours)
            if float(np.max(each.violations["unmet"])) <= 1e-9 * capacity:
                break
        rest = one.step(state, {**inputs, "load": 0.0}, step_hours)

        def total(of_one: float, of_rest: float) -> float:
            return running * of_one + (count - running) * of_rest

        return Outcome(
            outputs={
                name: total(value, rest.outputs[name]) if name in sums else value
                for name, value in each.outputs.items()
            },
            entered=total(each.entered, rest.entered),
            left=total(each.left, rest.left),
            violations={**each.violations, "unmet": running * each.violations["unmet"]},
        )

    return replace(one, step=step)


def stated_heat_pump(
    capacity: float, standby_power: float = 0.0, part_load: Curve | None = None
) -> Module:
    """Return a heat pump whose ``cop`` is stated by period; ``load`` is an action.

    ``part_load`` is the share of the power at full load by part-load ratio, the ratio itself where
    it is None.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        load = float(inputs["load"])
        heat = min(max(load, 0.0), capacity)
        driven = heat / float(inputs["cop"])
        if part_load is not None and heat > 0:
            driven = capacity / float(inputs["cop"]) * float(part_load.at(heat / capacity))
        return Outcome(
            outputs={
                "heat": heat,
                "electric_power": driven + standby_power,
                "source_heat": heat - driven,
            },
            entered=heat - driven,
            left=standby_power,
            violations={"unmet": above(load, heat)},
        )

    return Module(
        ports=(
            action("load"),
            disturbance("cop", "1"),
            observation("heat", "kW", "thermal", way="gives"),
            observation("electric_power", "kW", "electrical", way="takes"),
            observation("source_heat", "kW", "thermal"),
        ),
        step=step,
    )


def engine(chp: PartLoadChp, *, fuel_bus: bool = False) -> Module:
    """Return an engine that gives heat with its ``power``, an action; below its least it stands."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        asked = float(inputs["load"])
        power = min(asked, chp.rated_power) if asked >= chp.minimum_power * (1 - 1e-9) else 0.0
        heat = fuel = 0.0
        if power > 0:
            done = chp.output(power)
            heat, fuel = float(done.heat), float(done.fuel)
        return Outcome(
            outputs={"power": power, "heat": heat, "fuel": fuel},
            entered=0.0 if fuel_bus else fuel,
            left=fuel - power - heat,
            violations={"unmet": above(asked, power)},
        )

    return Module(
        ports=(
            action("load"),
            observation("power", "kW", "electrical", way="gives"),
            observation("heat", "kW", "thermal", way="gives"),
            observation("fuel", "kW", "electrical", way="takes" if fuel_bus else None),
        ),
        step=step,
    )


def fan(model: PartLoadFan, minimum_flow: float = 0.0) -> Module:
    """Return a fan or pump; its flow follows a ``load``, an action, and its power leaves as heat.

    While it runs it gives ``minimum_flow`` of its rated flow at least: at 0 its speed is variable,
    at 1 constant, and :func:`several` of constant speed are stages.
    """
    rated = float(np.asarray(model.rated_flow))

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        asked = float(inputs["load"])
        flow = min(max(asked, minimum_flow * rated), rated) if asked > 0 else 0.0
        power = float(model.power(flow)) if flow > 0 else 0.0
        return Outcome(
            outputs={"flow": flow, "electric_power": power},
            left=power,
            violations={"unmet": above(asked, flow)},
        )

    return Module(
        ports=(
            action("load", "kg/s"),
            observation("flow", "kg/s"),
            observation("electric_power", "kW", "electrical", way="takes"),
        ),
        step=step,
    )


def cooling_tower(tower: YorkCalcTower) -> Module:
    """Return a cooling tower: ``speed`` is an action; it rejects what its bus leaves to it."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        speed, heat = min(max(float(inputs["speed"]), 0.0), 1.0), float(inputs["heat_rejected"])
        wet, flow = float(inputs["wet_bulb_temperature"]), float(inputs["water_flow"])
        works = speed > 0 and flow > 0
        water = wet
        if works and heat > 0:
            found = tower.water_out(heat, wet_bulb=wet, water_flow=flow, speed=speed)
            water = float(found)
        power = float(tower.fan_power(speed))
        return Outcome(
            outputs={"electric_power": power, "water_temperature": water},
            left=heat + power,
            violations={"rest": np.asarray(0.0 if works else max(heat, 0.0))},
        )

    return Module(
        ports=(
            balance("heat_rejected", "kW", "thermal", way="takes"),
            action("speed", "1"),
            disturbance("wet_bulb_temperature", "degC", "thermal"),
            disturbance("water_flow", "kg/s", "thermal"),
            observation("electric_power", "kW", "electrical", way="takes"),
            observation("water_temperature", "degC", "thermal"),
        ),
        step=step,
    )


def tank(
    model: MixedTank,
    initial: float,
    limits: tuple[float, float] = (np.inf, np.inf),
    *,
    cold: bool = False,
) -> Module:
    """Return a tank of one temperature: ``charge`` and ``discharge`` are actions.

    ``draw`` is heat of warm water that leaves. Of ``cold`` charging takes heat out of it.
    """
    sign = -1.0 if cold else 1.0

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        draw = float(inputs["draw"])
        heat = sign * float(inputs["charge"] - inputs["discharge"]) - draw
        done = model.step(
            state["temperature"], step_hours=step_hours, heat=heat, ambient=inputs["ambient"]
        )
        return Outcome(
            state={"temperature": np.asarray(done.temperature)},
            left=float(done.loss) + draw,
            violations={
                way: above(inputs[way], most)
                for way, most in zip(("charge", "discharge"), limits, strict=True)
            },
        )

    def possible(state: Values, inputs: Values, step_hours: float) -> Values:
        ways = zip(("charge", "discharge"), limits, strict=True)
        return {way: min(max(float(inputs[way]), 0.0), most) for way, most in ways}

    return Module(
        ports=(
            action("charge", "kW", "thermal", way="gives" if cold else "takes", default=0.0),
            action("discharge", "kW", "thermal", way="takes" if cold else "gives", default=0.0),
            disturbance("draw", "kW", "thermal", default=0.0),
            disturbance("ambient", "degC", "thermal", default=20.0),
            observation("temperature", "degC", "thermal", instant=True),
        ),
        states=(State("temperature", "degC", initial),),
        step=step,
        stored=lambda state: float(model.energy(state["temperature"])),
        possible=possible,
    )


def heat_pump(pump: HeatPump, *, source_bus: bool = False) -> Module:
    """Return a heat pump: ``load`` is an action; ``source`` and ``sink`` are temperatures.

    With ``source_bus`` the heat of the source comes over a thermal bus, as from a ground loop; else
    it enters from the environment.
    """
    shape = units(pump)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        load, source, sink = inputs["load"], inputs["source"], inputs["sink"]
        done = pump.operate(load, source=source, sink=sink)
        return Outcome(
            outputs={
                "heat": done.heat,
                "electric_power": done.power,
                "source_heat": done.source_heat,
                "cop": done.cop,
                "part_load_ratio": done.part_load_ratio,
            },
            entered=0.0 if source_bus else float(done.source_heat.sum()),
            left=float(done.loss.sum()),
            violations={
                "unmet": done.unmet,
                "out_of_map": _outside(pump.cop_map.valid(source, sink)),
            },
        )

    return Module(
        ports=(
            action("load", shape=shape),
            disturbance("source", "degC", "thermal"),
            disturbance("sink", "degC", "thermal"),
            observation("heat", "kW", "thermal", way="gives", shape=shape),
            observation("electric_power", "kW", "electrical", way="takes", shape=shape),
            observation(
                "source_heat", "kW", "thermal", way="takes" if source_bus else None, shape=shape
            ),
            observation("cop", "1", "thermal", shape=shape),
            observation("part_load_ratio", "1", "thermal", shape=shape),
        ),
        step=step,
        possible=_asked,
    )


def chiller(parameters: Chiller, *, condenser_bus: bool = False) -> Module:
    """Return a chiller: ``load`` is an action; ``leaving`` and ``entering`` are temperatures.

    With ``condenser_bus`` the condenser gives its heat to a thermal bus, as to a cooling tower;
    else it leaves to the environment.
    """
    shape = units(parameters)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        load, leaving, entering = inputs["load"], inputs["leaving"], inputs["entering"]
        done = parameters.operate(load, leaving=leaving, entering=entering)
        fits = parameters.capacity_curve.valid(leaving, entering)
        outside = 0.0 if condenser_bus else float(done.heat_rejected.sum())
        return Outcome(
            outputs={
                "cooling": done.cooling,
                "electric_power": done.power,
                "heat_rejected": done.heat_rejected,
                "part_load_ratio": done.part_load_ratio,
            },
            left=float(done.loss.sum()) + outside,
            violations={
                "unmet": done.unmet,
                "out_of_map": _outside(fits & parameters.eir_curve.valid(leaving, entering)),
            },
        )

    return Module(
        ports=(
            action("load", shape=shape),
            disturbance("leaving", "degC", "thermal"),
            disturbance("entering", "degC", "thermal"),
            observation("cooling", "kW", "thermal", way="takes", shape=shape),
            observation("electric_power", "kW", "electrical", way="takes", shape=shape),
            observation(
                "heat_rejected",
                "kW",
                "thermal",
                way="gives" if condenser_bus else None,
                shape=shape,
            ),
            observation("part_load_ratio", "1", "thermal", shape=shape),
        ),
        step=step,
        possible=_asked,
    )


def _asked(state: Values, inputs: Values, hours: float) -> Values:
    """Return a load that is at least 0; what is above the capacity a machine leaves itself."""
    return {"load": np.maximum(inputs["load"], 0.0)}


def _outside(valid: npt.ArrayLike) -> Floats:
    """Return 1 where the temperatures are beyond what a map was measured for, 0 elsewhere."""
    return np.asarray(~np.asarray(valid), dtype=np.float64)


def boiler(parameters: Boiler, *, fuel_bus: bool = False) -> Module:
    """Return a boiler: ``load`` is an action, ``water`` its temperature; the fuel enters.

    With ``fuel_bus`` the fuel, or electric power, comes over a bus.
    """
    way: Way | None = "takes" if fuel_bus else None
    shape = units(parameters)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        done = parameters.operate(inputs["load"], temperature=inputs["water"])
        return Outcome(
            outputs={"heat": done.heat, "fuel": done.fuel, "efficiency": done.efficiency},
            entered=0.0 if fuel_bus else float(done.fuel.sum()),
            left=float(done.loss.sum()),
            violations={"unmet": done.unmet},
        )

    return Module(
        ports=(
            action("load", shape=shape),
            disturbance("water", "degC", "thermal"),
            observation("heat", "kW", "thermal", way="gives", shape=shape),
            observation("fuel", "kW", "electrical", way=way, shape=shape),
            observation("efficiency", "1", "thermal", shape=shape),
        ),
        step=step,
        possible=_asked,
    )
