r"""A room, or several that exchange heat, as capacities joined by resistances.

.. math::
    C_i \frac{dT_i}{dt} = \frac{T_{a,i} - T_i}{R_i} + \sum_j \frac{T_j - T_i}{R_{ij}} + \dot Q_i,
    \qquad \dot Q_i = \dot Q_{i,\mathrm{heating}} + \dot Q_{i,\mathrm{gains}}
        - \dot Q_{i,\mathrm{cooling}}

Scheme ``exact`` (inputs held over a step), for a zone alone with :math:`a = e^{-\Delta t/(RC)}`:

.. math:: T_{t+1} - T_{a,t} = a\,(T_t - T_{a,t}) + R\,(1-a)\,\dot Q_t

and for coupled zones with the matrix exponential :math:`A` of the network and the response
:math:`B` to heat, both independent of the scale's zero because only differences occur:

.. math:: T_{i,t+1} = T_{i,t} + \sum_j A_{ij}(T_{j,t} - T_{i,t})
    + \sum_j B_{ij}\Big(\dot Q_{j,t} + \frac{T_{a,j,t} - T_{i,t}}{R_j}\Big)

Scheme ``euler`` takes all flows at the beginning of the step, ``implicit`` at its end.

The heat comes from the heaters whose connection ``zone`` names the zone and goes to its coolers.
Where ``heating_power_max`` (``cooling_power_max``) is given, or no unit of the blueprint serves
any zone, the heating is a decision of its own; a zone that nothing heats has no heating.
"""

from engiagent.blueprint.document import ComponentDef, FrozenMap
from engiagent.formulations.components import thermal_store
from engiagent.formulations.components.fragment import balance, connection_of
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.thermal_bounds import bounds
from engiagent.formulations.components.thermal_coupling import Room, Rooms, exact_step
from engiagent.slots import Slot

AIR = ("air_handler", "vav_box")
"""Models that cool a zone by air, and heat it where the cooling is negative."""


def declare(reader: Reader) -> None:
    """Add the algebra of a zone."""
    if reader.given("resistance") != reader.given("ambient_temperature"):
        raise reader.wrong(
            "resistance and ambient_temperature belong together; give both or neither"
        )
    rooms = _network(reader)
    _temperature(reader, rooms)
    reader.initial("temperature", "initial_temperature", "temperature of {} at the start")
    _flow(reader, "heating")
    _flow(reader, "cooling")
    _dynamics(reader, rooms)


def _own_walls(reader: Reader) -> dict[str, str]:
    given = FrozenMap(reader.connection("neighbours") or {})
    slot = reader.part(given, {name: Slot("K/kW") for name in given})
    for name in given:
        zone = reader.around.component(name)
        if zone is None or zone.model != "thermal_zone" or name == reader.name:
            raise reader.wrong("a neighbour is no other zone", found=repr(name))
        if zone.index != reader.component.index:
            raise reader.wrong(f"its neighbour {name} has another time set")
    return {name: slot.text(name) for name in given}


def _temperature(reader: Reader, rooms: Rooms) -> None:
    """Add the temperature with its bounds; as parameters they are evaluated only once."""
    found = bounds(rooms, {name: _heat_limits(room.reader) for name, room in rooms.items()})
    words = (("coldest", "never falls to"), ("warmest", "never reaches"))
    limits = []
    for (word, never), expression in zip(words, found, strict=True):
        limits.append(None if expression is None else f"{reader.name}_{word}")
        if expression is not None:
            reader.derived(
                word,
                "degC",
                expression,
                f"temperature that {{}} {never}",
                note="maximum principle of the heat balance",
                of="initial_temperature ambient_temperature resistance",
                index=(),
            )
    lower, upper = limits
    reader.variable("temperature", "temperature", lower=lower, upper=upper)


def _serving(reader: Reader, series: str, zone: str | None) -> list[tuple[ComponentDef, str]]:
    """Return the units that heat (or cool) a zone, or any zone, with their series."""
    model, output = {"heating": ("heater", "heat"), "cooling": ("cooler", "cooling")}[series]
    bus = {"heating": "heat_bus", "cooling": "cooling_bus"}[series]
    found = []
    for part in reader.around.core.components:
        served = connection_of(part, "zone")
        if served is None or (zone is not None and served != zone):
            continue
        if (
            part.model == model
            or (part.model in AIR and series == "cooling")
            or (part.model == "emitter" and thermal_store.port(Reader(part, reader.around)) == bus)
        ):
            found.append((part, output))
    return found


def _units(reader: Reader, series: str) -> list[str]:
    """Return the heating (or the cooling) of every unit that serves the zone, as terms."""
    return [f"{c.name}_{out}[t]" for c, out in _serving(reader, series, reader.name)]


def _is_free(reader: Reader, series: str) -> bool:
    """Whether the heating (or the cooling) is a decision of its own."""
    if reader.given(f"{series}_power_max"):
        return True
    parts = reader.around.core.components
    served = any(_serving(reader, way, None) for way in ("heating", "cooling"))
    limited = any(
        part.model == "thermal_zone"
        and ("heating_power_max" in part.parameters or "cooling_power_max" in part.parameters)
        for part in parts
    )
    return series == "heating" and not served and not limited


def _flow(reader: Reader, series: str) -> None:
    """Add the thermal power that heats or cools the zone; nothing when there is none."""
    units, slot = _units(reader, series), f"{series}_power_max"
    free = _is_free(reader, series)
    if free and units:
        raise reader.wrong(f"{slot} is given although units serve the zone")
    if units:
        reader.expression(series, balance(units), series)
    elif free:
        reader.variable(series, series, upper=reader.optional(slot), of=slot)


def heat(reader: Reader) -> str:
    """Return the net heat [kW] into the zone in period ``t``, walls excepted; empty for none."""
    plus = [f"{reader.name}_heating[t]"] if _has(reader, "heating") else []
    minus = [f"{reader.name}_cooling[t]"] if _has(reader, "cooling") else []
    if reader.given("gains"):
        plus.append(reader.text("gains"))
    return balance(plus, minus) if plus or minus else ""


def _has(reader: Reader, series: str) -> bool:
    return _is_free(reader, series) or bool(_units(reader, series))


def _limits(reader: Reader, series: str) -> list[str] | None:
    """Return the largest heating (or cooling) [kW] of every source, None without a limit."""
    if _is_free(reader, series):
        return [reader.text(f"{series}_power_max")] if reader.given(f"{series}_power_max") else None
    limits = []
    if any(part.model in AIR for part, _ in _serving(reader, "cooling", reader.name)):
        return None
    for part, _ in _serving(reader, series, reader.name):
        if part.model == "emitter":
            most = Reader(part, reader.around).optional("power_max")
            if most is None:
                return None
            limits.append(most)
            continue
        unit = Reader(part, reader.around)
        if not unit.given("electric_power_max"):
            return None
        power, cop = unit.text("electric_power_max"), unit.optional("cop")
        limits.append(power if cop is None else f"{cop}*{power}")
    return limits


def _heat_limits(reader: Reader) -> tuple[str | None, str | None]:
    """Return the smallest and the largest heat [kW] into a zone, walls excepted."""
    gains = [reader.text("gains")] if reader.given("gains") else []
    most, least = _limits(reader, "heating"), _limits(reader, "cooling")
    lower = None if least is None else balance(gains, least) if gains or least else "0[kW]"
    upper = None if most is None else balance([*gains, *most]) if gains or most else "0[kW]"
    return lower, upper


def _dynamics(reader: Reader, rooms: Rooms) -> None:
    scheme = reader.scheme()
    walls = dict(rooms[reader.name].walls)
    if scheme == "exact" and walls:
        parameters, text = exact_step(rooms, reader.name)
        reader.added.extend(parameters)
    elif scheme == "exact" and reader.given("resistance"):
        text = _exact(reader)
    else:
        text = _step(reader, walls, "t+1" if scheme == "implicit" else "t")
    reader.row("dynamics", text, "heat balance", of="capacitance resistance")


def _network(reader: Reader) -> Rooms:
    """Return all zones that are joined to this one by walls.

    A wall may be given on either side, or on both with the same resistance. Networks are found
    once, for all zones.

    Raises InputError when a neighbour is no other zone of the same time set, or a wall has two
    resistances.
    """
    around = reader.around
    if "networks" not in around.shared:
        around.shared["networks"] = _networks(
            {c.name: Reader(c, around) for c in around.core.components if c.model == "thermal_zone"}
        )
    rooms: Rooms = around.shared["networks"][reader.name]
    for name, room in rooms.items():
        if room.reader.scheme() != reader.scheme():
            raise reader.wrong(f"its scheme differs from that of {name}")
    return rooms


def _networks(zones: dict[str, Reader]) -> dict[str, Rooms]:
    """Return the network that each zone belongs to."""
    own = {name: _own_walls(zone) for name, zone in zones.items()}
    walls = {name: dict(given) for name, given in own.items()}
    for name, zone in zones.items():
        for other, given in own.items():
            found = given.get(name)
            if found is not None and walls[name].setdefault(other, found) != found:
                raise zone.wrong(
                    f"the wall to {other} has two resistances",
                    found=f"{walls[name][other]} and {found}",
                )
    networks: dict[str, Rooms] = {}
    for first in zones:
        if first in networks:
            continue
        joined, waiting = set(), [first]
        while waiting:
            name = waiting.pop()
            joined.add(name)
            waiting += walls[name].keys() - joined
        rooms = Rooms((n, Room(zones[n], walls[n], heat(zones[n]))) for n in zones if n in joined)
        networks |= dict.fromkeys(rooms, rooms)
    return networks


def _exact(reader: Reader) -> str:
    """Return the exact step of a zone alone and what is left of a difference after it."""
    name, ambient = f"{reader.name}_temperature", reader.text("ambient_temperature")
    resistance = reader.text("resistance")
    reader.derived(
        "decay",
        "1",
        f"exp(-dt(t)/({resistance}*{reader.text('capacitance')}))",
        "part of a temperature difference that {} keeps over a step",
        note="exp(-dt/(R*C))",
        of="resistance capacitance",
    )
    factor, flow = f"{reader.name}_decay[t]", heat(reader)
    driven = f" + {resistance}*(1 - {factor})*({flow})" if flow else ""
    return f"{name}[t+1] - {ambient} == {factor}*({name}[t] - {ambient}){driven}"


def _step(reader: Reader, walls: dict[str, str], at: str) -> str:
    """Return the Euler step with the temperatures at ``t`` or at ``t+1``."""
    name = f"{reader.name}_temperature"
    flows = [f"({other}_temperature[{at}] - {name}[{at}])/{r}" for other, r in walls.items()]
    if reader.given("resistance"):
        ambient = reader.text("ambient_temperature")
        flows.insert(0, f"({ambient} - {name}[{at}])/{reader.text('resistance')}")
    if flow := heat(reader):
        flows.append(flow)
    total = " + ".join(flows) or "0[kW]"
    return f"{name}[t+1] == {name}[t] + dt(t)/{reader.text('capacitance')}*({total})"
