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

from engiagent.blueprint.document import (
    ComponentDef,
    ConstraintDef,
    ExpressionDef,
    FrozenMap,
    ParameterDef,
    VariableDef,
)
from engiagent.formulations.components import converters, emitter, thermal_store
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import (
    Fragment,
    Reader,
    Slot,
    Surroundings,
    balance,
    connection_of,
    wrong,
)
from engiagent.formulations.components.thermal_bounds import bounds
from engiagent.formulations.components.thermal_coupling import Room, exact_step

SLOTS = {
    "capacitance": Slot("kWh/K", required=True, meaning="heat that warms it by a kelvin"),
    "resistance": Slot("K/kW", default="no wall", meaning="to the ambient"),
    "initial_temperature": Slot("degC", required=True, meaning="at the start"),
    "ambient_temperature": Slot("degC", series=True, meaning="outside"),
    "gains": Slot("kW", series=True, default="0", meaning="heat of sun and people"),
    "heating_power_max": Slot("kW", series=True, meaning="of a zone without units of its own"),
    "cooling_power_max": Slot("kW", series=True, meaning="of a zone without units of its own"),
}
OPTIONS = ("scheme",)
CONNECTIONS = ("neighbours",)
SCHEMES = ("exact", "euler", "implicit")
AIR = ("air_handler", "vav_box")
"""Models that cool a zone by air, and heat it where the cooling is negative."""


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a zone."""
    reader = read(component, around)
    if reader.given("resistance") != reader.given("ambient_temperature"):
        raise wrong(
            component, "resistance and ambient_temperature belong together; give both or neither"
        )
    rooms = _network(reader)
    heating, cooling = (_flow(reader, series) for series in ("heating", "cooling"))
    return (
        _temperature(reader, rooms)
        + Fragment(constraints=(_initial(reader),))
        + heating
        + cooling
        + _dynamics(reader, rooms)
    )


def read(component: ComponentDef, around: Surroundings) -> Reader:
    """Return the reader of a zone's slots."""
    return Reader(component, around, SLOTS, OPTIONS, CONNECTIONS)


def neighbours(reader: Reader) -> dict[str, str]:
    """Return the zones behind this zone's walls with the resistances [K/kW] as expressions.

    A wall may be given on either side, or on both with the same resistance.

    Raises
    ------
    InputError
        When a neighbour is no other zone of the same time set, or a wall has two resistances.
    """
    walls = _own_walls(reader)
    for part in reader.around.core.components:
        if part.model == "thermal_zone" and part.name != reader.name:
            theirs = _own_walls(read(part, reader.around)).get(reader.name)
            if theirs is not None and walls.setdefault(part.name, theirs) != theirs:
                raise wrong(
                    reader.component,
                    f"the wall to {part.name} has two resistances",
                    found=f"{walls[part.name]} and {theirs}",
                )
    return walls


def _own_walls(reader: Reader) -> dict[str, str]:
    given = FrozenMap(reader.connection("neighbours") or {})
    slot = Reader(
        ComponentDef(name=reader.name, model="thermal_zone", parameters=given),
        reader.around,
        {name: Slot("K/kW") for name in given},
    )
    for name in given:
        zone = reader.around.component(name)
        if zone is None or zone.model != "thermal_zone" or name == reader.name:
            raise wrong(reader.component, "a neighbour is no other zone", found=repr(name))
        if zone.index != reader.component.index:
            raise wrong(reader.component, f"its neighbour {name} has another time set")
    return {name: slot.text(name) for name in given}


def quantity(name: str, series: str) -> str:
    """Return the quantity of a zone's series; a zone called ``zone`` needs no second name."""
    return f"zone.{series}" if name == "zone" else f"zone.{name}.{series}"


def _temperature(reader: Reader, rooms: dict[str, Room]) -> Fragment:
    """Return the temperature with its bounds; as parameters they are evaluated only once."""
    found = bounds(rooms, {name: _heat_limits(room.reader) for name, room in rooms.items()})
    slots = ("initial_temperature", "ambient_temperature", "resistance")
    limits = [
        ParameterDef(
            name=f"{reader.name}_{word}",
            value=expression,
            unit="degC",
            description=f"temperature that {reader.name} {never}",
            source_reference=reader.derived("maximum principle of the heat balance", *slots),
        )
        if expression is not None
        else None
        for word, never, expression in zip(
            ("coldest", "warmest"), ("never falls to", "never reaches"), found, strict=True
        )
    ]
    lower, upper = limits
    variable = VariableDef(
        name=f"{reader.name}_temperature",
        index=(f"i in {reader.instants}",),
        lower=None if lower is None else lower.name,
        upper=None if upper is None else upper.name,
        unit="degC",
        quantity=quantity(reader.name, "temperature"),
        role="state",
        description=f"temperature of {reader.name}",
        source_reference=reader.component.source_reference,
    )
    return Fragment(
        parameters=tuple(limit for limit in limits if limit is not None), variables=(variable,)
    )


def _initial(reader: Reader) -> ConstraintDef:
    return ConstraintDef(
        constraint_id=f"{reader.name}_initial",
        name=f"temperature of {reader.name} at the start",
        expression=f"{reader.name}_temperature[first({reader.instants})] == "
        f"{reader.text('initial_temperature')}",
        category="Physical Laws",
        hard=True,
        source_reference=reader.source("initial_temperature"),
    )


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
            or (
                part.model == "emitter"
                and thermal_store.port(emitter.read(part, reader.around)) == bus
            )
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


def _flow(reader: Reader, series: str) -> Fragment:
    """Return the thermal power that heats or cools the zone; nothing when there is none."""
    name, described = f"{reader.name}_{series}", f"{series} of {reader.name}"
    units = _units(reader, series)
    if _is_free(reader, series):
        if units:
            raise wrong(
                reader.component, f"{series}_power_max is given although units serve the zone"
            )
        return Fragment(
            variables=(
                VariableDef(
                    name=name,
                    index=reader.periods,
                    lower=0,
                    upper=reader.optional(f"{series}_power_max"),
                    unit="kW",
                    quantity=quantity(reader.name, series),
                    role="decision",
                    description=described,
                    source_reference=reader.source(f"{series}_power_max"),
                ),
            )
        )
    if not units:
        return Fragment()
    return Fragment(
        expressions=(
            ExpressionDef(
                name=name,
                index=reader.periods,
                expression=balance(units),
                unit="kW",
                quantity=quantity(reader.name, series),
                description=described,
            ),
        )
    )


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
            most = emitter.read(part, reader.around).optional("power_max")
            if most is None:
                return None
            limits.append(most)
            continue
        unit = converters.read(part, reader.around)
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


def _dynamics(reader: Reader, rooms: dict[str, Room]) -> Fragment:
    scheme = reader.scheme(SCHEMES)
    walls = dict(rooms[reader.name].walls)
    parameters: tuple[ParameterDef, ...] = ()
    if scheme == "exact" and walls:
        parameters, expression = exact_step(rooms, reader.name)
    elif scheme == "exact" and reader.given("resistance"):
        parameters, expression = _exact(reader)
    else:
        expression = _step(reader, walls, "t+1" if scheme == "implicit" else "t")
    return Fragment(
        parameters=parameters,
        constraints=(
            ConstraintDef(
                constraint_id=f"{reader.name}_dynamics",
                name=f"heat balance of {reader.name}",
                forall=reader.periods,
                expression=expression,
                category="Physical Laws",
                hard=True,
                source_reference=reader.source("capacitance", "resistance"),
            ),
        ),
    )


def _network(reader: Reader) -> dict[str, Room]:
    """Return all zones that are joined to this one by walls, in the order of the blueprint."""
    rooms: dict[str, Room] = {}
    waiting = [reader.component]
    while waiting:
        part = read(waiting.pop(), reader.around)
        walls = neighbours(part)
        rooms[part.name] = Room(part, walls, heat(part))
        found = [reader.around.component(name) for name in walls if name not in rooms]
        waiting += [c for c in found if c is not None]
        if part.scheme(SCHEMES) != reader.scheme(SCHEMES):
            raise wrong(reader.component, f"its scheme differs from that of {part.name}")
    return {c.name: rooms[c.name] for c in reader.around.core.components if c.name in rooms}


def _exact(reader: Reader) -> tuple[tuple[ParameterDef, ...], str]:
    """Return the exact step of a zone alone and what is left of a difference after it."""
    name, ambient = f"{reader.name}_temperature", reader.text("ambient_temperature")
    resistance = reader.text("resistance")
    keep = ParameterDef(
        name=f"{reader.name}_decay",
        index=reader.periods,
        value=f"exp(-dt(t)/({resistance}*{reader.text('capacitance')}))",
        unit="1",
        description=f"part of a temperature difference that {reader.name} keeps over a step",
        source_reference=reader.derived("exp(-dt/(R*C))", "resistance", "capacitance"),
    )
    factor, flow = f"{keep.name}[t]", heat(reader)
    driven = f" + {resistance}*(1 - {factor})*({flow})" if flow else ""
    return (keep,), f"{name}[t+1] - {ambient} == {factor}*({name}[t] - {ambient}){driven}"


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


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="room of one capacity, alone or joined to others",
    quantities={"temperature": "degC", "heating": "kW", "cooling": "kW"},
    leaves_out="mass of walls beside that of the room; `rc_network` has any number of nodes",
    exact_against="thermal.ThermalNetwork",
)
