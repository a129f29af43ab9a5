"""Combined heat and power and generating sets as an optimiser sees them."""

from dataclasses import replace
from typing import Final

import numpy as np

from engiagent.blueprint.elements import SetDef
from engiagent.formulations.components.fragment import CAPACITY, PHYSICS
from engiagent.formulations.components.known import known_units
from engiagent.formulations.components.partload import Running, running
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import Tables, tables
from engiagent.slots import COMPONENTS

EFFICIENCIES: Final = ("load", "electric_efficiency", "thermal_efficiency")
FUELS: Final = {"l": "l/h", "kg": "kg/h", "kWh": "kW"}
"""In which fuel is counted, and how it flows, in the order of the units in the slot file."""


def chp(reader: Reader) -> None:
    r"""Add an engine or back-pressure unit: the power fixes fuel and heat.

    .. math::
        \dot F = \frac{P}{\eta_{el}(P/P_r)}, \qquad \dot Q = \dot F\,\eta_{th}(P/P_r)

    with efficiencies straight between the loads of a table. Fuel and heat are taken at ``segments``
    even steps from the least load to 1 and straight in between; at the steps they are exact. With
    one row in the table the unit runs at full load or stands.
    """
    name, rated = reader.name, reader.text("rated_power")
    found = tables(reader, "load", EFFICIENCIES, fewest=1)
    run, power = running(reader, (), always=True), f"{name}_power[t]"
    outputs, tops = _outputs(reader, found, power, f"(1 - {run.on})")
    reader.variable("power", "electric power", upper=rated, of="rated_power")
    run.declare()
    run.at_most("power", rated, "rated_power", "power of what runs")
    run.at_least("power", f"{found.first(0)}*{rated}", "load", "least power of what runs")
    for series, text in outputs.items():
        reader.expression(series, text, series)
    heat = f"{name}_heat[t]"
    if reader.flag("dump"):
        thrown = reader.variable("dumped", "heat that is thrown away", upper=tops["heat"])
        reader.row("dump", f"{thrown} <= {heat}", "heat thrown away", CAPACITY)
        heat = f"({heat} - {thrown})"
    reader.terminal(power, rated, supplies=True)
    reader.terminal(heat, tops["heat"], supplies=True, port="heat_bus")
    reader.terminal(f"{name}_fuel[t]", tops["fuel"], supplies=False, port="fuel_bus")


def _outputs(
    reader: Reader, found: Tables, power: str, off: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return fuel and heat as expressions, and the largest of each."""
    name, rated = reader.name, reader.text("rated_power")
    load, electric, thermal = found.names
    value = reader.component.parameters["load"]
    if not isinstance(value, str) or (value.startswith("(") and "," not in value.rstrip(",) ")):
        # A single row has nothing between.
        fuel = f"{power}/{found.first(1)}"
        texts = {"fuel": fuel, "heat": f"{fuel}*{found.first(2)}"}
        return texts, {key: text.replace(power, rated) for key, text in texts.items()}
    segments = reader.segments(int(COMPONENTS["chp"].executed_slots["segments"].number or 1))
    over, xs = f"{name}_steps", f"{name}_step_power"
    index, at, first = (f"k in {over}",), f"{xs}[k]/{rated}", f"{found.first(0)}*{rated}"
    reader.added.append(SetDef(name=over, kind="range", start=0, stop=segments))
    even, words = f"{first} + ({rated} - {first})*k/(len({over}) - 1)", "powers at the steps"
    reader.derived("step_power", "kW", even, words, index=index, of="rated_power load")
    texts, tops = {}, {}
    for series, value in (
        ("fuel", f"{xs}[k]/piecewise({at}, {load}, {electric})"),
        ("heat", f"{name}_step_fuel[k]*piecewise({at}, {load}, {thermal})"),
    ):
        ys, words = f"{name}_step_{series}", f"{series} at the steps"
        reader.derived(f"step_{series}", "kW", value, words, index=index, of=EFFICIENCIES)
        low, least = f"{xs}[first({over})]", f"{ys}[first({over})]"
        texts[series] = f"piecewise({power} + {low}*{off}, {xs}, {ys}) - {least}*{off}"
        tops[series] = f"(max({ys}[k] for k in {over}))"
    return texts, tops


def extraction_chp(reader: Reader) -> None:
    r"""Add an extraction-condensing turbine: power and heat within a polygon.

    .. math::
        P^c_t = P_t + \beta \dot Q_t, \qquad \dot F_t = a u_t + b P^c_t + c\,(P^c_t)^2, \\
        P_{\min} u_t \le P^c_t \le P_{\max} u_t, \qquad P_t \ge \sigma \dot Q_t + P_0 u_t, \qquad
        \dot Q_t \le \dot Q_{\max} u_t
    """
    run = running(reader, ("condensing_power_min", "back_pressure_offset", "fuel_no_load"))
    name, most, loss = reader.name, reader.text("condensing_power_max"), reader.text("power_loss")
    slope, offset = reader.text("power_to_heat"), reader.optional("back_pressure_offset")
    power, heat = f"{name}_power[t]", f"{name}_heat[t]"
    # At the corner of full fuel and back pressure the heat is largest.
    corner = f"({most} - {offset})" if offset else most
    bound = reader.optional("heat_max") or f"{corner}/({slope} + {loss})"
    condensing = f"({power} + {loss}*{heat})"
    reader.variable("power", "electric power", upper=most, of="condensing_power_max")
    reader.variable("heat", "heat", upper=bound, of="heat_max")
    run.declare()
    full, slot = f"{condensing} <= {run.times(most)}", "condensing_power_max"
    reader.row("condensing_max", full, "full fuel", CAPACITY, of=slot)
    line = f"{power} >= {slope}*{heat}" + (f" + {run.times(offset)}" if offset else "")
    reader.row("back_pressure", line, "back-pressure line", PHYSICS, of="power_to_heat")
    if reader.given("condensing_power_min"):
        least, slot = run.times(reader.text("condensing_power_min")), "condensing_power_min"
        text = f"{condensing} >= {least}"
        reader.row("condensing_min", text, "least fuel", "Operational Logic", of=slot)
    if run.on and reader.given("heat_max"):
        run.at_most("heat", bound, "heat_max", "heat of what runs")
    reader.expression("fuel", _turbine_fuel(reader, condensing, run.on), "fuel")
    top = f"({_turbine_fuel(reader, most, '1')})"
    reader.terminal(power, most, supplies=True)
    reader.terminal(heat, bound, supplies=True, port="heat_bus")
    reader.terminal(f"{name}_fuel[t]", top, supplies=False, port="fuel_bus")


def _turbine_fuel(reader: Reader, condensing: str, on: str) -> str:
    terms = [f"{reader.text('fuel_slope')}*{condensing}"]
    if reader.given("fuel_no_load"):
        terms.append(f"{reader.text('fuel_no_load')}*{on or '1'}")
    if reader.given("fuel_quadratic"):
        terms.append(f"{reader.text('fuel_quadratic')}*{condensing}**2")
    return " + ".join(terms)


def genset(reader: Reader) -> None:
    r"""Add a generating set: fuel by power, starts, least load, least times, ramps, reserve.

    .. math::
        P_{\min} u_t \le P_t, \quad P_t + r_t \le P_r u_t, \qquad
        \dot F_t = f_0 u_t + f_1 P_t + f_2 P_t^2 + s\,v_t/\Delta t, \\
        P_t - P_{t-1} \le \rho^+ h_t u_t + P_r v_t, \quad
        P_{t-1} - P_t \le \rho^- h_t u_t + P_r w_t

    with the state :math:`u`, starts :math:`v`, stops :math:`w` (see ``commitment``) and the time
    :math:`h` between the middles of two periods: the ramps bind where the set runs in both. The
    fuel is linear, quadratic, or by a table. Sets alike are counted, where the fuel is linear.

    Fuel is counted in the unit of ``fuel_slope`` times kW: l, kg, or kWh where the slope is a pure
    number; with a heating value it is drawn from a fuel bus in kW.
    """
    fuel = _fuel_unit(reader)
    place = [*FUELS].index(fuel)
    reader = replace(reader, own={name: slot.counted(place) for name, slot in reader.slots.items()})
    if reader.given("fuel_slope") == reader.given("fuel_power"):
        expected = "fuel_slope, or fuel_power and fuel_rate"
        raise reader.wrong("its fuel is not given once", expected=expected)
    run = running(reader, ("minimum_load", "fuel_no_load", "start_fuel", "fuel_power"))
    rated, name = reader.text("rated_power"), reader.name
    reader.variable("power", "electric power", upper=run.all(rated), of="rated_power")
    run.declare()
    power = "power"
    if reader.given("reserve_max"):
        most, words = reader.text("reserve_max"), "power that can be added at once"
        reader.variable("reserve", words, upper=run.all(most), of="reserve_max")
        power = f"power[t] + {name}_reserve"
        if run.on:
            run.at_most("reserve", most, "", "reserve of what runs", "reserve_runs")
    if run.on or power != "power":
        run.at_most(power, rated, "rated_power", "power of what runs", "power_max")
    if reader.given("minimum_load"):
        least = f"{reader.text('minimum_load')}*{rated}"
        run.at_least("power", least, "minimum_load", "least power of what runs")
    _ramps(reader, run)
    _fuel(reader, run, FUELS[fuel])
    reader.terminal(f"{name}_power[t]", run.all(rated), supplies=True)
    if reader.connection("fuel_bus") is not None:
        if fuel != "kWh" and not reader.given("heating_value"):
            raise reader.missing("heating_value", "the fuel bus")
        heat = f"{name}_fuel[t]"
        heat = f"{reader.text('heating_value')}*{heat}" if reader.given("heating_value") else heat
        reader.terminal(heat, None, supplies=False, port="fuel_bus")


def _fuel_unit(reader: Reader) -> str:
    """Return in what fuel is counted, by the unit of the slope or of the table."""
    for slot in ("fuel_slope", "fuel_rate"):
        for unit in known_units(reader.component.parameters.get(slot), reader.around.core):
            place = reader.slots[slot].counts(unit)
            if place is not None:
                return [*FUELS][place]
    return "l"


def _ramps(reader: Reader, run: Running) -> None:
    """Add the limits of change between periods that both run."""
    if not any(reader.given(f"ramp_{way}") for way in ("up", "down")):
        return
    power, rated, span = f"{reader.name}_power", reader.text("rated_power"), "dt(t)"
    hours, before = reader.hours(), reader.optional("initial_power")
    if not np.all(hours == hours[0]):
        middles = 0.5 * (hours + np.concatenate((hours[:1], hours[:-1])))
        words = "time between the middles of a period and the one before"
        span = reader.derived("between", "h", middles, words)
    pairs = [(f"{power}[t-1]", f"t != first({reader.time})", "")]
    if before is not None:
        pairs.append((before, f"t == first({reader.time})", "_first"))
    for way, events in (("up", run.starts), ("down", run.stops)):
        slot = f"ramp_{way}"
        if not reader.given(slot):
            continue
        free = f" + {rated}*{events}" if run.on else ""
        allowed = run.all(f"{reader.text(slot)}*{span}")
        for earlier, where, suffix in pairs:
            change = f"{power}[t] - {earlier}" if way == "up" else f"{earlier} - {power}[t]"
            text, words = f"{change} <= {allowed}{free}", f"ramp {way}"
            reader.row(f"{slot}{suffix}", text, words, CAPACITY, where=where, of=slot)


def _fuel(reader: Reader, run: Running, unit: str) -> None:
    power = f"{reader.name}_power[t]"
    if reader.given("fuel_power"):
        found = tables(reader, "fuel", ("fuel_power", "fuel_rate"))
        xs, ys = found.names
        off = f"(1 - {run.on})"
        terms = [f"piecewise({power} + {found.first(0)}*{off}, {xs}, {ys})"]
        terms.append(f"-{found.first(1)}*{off}")
    else:
        terms = [f"{reader.text('fuel_slope')}*{power}"]
    if reader.given("fuel_no_load"):
        terms.append(run.times(reader.text("fuel_no_load")))
    if reader.given("fuel_quadratic"):
        terms.append(f"{reader.text('fuel_quadratic')}*{power}**2")
    if reader.given("start_fuel"):
        terms.append(f"{reader.text('start_fuel')}*{run.starts}/dt(t)")
    if run.count and (reader.given("fuel_power") or reader.given("fuel_quadratic")):
        raise reader.wrong(
            "sets alike are counted only where the fuel is linear",
            expected="fuel_slope and fuel_no_load, or one component for each",
        )
    text = " + ".join(terms).replace("+ -", "- ")
    burnt = reader.expression("fuel", text, "fuel", unit=unit)
    if reader.given("emission_factor"):
        emitted = f"{reader.text('emission_factor')}*{burnt}"
        reader.expression("emissions", emitted, "carbon dioxide")
