r"""Rooms, alone or several that exchange heat, as capacities joined by resistances.

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

The warmest room gains nothing through its walls, so that it can only warm further while
:math:`T < T_a + R\,\dot Q^{\max}` holds for it. Hence no temperature ever exceeds the largest of
all initial temperatures and all :math:`T_{a,i,t} + R_i \dot Q^{\max}_{i,t}`, and likewise for the
coldest room. This holds for the differential equation, hence for the exact scheme, for the
implicit one, and for the explicit one when no step is longer than
:math:`C_i/(1/R_i + \sum_j 1/R_{ij})`. The bounds are a kelvin wider, so that they are never active.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from engiagent.blueprint.elements import ComponentDef, FrozenMap, ParameterDef
from engiagent.errors import EngiagentError
from engiagent.formulations.components.fragment import balance, connection_of
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.storage import port
from engiagent.models.thermal import ThermalNetwork, ThermalZone
from engiagent.slots import Slot

AIR: Final = ("air_handler", "vav_box")
"""Models that cool a zone by air, and heat it where the cooling is negative."""
MARGIN: Final = "1[K]"
MAX_ROOMS: Final = 24
"""Of more rooms bounds are too long as expressions."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Room:
    """A zone of a network."""

    reader: Reader  # its slots
    walls: Mapping[str, str]  # resistances [K/kW] to its neighbours, as expressions
    # the heat [kW] into it in period ``t`` as an expression, walls excepted; empty for none
    heat: str


class Rooms(dict[str, Room]):
    """Zones that walls join, by name in the order of the blueprint."""

    @cached_property
    def step(self) -> tuple[Floats, Floats] | None:
        """Transition [-] and response to heat [K/kW] per period, shape (N, n, n).

        None when a number that they need is declared as missing.
        """
        readers = [room.reader for room in self.values()]
        missing = {p.name for p in readers[0].around.core.parameters if p.status == "missing"}
        for room in self.values():
            slots = [room.reader.component.parameters.get(s) for s in ("capacitance", "resistance")]
            if any(value in missing for value in [*slots, *room.walls.values()]):
                return None
        zones = tuple(
            ThermalZone(
                name=name,
                capacitance=room.reader.number("capacitance"),
                resistance=room.reader.number("resistance")
                if room.reader.given("resistance")
                else float("inf"),
                neighbours={o: room.reader.evaluated(r, "K/kW") for o, r in room.walls.items()},
            )
            for name, room in self.items()
        )
        network = ThermalNetwork(zones)
        different, which = np.unique(readers[0].hours(), return_inverse=True)
        pairs = [network.discretise(float(step), "exact") for step in different]
        transition = np.stack([a for a, _ in pairs])[which]
        return transition, np.stack([b[:, 1:] for _, b in pairs])[which]


def thermal_zone(reader: Reader) -> None:
    """Add a zone; see the module."""
    if reader.given("resistance") != reader.given("ambient_temperature"):
        text = "resistance and ambient_temperature belong together; give both or neither"
        raise reader.wrong(text)
    rooms = _network(reader)
    _temperature(reader, rooms)
    reader.initial("temperature", "initial_temperature", "temperature of {} at the start")
    for series in ("heating", "cooling"):
        _flow(reader, series)
    scheme, walls = reader.scheme(), rooms[reader.name].walls
    if scheme == "exact" and walls:
        text = _coupled(reader, rooms)
    elif scheme == "exact" and reader.given("resistance"):
        text = _exact(reader)
    else:
        text = _euler(reader, walls, "t+1" if scheme == "implicit" else "t")
    reader.row("dynamics", text, "heat balance", of="capacitance resistance")


# -- heating and cooling --------------------------------------------------------------------------


def _serving(reader: Reader, series: str, zone: str | None) -> list[ComponentDef]:
    """Return the units that heat (or cool) a zone, or any zone."""
    model, bus = {"heating": ("heater", "heat_bus"), "cooling": ("cooler", "cooling_bus")}[series]
    return [
        part
        for part in reader.around.core.components
        if (served := connection_of(part, "zone")) is not None
        and zone in (None, served)
        and (
            part.model == model
            or (part.model in AIR and series == "cooling")
            or (part.model == "emitter" and port(Reader(part, reader.around)) == bus)
        )
    ]


def _units(reader: Reader, series: str) -> list[str]:
    """Return the heating (or the cooling) of every unit that serves the zone, as terms."""
    output = "heat" if series == "heating" else "cooling"
    return [f"{unit.name}_{output}[t]" for unit in _serving(reader, series, reader.name)]


def _is_free(reader: Reader, series: str) -> bool:
    """Whether the heating (or the cooling) is a decision of its own."""
    if reader.given(f"{series}_power_max"):
        return True
    served = any(_serving(reader, way, None) for way in ("heating", "cooling"))
    limited = any(
        part.model == "thermal_zone"
        and ("heating_power_max" in part.parameters or "cooling_power_max" in part.parameters)
        for part in reader.around.core.components
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


def _heat(reader: Reader) -> str:
    """Return the net heat [kW] into the zone in period ``t``, walls excepted; empty for none."""
    plus, minus = (
        [f"{reader.name}_{way}[t]"] if _is_free(reader, way) or _units(reader, way) else []
        for way in ("heating", "cooling")
    )
    if reader.given("gains"):
        plus.append(reader.text("gains"))
    return balance(plus, minus) if plus or minus else ""


# -- bounds ---------------------------------------------------------------------------------------


def _temperature(reader: Reader, rooms: Rooms) -> None:
    """Add the temperature with its bounds; as parameters they are evaluated only once."""
    limits: list[str | None] = [None, None]
    known = len(rooms) <= MAX_ROOMS and _steps_are_short(rooms)
    slots = "initial_temperature ambient_temperature resistance"
    note = "maximum principle of the heat balance"
    for place, (word, never, sign) in enumerate(
        (("coldest", "never falls to", "-"), ("warmest", "never reaches", "+"))
    ):
        found = _extreme(rooms, warm=sign == "+") if known else None
        if found is not None:
            words = f"temperature that {{}} {never}"
            text = f"{found} {sign} {MARGIN}"
            limits[place] = reader.derived(word, "degC", text, words, note=note, of=slots, index=())
    reader.variable("temperature", "temperature", lower=limits[0], upper=limits[1])


def _extreme(rooms: Rooms, *, warm: bool) -> str | None:
    """Return the highest (or the lowest) temperature of a network, None where nothing bounds it."""
    function, parts = "max" if warm else "min", []
    for room in rooms.values():
        reader, most = room.reader, _heat_limit(room.reader, warm=warm)
        parts.append(reader.text("initial_temperature"))
        if most is None:
            return None
        if not reader.given("resistance"):
            if most != "0[kW]":
                return None
            continue
        level = reader.text("ambient_temperature")
        if most != "0[kW]":
            level = f"{level} + {reader.text('resistance')}*({most})"
        parts.append(f"{function}({level} for t in {reader.time})")
    return parts[0] if len(parts) == 1 else f"{function}({', '.join(parts)})"


def _heat_limit(reader: Reader, *, warm: bool) -> str | None:
    """Return the largest (or the smallest) heat [kW] into a zone, walls excepted."""
    gains = [reader.text("gains")] if reader.given("gains") else []
    units = _limits(reader, "heating" if warm else "cooling")
    if units is None:
        return None
    found = balance([*gains, *units]) if warm else balance(gains, units)
    return found if gains or units else "0[kW]"


def _limits(reader: Reader, series: str) -> list[str] | None:
    """Return the largest heating (or cooling) [kW] of every source, None without a limit."""
    if _is_free(reader, series):
        return [reader.text(f"{series}_power_max")] if reader.given(f"{series}_power_max") else None
    if any(part.model in AIR for part in _serving(reader, "cooling", reader.name)):
        return None
    limits = []
    for part in _serving(reader, series, reader.name):
        unit = Reader(part, reader.around)
        slot = "power_max" if part.model == "emitter" else "electric_power_max"
        if not unit.given(slot):
            return None
        cop = unit.optional("cop") if part.model != "emitter" else None
        limits.append(unit.text(slot) if cop is None else f"{cop}*{unit.text(slot)}")
    return limits


def _steps_are_short(rooms: Rooms) -> bool:
    """Whether the explicit scheme keeps the bounds; the others always do."""
    if next(iter(rooms.values())).reader.option("scheme", "exact") != "euler":
        return True
    try:
        return all(_step_is_short(room) for room in rooms.values())
    except EngiagentError:
        return False


def _step_is_short(room: Room) -> bool:
    reader, resistances = room.reader, list(room.walls.values())
    if reader.given("resistance"):
        resistances.append(reader.text("resistance"))
    conductance = sum(1.0 / reader.evaluated(text, "K/kW") for text in resistances)
    return bool(reader.hours().max() * conductance <= reader.number("capacitance"))


# -- dynamics -------------------------------------------------------------------------------------


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
                both = f"{walls[name][other]} and {found}"
                raise zone.wrong(f"the wall to {other} has two resistances", found=both)
    networks: dict[str, Rooms] = {}
    for first in zones:
        if first in networks:
            continue
        joined, waiting = set(), [first]
        while waiting:
            name = waiting.pop()
            joined.add(name)
            waiting += walls[name].keys() - joined
        rooms = Rooms((n, Room(zones[n], walls[n], _heat(zones[n]))) for n in zones if n in joined)
        networks |= dict.fromkeys(rooms, rooms)
    return networks


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


def _exact(reader: Reader) -> str:
    """Return the exact step of a zone alone and what is left of a difference after it."""
    name, ambient = f"{reader.name}_temperature", reader.text("ambient_temperature")
    resistance, flow = reader.text("resistance"), _heat(reader)
    text = f"exp(-dt(t)/({resistance}*{reader.text('capacitance')}))"
    words, note = "part of a temperature difference that {} keeps over a step", "exp(-dt/(R*C))"
    keep = reader.derived("decay", "1", text, words, note=note, of="resistance capacitance")
    driven = f" + {resistance}*(1 - {keep})*({flow})" if flow else ""
    return f"{name}[t+1] - {ambient} == {keep}*({name}[t] - {ambient}){driven}"


def _euler(reader: Reader, walls: Mapping[str, str], at: str) -> str:
    """Return the Euler step with the temperatures at ``t`` or at ``t+1``."""
    name = f"{reader.name}_temperature"
    flows = [f"({other}_temperature[{at}] - {name}[{at}])/{r}" for other, r in walls.items()]
    if reader.given("resistance"):
        ambient = reader.text("ambient_temperature")
        flows.insert(0, f"({ambient} - {name}[{at}])/{reader.text('resistance')}")
    if flow := _heat(reader):
        flows.append(flow)
    total = " + ".join(flows) or "0[kW]"
    return f"{name}[t+1] == {name}[t] + dt(t)/{reader.text('capacitance')}*({total})"


def _coupled(reader: Reader, rooms: Rooms) -> str:
    """Return the equation of one room of a network; its numbers are derived parameters.

    Raises InputError when the capacitances and resistances cannot be evaluated without data files.
    """
    name, own = reader.name, f"{reader.name}_temperature"
    transition, response = rooms.step or (None, None)
    row, terms = list(rooms).index(name), []
    for column, (other, part) in enumerate(rooms.items()):
        if other != name:
            factor = _derived(reader, f"{name}_from_{other}", transition, row, column, "1")
            terms.append(f"{factor}*({other}_temperature[t] - {own}[t])")
        # The heat into a room if the zero of the scale lies at the temperature of this one.
        heat = [part.heat] if part.heat else []
        if part.reader.given("resistance"):
            ambient = part.reader.text("ambient_temperature")
            heat.append(f"({ambient} - {own}[t])/{part.reader.text('resistance')}")
        if heat:
            factor = _derived(reader, f"{name}_heat_{other}", response, row, column, "K/kW")
            terms.append(f"{factor}*({' + '.join(heat)})")
    return f"{own}[t+1] == {own}[t] + {' + '.join(terms)}"


def _derived(
    reader: Reader, name: str, matrices: Floats | None, row: int, column: int, unit: str
) -> str:
    """Add an element of the exponential as a parameter, and return it in period ``t``."""
    note = "matrix exponential of the network of heat capacities and resistances"
    values = None if matrices is None else matrices[:, row, column]
    same = values is None or bool(np.all(values == values[0]))
    single = None if values is None else float(values[0])
    parameter = ParameterDef(
        name=name,
        unit=unit,
        index=() if same else (reader.time,),
        value=single if same or values is None else tuple(map(float, values)),
        status="missing" if values is None else None,
        description="element of the matrix exponential of the coupled rooms",
        source_reference=reader.derived_from(note, "capacitance", "resistance"),
    )
    reader.added.append(parameter)
    return name if same else f"{name}[t]"
