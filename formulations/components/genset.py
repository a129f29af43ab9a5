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

import numpy as np

from engiagent.blueprint.document import ComponentDef
from engiagent.blueprint.grammar import Number, parse
from engiagent.errors import EngiagentError
from engiagent.formulations.components.commitment import Running, running, switching
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.parts import (
    CAPACITY,
    OPERATION,
    currency,
    derived,
    expression,
    row,
    variable,
)
from engiagent.formulations.components.tables import tables
from engiagent.formulations.components.thermal_coupling import step_hours
from engiagent.units.unit import Unit, UnitError, parse_unit

FUELS = {"l": ("l/kWh", "kWh/l"), "kg": ("kg/kWh", "kWh/kg"), "kWh": ("1", "1")}
POWER_OF_TABLE = Slot("kW", table=True, low=0, meaning="powers of a table of fuel, from the least")


def slots_of(fuel: str) -> dict[str, Slot]:
    """Return the slots of a set whose fuel is counted in litres, kilograms or kWh."""
    slope, heat = FUELS[fuel]
    rate = "kW" if fuel == "kWh" else f"{fuel}/h"
    square = "1/kW" if fuel == "kWh" else f"{fuel}/(kW**2*h)"
    return {
        "rated_power": Slot("kW", required=True, low=0, above=True, meaning="largest power"),
        "fuel_slope": Slot(slope, low=0, meaning="fuel by power; also in kg/kWh, or a pure number"),
        "fuel_no_load": Slot(
            rate, low=0, default="0", meaning="fuel of the running set at no power"
        ),
        "fuel_quadratic": Slot(square, low=0, default="0", meaning="fuel by the power squared"),
        "fuel_power": POWER_OF_TABLE,
        "fuel_rate": Slot(rate, table=True, low=0, meaning="fuel at these powers"),
        "heating_value": Slot(heat, low=0, above=True, meaning="of the fuel, for a fuel bus"),
        "minimum_load": Slot(
            "1",
            low=0,
            high=1,
            default="0",
            meaning="least power while it runs, over the rated power",
        ),
        "start_fuel": Slot(fuel, low=0, default="0", meaning="fuel of a start"),
        "ramp_up": Slot("kW/h", low=0, above=True, default="no limit", meaning="largest rise"),
        "ramp_down": Slot("kW/h", low=0, above=True, default="no limit", meaning="largest fall"),
        "initial_power": Slot("kW", low=0, meaning="power before the horizon, for the ramps"),
        "reserve_max": Slot("kW", low=0, default="0", meaning="largest spinning reserve"),
        "emission_factor": Slot(f"kg/{fuel}", low=0, meaning="carbon dioxide of the fuel"),
    }


SLOTS = {**slots_of("l"), **switching("EUR")}
OPTIONS = ("switching",)
CONNECTIONS = ("bus", "fuel_bus")
NEEDS_STATE = ("minimum_load", "fuel_no_load", "start_fuel", "fuel_power")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of generating sets."""
    fuel = _fuel(component, around)
    slots = {**slots_of(fuel), **switching(currency(around))}
    reader = Reader(component, around, slots, OPTIONS, CONNECTIONS)
    if reader.given("fuel_slope") == reader.given("fuel_power"):
        raise wrong(
            component,
            "its fuel is not given once",
            expected="fuel_slope, or fuel_power and fuel_rate",
        )
    run = running(reader, NEEDS_STATE)
    rated, name = reader.text("rated_power"), reader.name
    power = f"{name}_power[t]"
    result = (
        variable(
            reader, "power", "kW", "electric power", upper=run.all(rated), slots=("rated_power",)
        )
        + run.fragment
        + _limits(reader, run)
        + _ramps(reader, run)
        + _fuel_of(reader, run, fuel)
    )
    terminals = reader.terminal(power, run.all(rated), supplies=True)
    if reader.connection("fuel_bus") is not None:
        if fuel != "kWh" and not reader.given("heating_value"):
            raise wrong(
                component,
                "the parameter heating_value is not given",
                expected=f"a value in {FUELS[fuel][1]}, for the fuel bus",
            )
        heat = f"{name}_fuel[t]"
        heat = f"{reader.text('heating_value')}*{heat}" if reader.given("heating_value") else heat
        terminals += reader.terminal(heat, None, supplies=False, port="fuel_bus")
    return result + Fragment(terminals=terminals)


def _fuel(component: ComponentDef, around: Surroundings) -> str:
    """Return in what fuel is counted, by the unit of the slope or of the table."""
    for slot, powers in (("fuel_slope", "1/kWh"), ("fuel_rate", "1/h")):
        given = component.parameters.get(slot)
        unit = _unit_of(given, around) if isinstance(given, str) else None
        if unit is None:
            continue
        for fuel in ("l", "kg"):
            if unit.dimension == parse_unit(f"{fuel}*{powers}").dimension:
                return fuel
        if unit.dimension == parse_unit("1" if slot == "fuel_slope" else "kW").dimension:
            return "kWh"
    return "l"


def _unit_of(text: str, around: Surroundings) -> Unit | None:
    """Return the unit of a literal or of a parameter, None when it has none that is known here."""
    parameter = around.parameter(text)
    try:
        if parameter is not None:
            return parse_unit(parameter.unit) if isinstance(parameter.unit, str) else None
        node = parse(text.strip("() ").split(",")[0])
    except (EngiagentError, UnitError):
        return None
    return parse_unit(node.unit) if isinstance(node, Number) and node.unit else None


def _limits(reader: Reader, run: Running) -> Fragment:
    rated, name = reader.text("rated_power"), reader.name
    result, reserve = Fragment(), ""
    if reader.given("reserve_max"):
        most = reader.text("reserve_max")
        result += variable(
            reader,
            "reserve",
            "kW",
            "power that can be added at once",
            upper=run.all(most),
            slots=("reserve_max",),
        )
        reserve = f" + {name}_reserve[t]"
        if run.on:
            result += row(
                reader,
                "reserve_runs",
                f"{name}_reserve[t] <= {run.times(most)}",
                "reserve of what runs",
                CAPACITY,
            )
    if run.on or reserve:
        result += row(
            reader,
            "power_max",
            f"{name}_power[t]{reserve} <= {run.times(rated)}",
            "power of what runs",
            CAPACITY,
            slots=("rated_power",),
        )
    if reader.given("minimum_load"):
        least = f"{reader.text('minimum_load')}*{rated}"
        result += row(
            reader,
            "power_min",
            f"{name}_power[t] >= {run.times(least)}",
            "least power of what runs",
            OPERATION,
            slots=("minimum_load",),
        )
    return result


def _ramps(reader: Reader, run: Running) -> Fragment:
    """Return the limits of change between periods that both run."""
    power, result = f"{reader.name}_power", Fragment()
    rated = reader.text("rated_power")
    first = f"t == first({reader.time})"
    before = reader.optional("initial_power")
    span = "dt(t)"
    ways = [way for way in ("up", "down") if reader.given(f"ramp_{way}")]
    if not ways:
        return result
    hours = step_hours(reader)
    if not np.all(hours == hours[0]):
        middles = 0.5 * (hours + np.concatenate((hours[:1], hours[:-1])))
        result += derived(
            reader,
            "between",
            "h",
            tuple(map(float, middles)),
            "time between the middles of a period and the one before",
            index=(reader.time,),
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
            result += row(
                reader,
                f"ramp_{way}{suffix}",
                f"{change} <= {allowed}{free}",
                f"ramp {way}",
                CAPACITY,
                where=where,
                slots=(f"ramp_{way}",),
            )
    return result


def _fuel_of(reader: Reader, run: Running, fuel: str) -> Fragment:
    power, rate = f"{reader.name}_power[t]", "kW" if fuel == "kWh" else f"{fuel}/h"
    helper, terms = Fragment(), []
    if reader.given("fuel_power"):
        found = tables(reader, "fuel", ("fuel_power", "fuel_rate"))
        helper, (xs, ys) = found.fragment, found.names
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
        raise wrong(
            reader.component,
            "sets alike are counted only where the fuel is linear",
            expected="fuel_slope and fuel_no_load, or one component for each",
        )
    text = " + ".join(terms).replace("+ -", "- ")
    helper += expression(reader, "fuel", rate, text, "fuel")
    if reader.given("emission_factor"):
        emitted = f"{reader.text('emission_factor')}*{reader.name}_fuel[t]"
        helper += expression(reader, "emissions", "kg/h", emitted, "carbon dioxide")
    return helper


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="generating set with a fuel curve; one or several alike",
    quantities={
        "power": "kW",
        "fuel": "l/h",
        "reserve": "kW",
        "emissions": "kg/h",
        "on": "1",
        "start": "1",
        "stop": "1",
        "start_cost": "EUR",
    },
    problem_class="LP; MILP when it switches; MIQP with `fuel_quadratic` in the objective",
    leaves_out="ramps while starting and stopping; for several alike, ramps hold in sum",
    exact_against="genset.Genset",
)
