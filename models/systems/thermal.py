"""Thermal units as modules: buildings, tanks, ice, heat pumps, chillers, boilers, fans and pumps.

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
from engiagent.models.hvac.turbomachines import PartLoadFan, SystemCurve, Turbomachine
from engiagent.models.ranges import Floats, ParameterError, units
from engiagent.models.storage.ice_tank import IceTankCurves
from engiagent.models.storage.mixed_tank import Inflow, MixedTank
from engiagent.models.storage.stratified_tank import StratifiedTank
from engiagent.models.systems.module import (
    Contents,
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
    one, other = network.ends
    felt = np.array([not link.one_way for link in network.links], dtype=bool)

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
        # Among nodes the flows cancel; what is left runs to the boundaries.
        lost = done.flow[(one < len(names)) & felt].sum() - done.flow[other < len(names)].sum()
        return Outcome(
            state={s.name: found[s.name.removesuffix(".temperature")] for s in states},
            outputs={f"{room}.mean_temperature": mean[room] for room in rooms},
            entered={"energy": sum(float(inputs[f"{room}.gains"]) for room in rooms)},
            left={"energy": float(lost)},
        )

    return Module(
        ports=(
            *(disturbance(name, "degC", "thermal") for name in network.boundaries),
            *(
                port
                for room in rooms
                for port in (
                    balance(f"{room}.heating", "thermal", "takes"),
                    balance(f"{room}.cooling", "thermal", "gives"),
                    disturbance(f"{room}.gains", "kW", "thermal", default=0.0),
                    observation(f"{room}.temperature", "degC", "thermal", instant=True),
                    observation(f"{room}.mean_temperature", "degC", "thermal"),
                )
            ),
        ),
        states=states,
        step=step,
        stored=lambda state: {
            "energy": float(network.capacities[network.capacities > 0] @ masses(state))
        },
    )


def heater(electric_power_max: float = np.inf, cop: float = 1.0) -> Module:
    """Return a heater or heat pump: ``electric_power`` is an action, ``cop`` a disturbance.

    What the heat exceeds the electric power by enters from the ambient.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        electric = inputs["electric_power"]
        heat = inputs["cop"] * electric
        return Outcome(
            outputs={"heat": heat},
            entered={"energy": float(above(heat, electric))},
            left={"energy": float(above(electric, heat))},
            violations=_power_limits(electric, electric_power_max),
        )

    return Module(
        ports=(*_electric(cop), observation("heat", "kW", "thermal", way="gives")), step=step
    )


def cooler(electric_power_max: float = np.inf, cop: float = 1.0) -> Module:
    """Return a cooler: ``electric_power`` is an action; the cooling leaves with it."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        electric = inputs["electric_power"]
        cooling = inputs["cop"] * electric
        return Outcome(
            outputs={"cooling": cooling},
            left={"energy": float(cooling + electric)},
            violations=_power_limits(electric, electric_power_max),
        )

    return Module(
        ports=(*_electric(cop), observation("cooling", "kW", "thermal", way="takes")), step=step
    )


def _electric(cop: float) -> tuple[Port, ...]:
    return (
        action("electric_power", domain="electrical", way="takes"),
        disturbance("cop", "1", "information", default=cop),
    )


def _power_limits(power: Floats, limit: float) -> dict[str, Floats]:
    return {"electric_power": above(power, limit), "negative_power": above(-power)}


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
            entered={"energy": 0.0 if source_bus else float(done.source_heat.sum())},
            left={"energy": float(done.loss.sum())},
            violations={
                "unmet": done.unmet,
                "out_of_map": _outside(pump.cop_map.valid(source, sink)),
            },
        )

    way: Way | None = "takes" if source_bus else None
    return Module(
        ports=(
            action("load", shape=shape),
            disturbance("source", "degC", "thermal"),
            disturbance("sink", "degC", "thermal"),
            observation("heat", "kW", "thermal", way="gives", shape=shape),
            observation("electric_power", "kW", "electrical", way="takes", shape=shape),
            observation("source_heat", "kW", "thermal", way=way, shape=shape),
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
            left={"energy": float(done.loss.sum()) + outside},
            violations={
                "unmet": done.unmet,
                "out_of_map": _outside(fits & parameters.eir_curve.valid(leaving, entering)),
            },
        )

    way: Way | None = "gives" if condenser_bus else None
    return Module(
        ports=(
            action("load", shape=shape),
            disturbance("leaving", "degC", "thermal"),
            disturbance("entering", "degC", "thermal"),
            observation("cooling", "kW", "thermal", way="takes", shape=shape),
            observation("electric_power", "kW", "electrical", way="takes", shape=shape),
            observation("heat_rejected", "kW", "thermal", way=way, shape=shape),
            observation("part_load_ratio", "1", "thermal", shape=shape),
        ),
        step=step,
    )


def boiler(parameters: Boiler) -> Module:
    """Return a boiler: ``load`` is an action, ``water`` its temperature; the fuel enters."""
    shape = units(parameters)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        done = parameters.operate(inputs["load"], temperature=inputs["water"])
        return Outcome(
            outputs={"heat": done.heat, "fuel": done.fuel, "efficiency": done.efficiency},
            entered={"energy": float(done.fuel.sum())},
            left={"energy": float(done.loss.sum())},
            violations={"unmet": done.unmet},
        )

    return Module(
        ports=(
            action("load", shape=shape),
            disturbance("water", "degC", "thermal"),
            observation("heat", "kW", "thermal", way="gives", shape=shape),
            observation("fuel", "kW", "fuel", shape=shape),
            observation("efficiency", "1", "thermal", shape=shape),
        ),
        step=step,
    )


def _outside(valid: npt.ArrayLike) -> Floats:
    """Return 1 where the temperatures are beyond what a map was measured for, 0 elsewhere."""
    return np.asarray(~np.asarray(valid), dtype=np.float64)


def mixed_tank(tank: MixedTank, initial: npt.ArrayLike | None = None) -> Module:
    """Return a mixed tank: ``heating`` and ``extraction`` balance a thermal bus each.

    ``draw`` of warm water, replaced by ``cold`` water, is a disturbance; its heat leaves.
    """
    shape = units(tank)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        draw = inputs["draw"]
        done = tank.step(
            state["temperature"],
            step_hours=step_hours,
            heat=inputs["heating"] - inputs["extraction"],
            ambient=np.broadcast_to(inputs["ambient"], shape),
            inflows=(Inflow(flow=draw, temperature=np.broadcast_to(inputs["cold"], shape)),),
        )
        return Outcome(
            state={"temperature": done.temperature},
            outputs={"mean_temperature": done.mean_temperature},
            entered={"water": float(draw.sum())},
            left={
                "energy": float(done.loss.sum() - done.inflow_heat.sum()),
                "water": float(draw.sum()),
            },
            violations={"temperature": tank.violations(done.temperature)},
        )

    return Module(
        ports=(
            balance("heating", "thermal", "takes", shape=shape),
            balance("extraction", "thermal", "gives", shape=shape),
            disturbance("draw", "kg/s", "water", default=0.0, shape=shape),
            disturbance("cold", "degC", "thermal", default=10.0),
            disturbance("ambient", "degC", "thermal", default=20.0),
            observation("temperature", "degC", "thermal", instant=True, shape=shape),
            observation("mean_temperature", "degC", "thermal", shape=shape),
        ),
        states=(State("temperature", "degC", initial, shape),),
        step=step,
        stored=lambda state: {"energy": float(tank.energy(state["temperature"]).sum())},
    )


def stratified_tank(
    tank: StratifiedTank,
    *,
    pipes: tuple[str, ...] = (),
    exchangers: tuple[str, ...] = (),
    heated_layer: int = 0,
    initial: npt.ArrayLike | None = None,
) -> Module:
    """Return one tank in layers, the top first.

    ``heating`` balances a thermal bus and goes into one layer. ``pipes`` and ``exchangers`` name
    the tank's ports and exchangers in their order: each has ``<name>.flow`` and ``<name>.inlet``,
    disturbances that links may feed, and gives ``<name>.outlet`` and ``<name>.heat``: the heat that
    the tank takes from a thermal bus, below 0 where water carries it out.
    """
    for names, parts, what in (
        (pipes, tank.ports, "ports"),
        (exchangers, tank.exchangers, "exchangers"),
    ):
        if len(names) != len(parts):
            raise ParameterError(
                f"the tank has {len(parts)} {what} and {len(names)} names for them; give one for "
                "each"
            )
    if not 0 <= heated_layer < tank.layers:
        raise ParameterError(
            f"the heated layer is {heated_layer}; give 0 (top) to {tank.layers - 1}"
        )
    if units(tank):
        raise ParameterError("the tank stands for several units; give each a module of its own")
    both = (*pipes, *exchangers)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        heat = np.zeros(tank.layers)
        heat[heated_layer] = float(inputs["heating"])
        done = tank.step(
            state["temperature"],
            step_hours=step_hours,
            flows=[inputs[f"{name}.flow"] for name in pipes],
            inlets=[inputs[f"{name}.inlet"] for name in pipes],
            exchanger_flows=[inputs[f"{name}.flow"] for name in exchangers],
            exchanger_inlets=[inputs[f"{name}.inlet"] for name in exchangers],
            heat=heat,
            ambient=inputs["ambient"],
        )
        outlets = zip(both, (*done.outlets, *done.exchanger_outlets), strict=True)
        heats = zip(both, (*done.port_heat, *done.exchanger_heat), strict=True)
        return Outcome(
            state={"temperature": done.temperature},
            outputs={f"{name}.outlet": value for name, value in outlets}
            | {f"{name}.heat": value for name, value in heats},
            left={"energy": float(done.loss)},
        )

    return Module(
        ports=(
            balance("heating", "thermal", "takes"),
            disturbance("ambient", "degC", "thermal", default=20.0),
            observation("temperature", "degC", "thermal", instant=True, shape=(tank.layers,)),
            *(
                port
                for name in both
                for port in (
                    disturbance(f"{name}.flow", "kg/s", "water", default=0.0),
                    disturbance(f"{name}.inlet", "degC", "thermal"),
                    observation(f"{name}.outlet", "degC", "thermal"),
                    observation(f"{name}.heat", "kW", "thermal", way="takes"),
                )
            ),
        ),
        states=(State("temperature", "degC", initial, (tank.layers,)),),
        step=step,
        stored=lambda state: {"energy": float(tank.energy(state["temperature"]))},
    )


def ice_tank(tank: IceTankCurves, initial: npt.ArrayLike | None = None) -> Module:
    """Return ice storage by curves: ``charge`` and ``discharge`` are actions.

    To freeze, the store gives heat to a thermal bus; to melt, it takes heat from one. What is
    stored is cold, so that its heat counts below 0. The limits of the curves follow from
    ``charge_difference`` and ``discharge_difference``, mean temperature differences of the brine.
    """
    shape = units(tank)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        charge, discharge, energy = inputs["charge"], inputs["discharge"], state["energy"]
        done = tank.step(energy, charge=charge, discharge=discharge, step_hours=step_hours)
        beyond = tank.violations(
            energy,
            charge=charge,
            discharge=discharge,
            charge_difference=inputs["charge_difference"],
            discharge_difference=inputs["discharge_difference"],
        )
        # The content counts at the end of the period, the rates by that at its start.
        after = tank.violations(
            done.energy, charge=0.0, discharge=0.0, charge_difference=0.0, discharge_difference=0.0
        )
        return Outcome(
            state={"energy": done.energy},
            entered={"energy": float(done.gain.sum())},
            violations={**beyond, "energy": after["energy"]},
        )

    def stored(state: Values) -> Contents:
        return {"energy": -float(state["energy"].sum())}

    return Module(
        ports=(
            action("charge", domain="thermal", way="gives", default=0.0, shape=shape),
            action("discharge", domain="thermal", way="takes", default=0.0, shape=shape),
            disturbance("charge_difference", "K", "thermal", default=5.0),
            disturbance("discharge_difference", "K", "thermal", default=5.0),
            observation("energy", "kWh", "thermal", instant=True, shape=shape),
        ),
        states=(State("energy", "kWh", initial, shape),),
        step=step,
        stored=stored,
    )


def fan(parameters: PartLoadFan) -> Module:
    """Return a fan: ``flow`` is an action; its ``heat`` goes to a thermal bus, the rest leaves."""
    shape = units(parameters)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        power, heat = parameters.power(inputs["flow"]), parameters.heat(inputs["flow"])
        return Outcome(
            outputs={"electric_power": power, "heat": heat},
            left={"energy": float((power - heat).sum())},
            violations={"flow": above(inputs["flow"], parameters.rated_flow)},
        )

    return Module(
        ports=(
            action("flow", "kg/s", shape=shape),
            observation("electric_power", "kW", "electrical", way="takes", shape=shape),
            observation("heat", "kW", "thermal", way="gives", shape=shape),
        ),
        step=step,
    )


def pump(machine: Turbomachine, system: SystemCurve) -> Module:
    """Return a fan or pump in its system: ``speed`` is an action, 0 for standing."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        speed = inputs["speed"]
        if speed == 0.0:
            return Outcome(
                outputs=dict.fromkeys(("flow", "pressure", "electric_power"), np.zeros(()))
            )
        flow = machine.operating_flow(system, speed)
        power = machine.electric_power(flow, speed)
        return Outcome(
            outputs={
                "flow": flow,
                "pressure": machine.pressure_rise(flow, speed),
                "electric_power": power,
            },
            left={"energy": float(power)},
            violations={
                "speed": above(speed, 1.0),
                "slow": above(machine.minimum_speed, speed),
                "motor": above(machine.shaft_power(flow, speed), machine.motor_power),
            },
        )

    return Module(
        ports=(
            action("speed", "1"),
            observation("flow", "m3/s", "water"),
            observation("pressure", "kPa", "water"),
            observation("electric_power", "kW", "electrical", way="takes"),
        ),
        step=step,
    )
