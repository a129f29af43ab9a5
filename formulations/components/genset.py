r"""A generating set: fuel by power, starts, least load, least times, ramps, reserve.

.. math::
    P_{\min} u_t \le P_t, \quad P_t + r_t \le P_r u_t, \qquad
    \dot F_t = f_0 u_t + f_1 P_t + f_2 P_t^2 + s\,v_t/\Delta t, \qquad
    P_t - P_{t-1} \le \rho^+ h_t u_t + P_r v_t, \quad P_{t-1} - P_t \le \rho^- h_t u_t + P_r w_t

with the state :math:`u`, starts :math:`v`, stops :math:`w` (see ``commitment``) and the time
:math:`h` between the middles of two periods: the ramps bind where the set runs in both. The
fuel is linear, quadratic, or by a table. Sets alike are counted, where the fuel is linear.

Fuel is counted in the unit of ``fuel_slope`` times kW: l, kg, or kWh where the slope is a pure
number; with a heating value it is drawn from a fuel bus in kW.
"""

from dataclasses import replace

import numpy as np

from engiagent.formulations.components.commitment import Running, running
from engiagent.formulations.components.fragment import CAPACITY, OPERATION
from engiagent.formulations.components.known import known_units
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import tables

FUELS = ("l", "kg", "kWh")
"""In which fuel is counted, in the order of the units in the slot file."""
NEEDS_STATE = ("minimum_load", "fuel_no_load", "start_fuel", "fuel_power")


def declare(reader: Reader) -> None:
    """Add the algebra of generating sets."""
    fuel = _fuel(reader)
    reader = replace(
        reader, own={name: slot.counted(FUELS.index(fuel)) for name, slot in reader.slots.items()}
    )
    if reader.given("fuel_slope") == reader.given("fuel_power"):
        raise reader.wrong(
            "its fuel is not given once", expected="fuel_slope, or fuel_power and fuel_rate"
        )
    run = running(reader, NEEDS_STATE)
    rated, name = reader.text("rated_power"), reader.name
    power = f"{name}_power[t]"
    reader.variable("power", "electric power", upper=run.all(rated), of="rated_power")
    run.declare()
    _limits(reader, run)
    _ramps(reader, run)
    _fuel_of(reader, run, fuel)
    reader.terminal(power, run.all(rated), supplies=True)
    if reader.connection("fuel_bus") is not None:
        if fuel != "kWh" and not reader.given("heating_value"):
            raise reader.missing("heating_value", "the fuel bus")
        heat = f"{name}_fuel[t]"
        heat = f"{reader.text('heating_value')}*{heat}" if reader.given("heating_value") else heat
        reader.terminal(heat, None, supplies=False, port="fuel_bus")


def _fuel(reader: Reader) -> str:
    """Return in what fuel is counted, by the unit of the slope or of the table."""
    for slot in ("fuel_slope", "fuel_rate"):
        for unit in known_units(reader.component.parameters.get(slot), reader.around.core):
            place = reader.slots[slot].counts(unit)
            if place is not None:
                return FUELS[place]
    return "l"


def _limits(reader: Reader, run: Running) -> None:
    rated, name = reader.text("rated_power"), reader.name
    reserve = ""
    if reader.given("reserve_max"):
        most = reader.text("reserve_max")
        reader.variable(
            "reserve", "power that can be added at once", upper=run.all(most), of="reserve_max"
        )
        reserve = f" + {name}_reserve[t]"
        if run.on:
            reader.row(
                "reserve_runs",
                f"{name}_reserve[t] <= {run.times(most)}",
                "reserve of what runs",
                CAPACITY,
            )
    if run.on or reserve:
        reader.row(
            "power_max",
            f"{name}_power[t]{reserve} <= {run.times(rated)}",
            "power of what runs",
            CAPACITY,
            of="rated_power",
        )
    if reader.given("minimum_load"):
        least = f"{reader.text('minimum_load')}*{rated}"
        reader.row(
            "power_min",
            f"{name}_power[t] >= {run.times(least)}",
            "least power of what runs",
            OPERATION,
            of="minimum_load",
        )


def _ramps(reader: Reader, run: Running) -> None:
    """Add the limits of change between periods that both run."""
    power = f"{reader.name}_power"
    rated = reader.text("rated_power")
    first = f"t == first({reader.time})"
    before = reader.optional("initial_power")
    span = "dt(t)"
    ways = [way for way in ("up", "down") if reader.given(f"ramp_{way}")]
    if not ways:
        return
    hours = reader.hours()
    if not np.all(hours == hours[0]):
        middles = 0.5 * (hours + np.concatenate((hours[:1], hours[:-1])))
        reader.derived(
            "between", "h", middles, "time between the middles of a period and the one before"
        )
        span = f"{reader.name}_between[t]"
    for way, events, sign in (("up", run.starts, ""), ("down", run.stops, "-")):
        if way not in ways:
            continue
        ramp = reader.text(f"ramp_{way}")
        free = f" + {rated}*{events}" if run.on else ""
        pairs = [(f"{power}[t-1]", f"t != first({reader.time})", "")]
        if before is not None:
            pairs.append((before, first, "_first"))
        for earlier, where, suffix in pairs:
            change = f"{power}[t] - {earlier}" if not sign else f"{earlier} - {power}[t]"
            allowed = run.all(f"{ramp}*{span}")
            reader.row(
                f"ramp_{way}{suffix}",
                f"{change} <= {allowed}{free}",
                f"ramp {way}",
                CAPACITY,
                where=where,
                of=(f"ramp_{way}",),
            )


def _fuel_of(reader: Reader, run: Running, fuel: str) -> None:
    power = f"{reader.name}_power[t]"
    terms = []
    if reader.given("fuel_power"):
        found = tables(reader, "fuel", ("fuel_power", "fuel_rate"))
        xs, ys = found.names
        off = f"(1 - {run.on})"
        terms.append(f"piecewise({power} + {found.first(0)}*{off}, {xs}, {ys})")
        terms.append(f"-{found.first(1)}*{off}")
    else:
        terms.append(f"{reader.text('fuel_slope')}*{power}")
    if reader.given("fuel_no_load"):
        terms.append(run.times(reader.text("fuel_no_load")))
    if reader.given("fuel_quadratic"):
        terms.append(f"{reader.text('fuel_quadratic')}*{power}**2")
    if reader.given("start_fuel"):
        terms.append(f"{reader.text('start_fuel')}*{run.starts}/dt(t)")
    bent = reader.given("fuel_power") or reader.given("fuel_quadratic")
    if bent and run.count:
        raise reader.wrong(
            "sets alike are counted only where the fuel is linear",
            expected="fuel_slope and fuel_no_load, or one component for each",
        )
    text = " + ".join(terms).replace("+ -", "- ")
    reader.expression("fuel", text, "fuel")
    if reader.given("emission_factor"):
        emitted = f"{reader.text('emission_factor')}*{reader.name}_fuel[t]"
        reader.expression("emissions", emitted, "carbon dioxide")
