"""Machines for heat and cold as an optimiser sees them; see ``partload`` for what they share."""

from typing import Final

import numpy as np

from engiagent.formulations.components.fragment import CAPACITY
from engiagent.formulations.components.known import known_values
from engiagent.formulations.components.partload import (
    Machine,
    Shape,
    by_performance,
    by_polynomial,
    chords,
    limited,
    machine,
    polynomial,
    shaped,
)
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.storage import port
from engiagent.formulations.components.tables import coefficients
from engiagent.models.hvac.fluids import SPECIFIC_HEAT, approach

KELVIN: Final = "273.15"
PERFORMANCES: Final = ("cop", "carnot_fraction", "cop_curve")
# Where YorkCalc ends.
LARGEST_RATIO: Final = 8.0
LARGEST_RANGE: Final = 22.2


# -- converters -----------------------------------------------------------------------------------


def heater(reader: Reader) -> None:
    r"""Add a heater or a cooler: electric power to heat, or to heat taken away, by a COP.

    .. math:: 0 \le P_t \le P^{\max}_t, \qquad \dot Q_t = \mathrm{COP}_t P_t

    The heat goes to the zone that the connection ``zone`` names.
    """
    check_zone(reader)
    output = "heat" if "heat" in reader.known.quantities else "cooling"
    power = reader.exchange(
        "electric_power", "electric power", "electric_power_max", supplies=False
    )
    cop = reader.optional("cop")
    reader.expression(output, power if cop is None else f"{cop}*{power}", output)


cooler = heater


def emitter(reader: Reader) -> None:
    r"""Add a radiator or a cooling coil: power from a bus of heat or cold to a zone.

    .. math:: 0 \le \dot Q_t \le \dot Q^{\max}_t
    """
    check_zone(reader)
    bus = port(reader)
    series = "heat" if bus == "heat_bus" else "cooling"
    reader.exchange(series, series, "power_max", supplies=False, port=bus)


def check_zone(reader: Reader) -> None:
    """Refuse a zone that does not exist or has another time set."""
    if reader.connection("zone") is None:
        return
    zone = reader.neighbour("zone", "thermal_zone", "it is connected to a zone that does not exist")
    if zone.index != reader.component.index:
        message = f"it has another time set than the zone {zone.name}"
        raise reader.wrong(message, str(reader.component.index), str(zone.index))


# -- boilers, chillers, heat pumps ----------------------------------------------------------------


def boiler(reader: Reader) -> None:
    r"""Add a boiler, or several alike: fuel in, heat out; electricity is a fuel too.

    .. math:: \dot F_t = \frac{\dot Q_t}{\eta_r\,f(\dot Q_t/Y, T_w)}

    with the factor :math:`f` of the efficiency by part load and water temperature, 1 unless given
    by a curve or, for the fuel itself, by a table. With a least part load it switches.
    """
    if reader.connection("fuel_bus") is not None and reader.connection("bus") is not None:
        raise reader.wrong("it takes fuel from two buses; give fuel_bus, or bus when electric")

    def curve() -> Shape:
        if not reader.given("water_temperature"):
            raise reader.missing("water_temperature", "the curve")
        slots = ("efficiency_curve", "water_temperature")
        water = plain(reader.text(slots[1]))
        return by_performance(
            reader, lambda x: surface(reader, slots[0], x, water), slots, by_period=True
        )

    capacity, efficiency = reader.text("rated_capacity"), reader.text("rated_efficiency")
    full = f"{capacity}/{efficiency}"
    kind = Machine("heat", "fuel", capacity, full, "heat", performance=efficiency)
    built = machine(reader, kind, shaped(reader, "efficiency_curve", curve))
    bus = "bus" if reader.connection("bus") is not None else "fuel_bus"
    reader.terminal(f"{reader.name}_fuel[t]", built.input_limit, supplies=False, port=bus)
    reader.terminal(f"{reader.name}_heat[t]", built.output_limit, supplies=True, port="heat_bus")


def chiller(reader: Reader) -> None:
    r"""Add a chiller, or several alike: electric power in, cooling out, heat to the condenser.

    .. math::
        Y_t = \dot Q_r\,f_{cap}(T_l, T_e), \qquad
        P_t = Y_t\,\frac{f_{eir}(T_l, T_e)}{\mathrm{COP}_r}\,
        f_{plr}\!\left(\frac{\dot Q_t}{Y_t}\right), \qquad \dot Q^{rej}_t = \dot Q_t + \kappa P_t

    with the curves of EnergyPlus by the temperatures of leaving chilled and entering condenser
    water (or outdoor air), held at the ends of the ranges in which they were fitted. A plan keeps
    to the range of part load: it switches the machine off where the simulation would let it cycle.
    """
    name, slot = reader.name, "part_load_curve"
    capacity, power = _chiller_ratings(reader)
    shape = shaped(reader, slot, lambda: by_polynomial(reader, slot))
    cop = None if reader.given("eir_curve") else reader.text("rated_cop")
    kind = Machine("cooling", "electric_power", capacity, power, "cooling", performance=cop)
    built = machine(reader, kind, shape)
    share = reader.optional("heat_to_condenser")
    taken = f"{share}*{name}_electric_power[t]" if share else f"{name}_electric_power[t]"
    reader.expression("heat_rejected", f"{name}_cooling[t] + {taken}", "heat to the condenser")
    limited(reader, built.run.times)
    rejected = None if built.input_limit is None else f"{built.output_limit} + {built.input_limit}"
    reader.terminal(f"{name}_electric_power[t]", built.input_limit, supplies=False)
    reader.terminal(f"{name}_cooling[t]", built.output_limit, supplies=True, port="cooling_bus")
    reader.terminal(f"{name}_heat_rejected[t]", rejected, supplies=True, port="heat_bus")


def _chiller_ratings(reader: Reader) -> tuple[str, str]:
    """Return capacity and full-load power in period ``t``."""
    leaving, entering = (
        _held(reader, f"{side}_range", plain(reader.optional(f"{side}_temperature") or usual))
        for side, usual in (("leaving", "7[degC]"), ("entering", "29[degC]"))
    )
    slots = ("leaving_temperature", "entering_temperature")
    capacity = reader.text("rated_capacity")
    if reader.given("capacity_curve"):
        text = f"{capacity}*{surface(reader, 'capacity_curve', leaving, entering)}"
        of = ("rated_capacity", *slots)
        capacity = reader.derived("capacity", "kW", text, "largest cooling", of=of)
    power = f"{capacity}/{reader.text('rated_cop')}"
    if reader.given("eir_curve"):
        text, words = surface(reader, "eir_curve", leaving, entering), "electric power at full load"
        of = ("rated_cop", *slots)
        power = reader.derived("full_load_power", "kW", f"{power}*{text}", words, of=of)
    return capacity, power


def heat_pump(reader: Reader) -> None:
    r"""Add a heat pump: electric power in, heat out, by source, sink and part load.

    .. math::
        P_t = \frac{\dot Q_t}{\mathrm{COP}_t\,m(\dot Q_t/Y_t)} + n P^{standby}, \qquad
        \dot Q^{source}_t = \dot Q_t - (P_t - n P^{standby})

    with a coefficient of performance that is a series, a share of Carnot's, or a curve, and a
    factor :math:`m` by part load (1 unless a curve or a table is given). Each of :math:`n` machines
    alike stands by. With a least part load it switches.
    """

    def curve() -> Shape:
        slot = "modulation_curve"
        terms = coefficients(reader, slot, 1, 6)
        factor = terms[0] if len(terms) == 1 else ""
        return by_performance(
            reader, lambda x: factor or polynomial(terms, x), (slot,), by_period=False
        )

    name, standby = reader.name, reader.optional("standby_power") or ""
    capacity, cop = _pump_ratings(reader)
    full = f"{capacity}/{cop}"
    kind = Machine("heat", "electric_power", capacity, full, "heat", performance=cop)
    built = machine(reader, kind, shaped(reader, "modulation_curve", curve), standby)
    power = f"{name}_electric_power[t]"
    less = f"({power} - {built.run.all(standby)})" if standby else power
    reader.expression("source_heat", f"{name}_heat[t] - {less}", "heat from the source")
    limited(reader, built.run.all)
    reader.terminal(power, built.input_limit, supplies=False)
    reader.terminal(f"{name}_heat[t]", built.output_limit, supplies=True, port="heat_bus")
    reader.terminal(f"{name}_source_heat[t]", built.output_limit, supplies=True, port="cooling_bus")


def _pump_ratings(reader: Reader) -> tuple[str, str]:
    """Return capacity and COP in period ``t``."""
    given = [slot for slot in PERFORMANCES if reader.given(slot)]
    if len(given) != 1:
        found, expected = " and ".join(given) or "none", " or ".join(PERFORMANCES)
        raise reader.wrong("its performance is not given once", found, expected)
    capacity, slots = reader.text("rated_capacity"), ("source_temperature", "sink_temperature")
    if given == ["cop"] and not reader.given("capacity_curve"):
        return capacity, reader.text("cop")
    for slot in slots:
        if not reader.given(slot):
            raise reader.missing(slot, "Carnot and for curves")
    source, sink = (plain(reader.text(slot)) for slot in slots)
    if given == ["cop"]:
        cop = reader.text("cop")
    else:
        if given == ["carnot_fraction"]:
            text = _carnot(reader, source, sink)
        else:
            text = surface(reader, "cop_curve", source, sink)
            text = f"{reader.text('rated_cop')}*{text}" if reader.given("rated_cop") else text
        of = (*given, *slots)
        cop = reader.derived("full_load_cop", "1", text, "COP at full load", of=of)
    if reader.given("capacity_curve"):
        text = f"{capacity}*{surface(reader, 'capacity_curve', source, sink)}"
        of = ("rated_capacity", *slots)
        capacity = reader.derived("capacity", "kW", text, "largest heat", of=of)
    return capacity, cop


def fan(reader: Reader) -> None:
    r"""Add a fan or pump with a drive of variable speed: power by flow, by the affinity laws.

    .. math:: P_t = P_r\,f(\dot m_t/\dot m_r), \qquad
        f(x) = x^3 \text{ unless coefficients are given}

    A polynomial (a nonlinear programme), or replaced by ``segments`` chords, which lie above a
    convex curve by at most :math:`3/4\,P_r/n^2` for the cube. With a least flow it switches.
    """
    least, flow, power = "minimum_flow", reader.text("rated_flow"), reader.text("rated_power")
    kind = Machine("flow", "electric_power", flow, power, "flow", "rated_flow", least)
    shape = by_polynomial(reader, "power_curve", least=least)
    if shape is None and reader.option("segments") is not None:
        shape = chords(reader, lambda x: f"{x}**3", (), least=least)
    shape = shape or Shape(lambda ratio, on: f"({ratio})**3", bends=True, top="1")
    built = machine(reader, kind, shape)
    reader.terminal(f"{reader.name}_electric_power[t]", built.input_limit, supplies=False)


pump = fan


# -- by temperatures ------------------------------------------------------------------------------


def surface(reader: Reader, slot: str, x: str, y: str) -> str:
    r"""Return a biquadratic or bicubic curve of two numbers, given as expressions.

    .. math:: f(x, y) = c_0 + c_1 x + c_2 x^2 + c_3 y + c_4 y^2 + c_5 x y
    """
    c = coefficients(reader, slot, 6, 10)
    if len(c) not in (6, 10):
        raise reader.wrong(f"{slot} has {len(c)} coefficients", expected="6 or 10")
    text = f"{c[0]} + {c[1]}*{x} + {c[2]}*{x}**2 + {c[3]}*{y} + {c[4]}*{y}**2 + {c[5]}*{x}*{y}"
    if len(c) == 10:
        text += f" + {c[6]}*{x}**3 + {c[7]}*{y}**3 + {c[8]}*{x}**2*{y} + {c[9]}*{x}*{y}**2"
    return f"({text})"


def plain(temperature: str) -> str:
    """Return a temperature as a number of degrees Celsius."""
    return f"(({temperature} - 0[degC])/1[K])"


def _held(reader: Reader, slot: str, number: str) -> str:
    """Return a number of degrees Celsius held within the range in a slot, where one is given."""
    if not reader.given(slot):
        return number
    low, high = (plain(end) if "[" in end else end for end in coefficients(reader, slot, 2, 2))
    return f"max({low}, min({number}, {high}))"


def _carnot(reader: Reader, source: str, sink: str) -> str:
    r"""Return a share of Carnot's COP, :math:`\eta\,T_c/\max(T_c - T_e, \Delta_{\min})`."""
    warm, cold = f"({sink} + {KELVIN}", f"({source} + {KELVIN}"
    if reader.given("sink_approach"):
        warm += f" + {reader.text('sink_approach')}/1[K]"
    if reader.given("source_approach"):
        cold += f" - {reader.text('source_approach')}/1[K]"
    lift = f"max({warm}) - {cold}), {reader.text('minimum_lift')}/1[K])"
    return f"{reader.text('carnot_fraction')}*{warm})/{lift}"


# -- cooling towers -------------------------------------------------------------------------------


def cooling_tower(reader: Reader) -> None:
    r"""Add a cooling tower by YorkCalc: heat of a condenser into the air, by the speed of its fan.

    .. math::
        \rho_t = \frac{\dot Q_t}{\dot m_t c_w}, \quad L_t = \frac{\dot m_t}{\dot m_r\,s_t}, \qquad
        T_t = T^{wb}_t + \sum_{jk} a_{jk}(T^{wb}_t)\,\rho_t^j L_t^k \le T^{\max}_t, \qquad
        P_t = P_r s_t^n

    with the speed :math:`s` between :math:`\dot m_t/(8 \dot m_r)`, where the correlation ends, and
    1. A nonlinear programme: less speed is paid for by warmer water.
    """
    name, rated = reader.name, reader.text("rated_water_flow")
    flow = reader.optional("water_flow") or rated
    heat, speed = f"{name}_heat_rejected[t]", f"{name}_speed[t]"
    rate = f"{flow}*{SPECIFIC_HEAT}[kJ/(kg*K)]"
    most, fan_power = f"{LARGEST_RANGE}[K]*{rate}", reader.text("rated_fan_power")
    wet = reader.text("wet_bulb_temperature")
    warmer = _approach(reader, wet, f"({heat}/({rate})/1[K])", f"({flow}/{rated}/{speed})")
    reader.variable("heat_rejected", "heat of the condenser", upper=most)
    reader.variable("speed", "speed of the fan", lower=f"{flow}/{rated}/{LARGEST_RATIO}", upper=1)
    used = f"{fan_power}*{speed}**{_exponent(reader)}"
    reader.expression("electric_power", used, "power of the fan")
    reader.expression("water_temperature", f"{wet} + 1[K]*({warmer})", "leaving water")
    limit = "water_temperature_max"
    if reader.given(limit):
        text = f"{name}_water_temperature[t] <= {reader.text(limit)}"
        reader.row(limit, text, "leaving water", CAPACITY, of=limit)
    reader.terminal(f"{name}_electric_power[t]", fan_power, supplies=False)
    reader.terminal(heat, most, supplies=False, port="heat_bus")


def _approach(reader: Reader, wet: str, cooled: str, ratio: str) -> str:
    """Return the approach [K] by range and ratio of flows, its coefficients as parameters."""
    terms, bulb = [], plain(wet)
    # The coefficients by powers of wet bulb, range and ratio, read off the correlation.
    points = np.array([-1.0, 0.0, 1.0])
    inverse = np.linalg.inv(np.vander(points, 3, increasing=True))
    values = approach(points[:, None, None], points[None, :, None], points[None, None, :])
    table = np.einsum("ia,jb,kc,abc->ijk", inverse, inverse, inverse, values)
    for j in range(3):
        for k in range(3):
            c = table[:, j, k].tolist()
            text = f"{c[0]!r} + {c[1]!r}*{bulb} + {c[2]!r}*{bulb}**2"
            of, words = "wet_bulb_temperature", "coefficient of YorkCalc"
            factors = [reader.derived(f"approach_{j}{k}", "1", text, words, of=of)]
            for base, power in ((cooled, j), (ratio, k)):
                factors += [f"{base}**{power}" if power > 1 else base] * (power > 0)
            terms.append("*".join(factors))
    return " + ".join(terms)


def _exponent(reader: Reader) -> int:
    if not reader.given("fan_exponent"):
        return 3
    given = reader.component.parameters["fan_exponent"]
    found = known_values(given, "1", reader.around.core)
    if len(found) != 1 or found[0] != int(found[0]):
        raise reader.wrong(f"fan_exponent is {given}", expected="1, 2, 3 or 4")
    return int(found[0])
