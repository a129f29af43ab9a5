"""Thermal units as modules: buildings, tanks, heat pumps, chillers, boilers.

A machine is asked for a ``load`` and serves it as far as it goes; what of a load is above its
capacity is a violation ``unmet``. Temperatures that its power depends on are disturbances and may
be read from rooms, tanks or weather.
"""

import numpy as np
import numpy.typing as npt

from engiagent.models.buildings.network import HeatNetwork
from engiagent.models.hvac.boiler import Boiler
from engiagent.models.hvac.chiller import Chiller
from engiagent.models.hvac.heat_pump import HeatPump
from engiagent.models.ranges import Floats, ParameterError, units
from engiagent.models.storage.stratified_tank import StratifiedTank
from engiagent.models.systems.module import (
    Module,
    Outcome,
    Port,
    State,
    Values,
    above,
    action,
    balance,
    disturbance,
    observation,
)


def heat_network(network: HeatNetwork, rooms: tuple[str, ...]) -> Module:
    """Return a heat network whose ``rooms``, names of nodes, can be heated, cooled and read.

    Each boundary is a disturbance by its name. Each room has ``heating`` and ``cooling``, which
    balance a thermal bus each, the disturbance ``gains``, the ``temperature`` at the start of the
    period and its ``mean_temperature`` over the period. A room without mass is read as it was at
    the end of the period before.
    """
    unknown = [room for room in rooms if room not in network.index]
    if unknown:
        raise ParameterError(
            f"there is no node {unknown[0]!r} for a room; "
            f"known: {', '.join(list(network.index)[:20])}"
        )
    names = [node.name for node in network.nodes]
    heavy = [node.name for node in network.nodes if node.capacity > 0]
    states = tuple(
        State(f"{node.name}.temperature", "degC", node.initial_temperature)
        for node in network.nodes
        if node.capacity > 0 or node.name in rooms
    )
    # Among nodes the flows cancel; what is left runs to the boundaries.
    signs = np.array(
        [(k.one in names and not k.one_way) - (k.other in names) for k in network.links]
    )

    def masses(state: Values) -> Floats:
        return np.array([float(state[f"{name}.temperature"]) for name in heavy])

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        heat = {
            room: float(
                inputs[f"{room}.heating"] - inputs[f"{room}.cooling"] + inputs[f"{room}.gains"]
            )
            for room in rooms
        }
        given = {name: float(inputs[name]) for name in network.boundaries}
        done = network.step(masses(state), given, step_hours, heat)
        found = dict(zip(names, done.temperature, strict=True))
        mean = dict(zip(names, done.mean_temperature, strict=True))
        return Outcome(
            state={s.name: found[s.name.removesuffix(".temperature")] for s in states},
            outputs={f"{room}.mean_temperature": mean[room] for room in rooms},
            entered=sum(float(inputs[f"{room}.gains"]) for room in rooms),
            left=float(signs @ done.flow),
        )

    return Module(
        ports=(
            *(disturbance(name, "degC", "thermal") for name in network.boundaries),
            *(
                port
                for room in rooms
                for port in (
                    balance(f"{room}.heating", "kW", "thermal", way="takes"),
                    balance(f"{room}.cooling", "kW", "thermal", way="gives"),
                    disturbance(f"{room}.gains", "kW", "thermal", default=0.0),
                    observation(f"{room}.temperature", "degC", "thermal", instant=True),
                    observation(f"{room}.mean_temperature", "degC", "thermal"),
                )
            ),
        ),
        states=states,
        step=step,
        stored=lambda state: float(network.capacities[network.capacities > 0] @ masses(state)),
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

    ports = (
        action("electric_power", "kW", "electrical", way="takes"),
        disturbance("cop", "1", default=cop),
        useful,
    )
    return Module(ports=ports, step=step)


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
    )


def _outside(valid: npt.ArrayLike) -> Floats:
    """Return 1 where the temperatures are beyond what a map was measured for, 0 elsewhere."""
    return np.asarray(~np.asarray(valid), dtype=np.float64)


def boiler(parameters: Boiler) -> Module:
    """Return a boiler: ``load`` is an action, ``water`` its temperature; the fuel enters."""
    shape = units(parameters)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        done = parameters.operate(inputs["load"], temperature=inputs["water"])
        return Outcome(
            outputs={"heat": done.heat, "fuel": done.fuel, "efficiency": done.efficiency},
            entered=float(done.fuel.sum()),
            left=float(done.loss.sum()),
            violations={"unmet": done.unmet},
        )

    return Module(
        ports=(
            action("load", shape=shape),
            disturbance("water", "degC", "thermal"),
            observation("heat", "kW", "thermal", way="gives", shape=shape),
            observation("fuel", shape=shape),
            observation("efficiency", "1", "thermal", shape=shape),
        ),
        step=step,
    )


def stratified_tank(
    tank: StratifiedTank,
    *,
    pipes: tuple[str, ...] = (),
    heated_layer: int = 0,
    initial: npt.ArrayLike | None = None,
) -> Module:
    """Return one tank in layers, the top first; one layer is a mixed tank.

    ``heating`` balances a thermal bus and goes into one layer. ``pipes`` name the tank's ports in
    their order: each has ``<name>.flow`` and ``<name>.inlet``, disturbances that links may feed,
    and gives ``<name>.outlet`` and ``<name>.heat``: the heat that the tank takes from a thermal
    bus, below 0 where water carries it out.
    """
    if len(pipes) != len(tank.ports):
        raise ParameterError(
            f"the tank has {len(tank.ports)} ports and {len(pipes)} names for them; give one for "
            "each"
        )
    if not 0 <= heated_layer < tank.layers:
        raise ParameterError(
            f"the heated layer is {heated_layer}; give 0 (top) to {tank.layers - 1}"
        )
    if units(tank):
        raise ParameterError("the tank stands for several units; give each a module of its own")

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        heat = np.zeros(tank.layers)
        heat[heated_layer] = float(inputs["heating"])
        done = tank.step(
            state["temperature"],
            step_hours=step_hours,
            flows=[inputs[f"{name}.flow"] for name in pipes],
            inlets=[inputs[f"{name}.inlet"] for name in pipes],
            heat=heat,
            ambient=inputs["ambient"],
        )
        outputs: dict[str, Floats] = {}
        for name, outlet, power in zip(pipes, done.outlets, done.port_heat, strict=True):
            outputs |= {f"{name}.outlet": outlet, f"{name}.heat": power}
        state = {"temperature": done.temperature}
        return Outcome(state=state, outputs=outputs, left=float(done.loss))

    return Module(
        ports=(
            balance("heating", "kW", "thermal", way="takes"),
            disturbance("ambient", "degC", "thermal", default=20.0),
            observation("temperature", "degC", "thermal", instant=True, shape=(tank.layers,)),
            *(
                port
                for name in pipes
                for port in (
                    disturbance(f"{name}.flow", "kg/s", "thermal", default=0.0),
                    disturbance(f"{name}.inlet", "degC", "thermal"),
                    observation(f"{name}.outlet", "degC", "thermal"),
                    observation(f"{name}.heat", "kW", "thermal", way="takes"),
                )
            ),
        ),
        states=(State("temperature", "degC", initial, (tank.layers,)),),
        step=step,
        stored=lambda state: float(tank.energy(state["temperature"])),
    )
