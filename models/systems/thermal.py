"""Thermal units as modules: buildings and their air, tanks, heat pumps, chillers, boilers.

A machine is asked for a ``load`` and serves it as far as it goes; what of a load is above its
capacity is ``unmet``. Temperatures that its power depends on are disturbances.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from engiagent.models.buildings import HeatNetwork
from engiagent.models.engines import ExtractionChp, PartLoadChp
from engiagent.models.hvac.curves import Curve
from engiagent.models.hvac.fluids import PartLoadFan, YorkCalcTower, air_heat, mixed_air
from engiagent.models.hvac.machines import Boiler, Chiller, HeatPump
from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.storage import MixedTank
from engiagent.models.systems.system import (
    Domain,
    Module,
    Outcome,
    Port,
    State,
    Values,
    Way,
    action,
    balance,
    clipped,
    disturbance,
    observation,
)

POWER = observation("power", "kW", "electrical", way="gives")
ELECTRIC = observation("electric_power", "kW", "electrical", way="takes")
HEAT = observation("heat", "kW", "thermal", way="gives")
FUEL = observation("fuel", "kW", "fuel", way="takes")


def heat_network(network: HeatNetwork, rooms: tuple[str, ...], driven: Values) -> Module:
    """Return a heat network whose ``rooms``, names of nodes, can be heated, cooled and read.

    Each boundary is a disturbance by its name. Each room has ``heating`` and ``cooling``, which
    balance a thermal bus each, the disturbance ``gains``, the ``temperature`` at the start of the
    period and its ``mean_temperature`` over the period. A room without mass is read as it was at
    the end of the period before. What is ``driven``, as ``office.heating``, is an action with a
    largest power [kW].
    """
    unknown = [room for room in rooms if room not in network.index]
    if unknown:
        known = ", ".join(list(network.index)[:20])
        raise ParameterError(f"there is no node {unknown[0]!r} for a room; known: {known}")
    names, boundaries = [node.name for node in network.nodes], network.boundaries
    heavy = [f"{node.name}.temperature" for node in network.nodes if node.capacity > 0]
    held = {
        f"{node.name}.temperature": node
        for node in network.nodes
        if node.capacity > 0 or node.name in rooms
    }
    capacities = network.capacities[network.capacities > 0]

    def way(room: str, word: str) -> Port:
        name = f"{room}.{word}"
        direction: Way = "takes" if word == "heating" else "gives"
        if name in driven:
            return action(name, "kW", "thermal", way=direction, default=0.0)
        return balance(name, "kW", "thermal", way=direction)

    @cache
    def response(hours: float) -> Floats:
        """Return ends, means and what runs to the boundaries, from masses and inputs at once."""
        d = network.discretise(hours)
        end, mean = (
            np.hstack((d.spread @ one, d.spread @ two + d.direct))
            for one, two in ((d.transition, d.drive), (d.mean_transition, d.mean_drive))
        )
        given = np.zeros((len(boundaries), end.shape[1]))
        given[:, len(heavy) : len(heavy) + len(given)] = np.eye(len(given))
        at = dict(zip([*names, *boundaries], np.vstack((mean, given)), strict=True))
        # Among nodes the flows cancel; what is left runs to the boundaries.
        away = np.zeros(end.shape[1])
        for k in network.links:
            sign = (k.one in names and not k.one_way) - (k.other in names)
            away += sign * k.conductance * (at[k.one] - at[k.other])
        return np.vstack((end, mean, away))

    def masses(state: Values) -> Floats:
        return np.array([state[name] for name in heavy])

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        driving = dict.fromkeys((*boundaries, *names), 0.0)
        driving |= {name: inputs[name] for name in boundaries}
        for room in rooms:
            net = inputs[f"{room}.heating"] - inputs[f"{room}.cooling"] + inputs[f"{room}.gains"]
            driving[room] = net
        acting = np.concatenate((masses(state), [*driving.values()]))
        done = (response(step_hours) @ acting).tolist()
        ends, means = (dict(zip(names, part, strict=False)) for part in (done, done[len(names) :]))
        return Outcome(
            state={name: ends[node.name] for name, node in held.items()},
            outputs={f"{room}.mean_temperature": means[room] for room in rooms},
            entered=sum(inputs[f"{room}.gains"] for room in rooms),
            left=done[-1],
        )

    return Module(
        ports=(
            *(disturbance(name, "degC", "thermal") for name in boundaries),
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
        states=tuple(State(name, "degC", n.initial_temperature) for name, n in held.items()),
        step=step,
        stored=lambda state: float(capacities @ masses(state)),
        possible=_limited(driven),
    )


def _limited(limits: Values) -> Any:
    """Return what clips inputs to largest powers [kW] by name."""
    return lambda state, inputs, hours: {n: clipped(inputs[n], most) for n, most in limits.items()}


def converter(electric_power_max: float = math.inf, *, cooling: bool = False) -> Module:
    """Return a heater or a cooler: ``electric_power`` is an action, ``cop`` a disturbance.

    What the heat exceeds the electric power by enters from the ambient; cooling leaves with it.
    """
    word, sign = ("cooling", 1.0) if cooling else ("heat", -1.0)

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        moved = inputs["cop"] * inputs["electric_power"]
        rest = inputs["electric_power"] + sign * moved
        return Outcome(outputs={word: moved}, entered=max(-rest, 0.0), left=max(rest, 0.0))

    ports = (
        action("electric_power", "kW", "electrical", way="takes"),
        disturbance("cop", "1", default=1.0),
        observation(word, "kW", "thermal", way="takes" if cooling else "gives"),
    )
    return Module(ports=ports, step=step, possible=_limited({"electric_power": electric_power_max}))


def emitter(power_max: float = math.inf, *, cooling: bool = False) -> Module:
    """Return a radiator or coil: its ``power`` goes from a bus of heat to a ``room``.

    With ``cooling`` it is taken from the room and goes to a bus of cold.
    """
    return Module(
        ports=(
            action("power", "kW", "thermal", way="gives" if cooling else "takes", default=0.0),
            observation("room", "kW", "thermal", way="takes" if cooling else "gives"),
        ),
        step=lambda state, inputs, hours: Outcome(outputs={"room": inputs["power"]}),
        possible=_limited({"power": power_max}),
    )


def several(one: Module, count: int, capacity: float) -> Module:
    """Return units alike behind one ``load``: as few run as are enough and share it evenly.

    What stands is asked for nothing. ``capacity`` is that of one, in the unit of the load.
    """
    sums = {port.name for port in one.ports if port.unit in ("kW", "kg/s")}

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        load = inputs["load"]
        fewest = min(max(math.ceil(load / capacity - 1e-9), 1), count)
        for running in range(fewest, count + 1):
            each = one.step(state, {**inputs, "load": load / running}, step_hours)
            if each.unmet <= 1e-9 * capacity:
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
            unmet=running * each.unmet,
        )

    return replace(one, step=step)


def _machine(step: Any, *ports: Port, unit: str = "kW") -> Module:
    """Return a module without state that is asked for a ``load``, at least 0."""
    return Module(
        ports=(action("load", unit), *ports), step=step, possible=_limited({"load": math.inf})
    )


def stated_heat_pump(
    capacity: float, standby_power: float = 0.0, part_load: Curve | None = None
) -> Module:
    """Return a heat pump whose ``cop`` is stated by period.

    ``part_load`` is the share of the power at full load by part-load ratio, the ratio itself where
    it is None.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        heat = clipped(inputs["load"], capacity)
        power = heat / inputs["cop"]
        if part_load is not None and heat > 0:
            power = capacity / inputs["cop"] * float(part_load.at(heat / capacity))
        return Outcome(
            outputs={
                "heat": heat,
                "electric_power": power + standby_power,
                "source_heat": heat - power,
            },
            entered=heat - power,
            left=standby_power,
            unmet=inputs["load"] - heat,
        )

    return _machine(step, disturbance("cop", "1"), *_PUMP)


_PUMP = (HEAT, ELECTRIC, observation("source_heat", "kW", "thermal"))


def heat_pump(pump: HeatPump) -> Module:
    """Return a heat pump by temperatures, ``source`` and ``sink``."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        done = pump.operate(inputs["load"], source=inputs["source"], sink=inputs["sink"])
        heat, power, taken = float(done.heat), float(done.power), float(done.source_heat)
        return Outcome(
            outputs={"heat": heat, "electric_power": power, "source_heat": taken},
            entered=taken,
            left=power + taken - heat,
            unmet=float(done.unmet),
        )

    temperatures = (disturbance(end, "degC", "thermal") for end in ("source", "sink"))
    return _machine(step, *temperatures, *_PUMP)


def chiller(model: Chiller, *, condenser_bus: bool = False) -> Module:
    """Return a chiller by temperatures, ``leaving`` and ``entering``.

    With ``condenser_bus`` the condenser gives its heat to a thermal bus, as to a cooling tower;
    else it leaves to the environment.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        done = model.operate(inputs["load"], leaving=inputs["leaving"], entering=inputs["entering"])
        cold, power, rejected = float(done.cooling), float(done.power), float(done.heat_rejected)
        return Outcome(
            outputs={"cooling": cold, "electric_power": power, "heat_rejected": rejected},
            left=cold + power - (rejected if condenser_bus else 0.0),
            unmet=float(done.unmet),
        )

    temperatures = (disturbance(end, "degC", "thermal") for end in ("leaving", "entering"))
    rejected = observation("heat_rejected", "kW", "thermal", way="gives" if condenser_bus else None)
    cooling = observation("cooling", "kW", "thermal", way="takes")
    return _machine(step, *temperatures, cooling, ELECTRIC, rejected)


def boiler(model: Boiler) -> Module:
    """Return a boiler, ``water`` its temperature."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        done = model.operate(inputs["load"], temperature=inputs["water"])
        heat, fuel = float(done.heat), float(done.fuel)
        outputs = {"heat": heat, "fuel": fuel}
        return Outcome(outputs=outputs, left=fuel - heat, unmet=float(done.unmet))

    return _machine(step, disturbance("water", "degC", "thermal"), HEAT, FUEL)


def engine(chp: PartLoadChp) -> Module:
    """Return an engine that gives heat with its ``power``; below its least it stands."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        asked = inputs["load"]
        power = min(asked, chp.rated_power) if asked >= chp.minimum_power * (1 - 1e-9) else 0.0
        done = chp.output(power)
        heat, fuel = float(done.heat), float(done.fuel)
        return Outcome(
            outputs={"power": power, "heat": heat, "fuel": fuel},
            left=fuel - power - heat,
            unmet=asked - power,
        )

    return _machine(step, POWER, HEAT, FUEL)


def turbine(chp: ExtractionChp) -> Module:
    """Return an extraction turbine: ``load`` and ``heating`` ask for power and heat.

    In its region the heat comes first, and the power is the nearest to the load. Asked for less
    than its least fuel gives, it stands.
    """
    warmest, loss = float(chp.polygon()[:, 0].max()), chp.power_loss
    low, high = chp.condensing_power_min, chp.condensing_power_max

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        power, heat, fuel = inputs["load"], inputs["heating"], 0.0
        if power + heat <= 0 or power + loss * heat < low - 1e-6 * high:
            power = heat = 0.0
        else:
            line = chp.power_to_heat * heat + chp.back_pressure_offset
            power = min(max(power, line, low - loss * heat, 0.0), high - loss * heat)
            fuel = float(chp.fuel(power, heat))
        outputs = {"power": power, "heat": heat, "fuel": fuel}
        return Outcome(outputs=outputs, left=fuel - power - heat)

    ports = (*(action(name, default=0.0) for name in ("load", "heating")), POWER, HEAT, FUEL)
    return Module(ports=ports, step=step, possible=_limited({"load": high, "heating": warmest}))


def fan(model: PartLoadFan, minimum_flow: float = 0.0, domain: Domain = "air") -> Module:
    """Return a fan or pump, of what flows; its flow follows the load, and its power leaves as heat.

    While it runs it gives ``minimum_flow`` of its rated flow at least: at 0 its speed is variable,
    at 1 constant, and :func:`several` of constant speed are stages.
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        asked, rated = inputs["load"], model.rated_flow
        flow = min(max(asked, minimum_flow * rated), rated) if asked > 0 else 0.0
        power = float(model.power(flow))
        outputs = {"flow": flow, "electric_power": power}
        return Outcome(outputs=outputs, left=power, unmet=max(asked - flow, 0.0))

    return _machine(step, observation("flow", "kg/s", domain, way="gives"), ELECTRIC, unit="kg/s")


def cooling_tower(tower: YorkCalcTower) -> Module:
    """Return a cooling tower: ``speed`` is an action; it rejects what its bus leaves to it."""

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        speed, heat, wet = inputs["speed"], inputs["heat_rejected"], inputs["wet_bulb_temperature"]
        water, flow = wet, inputs["water_flow"]
        if speed > 0 and flow > 0 and heat > 0:
            water = float(tower.water_out(heat, wet_bulb=wet, water_flow=flow, speed=speed))
        power = float(tower.fan_power(speed))
        outputs = {"electric_power": power, "water_temperature": water}
        return Outcome(outputs=outputs, left=heat + power)

    return Module(
        ports=(
            balance("heat_rejected", "kW", "thermal", way="takes"),
            action("speed", "1"),
            disturbance("wet_bulb_temperature", "degC", "thermal"),
            disturbance("water_flow", "kg/s", "water", way="takes"),
            ELECTRIC,
            observation("water_temperature", "degC", "thermal"),
        ),
        step=step,
        possible=_limited({"speed": 1.0}),
    )


def tank(
    model: MixedTank, initial: float, limits: Mapping[str, float], *, cold: bool = False
) -> Module:
    """Return a tank of one temperature: ``charge`` and ``discharge`` are actions, with limits.

    ``draw`` is heat of warm water that leaves. Of ``cold`` charging takes heat out of it.
    """
    sign = -1.0 if cold else 1.0

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        draw = inputs["draw"]
        heat = sign * (inputs["charge"] - inputs["discharge"]) - draw
        done = model.step(
            state["temperature"], step_hours=step_hours, heat=heat, ambient=inputs["ambient"]
        )
        return Outcome(state={"temperature": float(done.temperature)}, left=float(done.loss) + draw)

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
        possible=_limited(limits),
    )


NO_SET_POINT = -273.15
"""Of the supply air, where nobody sets it: that which needs the least heat or cold. [degC]"""


def air_handler(
    fan: PartLoadFan, least: float, ends: Sequence[float], coils: Sequence[float], warmest: Values
) -> Module:
    """Return an air handler: its supply temperature and share of outdoor air are actions.

    Its coils, of powers that heat and cool [kW], bring mixed air to the ``set_point`` between two
    ``ends`` [degC] as far as they can. ``least``: flow of the running fan. [kg/s] ``warmest``: by
    the part that blows into a room how far its ``reheat`` goes. [degC]
    """

    def step(state: Values, inputs: Values, step_hours: float) -> Outcome:
        asked = sum(inputs[f"{part}.flow"] for part in warmest)
        total = min(max(asked, least), fan.rated_flow) if asked > 0 else 0.0
        flows = {p: total and total / asked * inputs[f"{p}.flow"] for p in warmest}
        rooms = {part: inputs[f"{part}.room"] for part in warmest}
        whole = sum(flows[part] * rooms[part] for part in warmest)
        back = whole / total if total > 0 else max(rooms.values())
        mixed = float(mixed_air(inputs["outdoor_share"], inputs["outdoor"], back))
        point = inputs["set_point"]
        supply = min(max(mixed if point == NO_SET_POINT else point, ends[0]), ends[1])
        coil = min(max(float(air_heat(total, mixed, supply)), -coils[1]), coils[0])
        if total > 0:
            supply = mixed + coil / float(air_heat(total, 0.0, 1.0))
        done = {"flow": total, "supply_temperature": supply, "mixed_temperature": mixed}
        for part, flow in flows.items():
            top = float(air_heat(flow, supply, warmest[part])) if flow > 0 else 0.0
            reheat = clipped(inputs[f"{part}.reheat"], max(top, 0.0))
            use = float(air_heat(flow, supply, rooms[part]))
            done |= {f"{part}.flow": flow, f"{part}.reheat": reheat}
            done[f"{part}.cooling"] = use - reheat
        fresh, power = float(air_heat(total, back, mixed)), float(fan.power(total))
        done |= {"heating_coil": max(coil, 0.0), "cooling_coil": max(-coil, 0.0)}
        done |= {"cooling": float(air_heat(total, supply, back)), "electric_power": power}
        return Outcome(outputs=done, entered=max(fresh, 0.0), left=power + max(-fresh, 0.0))

    ports = (
        action("set_point", "degC", default=NO_SET_POINT),
        action("outdoor_share", "1", default=0.0),
        disturbance("outdoor", "degC"),
        *(observation(f"{which}_temperature", "degC") for which in ("supply", "mixed")),
        observation("flow", "kg/s", "air", way="gives"),
        observation("cooling"),
        observation("heating_coil", "kW", "thermal", way="takes"),
        observation("cooling_coil", "kW", "thermal", way="gives"),
        ELECTRIC,
        *(
            port
            for part in warmest
            for port in (
                action(f"{part}.flow", "kg/s", "air", way="takes", default=0.0),
                action(f"{part}.reheat", "kW", "thermal", way="takes", default=0.0),
                disturbance(f"{part}.room", "degC"),
                observation(f"{part}.cooling", "kW", "thermal", way="takes"),
            )
        ),
    )
    return Module(ports=ports, step=step)
