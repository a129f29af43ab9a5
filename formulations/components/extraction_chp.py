r"""An extraction-condensing turbine: power and heat within a polygon.

.. math::
    P^c_t = P_t + \beta \dot Q_t, \qquad \dot F_t = a u_t + b P^c_t + c\,(P^c_t)^2, \\
    P_{\min} u_t \le P^c_t \le P_{\max} u_t, \qquad P_t \ge \sigma \dot Q_t + P_0 u_t, \qquad
    \dot Q_t \le \dot Q_{\max} u_t
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.commitment import running, switching
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.parts import (
    CAPACITY,
    OPERATION,
    PHYSICS,
    currency,
    expression,
    row,
    variable,
)

SLOTS = {
    "condensing_power_max": Slot(
        "kW", required=True, low=0, above=True, meaning="largest power without heat"
    ),
    "condensing_power_min": Slot("kW", low=0, default="0", meaning="least power without heat"),
    "power_loss": Slot("1", required=True, low=0, high=1, meaning="power given up for heat"),
    "power_to_heat": Slot("1", required=True, low=0, meaning="slope of the back-pressure line"),
    "back_pressure_offset": Slot("kW", default="0", meaning="where that line meets no heat"),
    "heat_max": Slot("kW", low=0, above=True, default="no limit", meaning="largest heat"),
    "fuel_slope": Slot("1", required=True, low=0, above=True, meaning="fuel by power without heat"),
    "fuel_no_load": Slot("kW", low=0, default="0", meaning="fuel of the running unit at no power"),
    "fuel_quadratic": Slot("1/kW", low=0, default="0", meaning="fuel by the power squared"),
    **{name: slot for name, slot in switching("EUR").items() if name != "count"},
}
OPTIONS = ("switching",)
CONNECTIONS = ("bus", "heat_bus", "fuel_bus")
NEEDS_STATE = ("condensing_power_min", "back_pressure_offset", "fuel_no_load")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of an extraction turbine."""
    cost = switching(currency(around))["start_cost"]
    reader = Reader(component, around, {**SLOTS, "start_cost": cost}, OPTIONS, CONNECTIONS)
    run, name = running(reader, NEEDS_STATE), reader.name
    most, loss = reader.text("condensing_power_max"), reader.text("power_loss")
    slope = reader.text("power_to_heat")
    power, heat = f"{name}_power[t]", f"{name}_heat[t]"
    # At the corner of full fuel and back pressure the heat is largest.
    offset = reader.optional("back_pressure_offset")
    corner = f"({most} - {offset})" if offset else most
    bound = reader.optional("heat_max") or f"{corner}/({slope} + {loss})"
    condensing = f"({power} + {loss}*{heat})"
    result = (
        variable(
            reader, "power", "kW", "electric power", upper=most, slots=("condensing_power_max",)
        )
        + variable(reader, "heat", "kW", "heat", upper=bound, slots=("heat_max",))
        + run.fragment
        + row(
            reader,
            "condensing_max",
            f"{condensing} <= {run.times(most)}",
            "full fuel",
            CAPACITY,
            slots=("condensing_power_max",),
        )
        + row(
            reader,
            "back_pressure",
            f"{power} >= {slope}*{heat}" + (f" + {run.times(offset)}" if offset else ""),
            "back-pressure line",
            PHYSICS,
            slots=("power_to_heat",),
        )
    )
    if reader.given("condensing_power_min"):
        least = run.times(reader.text("condensing_power_min"))
        result += row(
            reader,
            "condensing_min",
            f"{condensing} >= {least}",
            "least fuel",
            OPERATION,
            slots=("condensing_power_min",),
        )
    if run.on and reader.given("heat_max"):
        result += row(
            reader,
            "heat_max",
            f"{heat} <= {run.times(bound)}",
            "heat of what runs",
            CAPACITY,
            slots=("heat_max",),
        )
    result += expression(reader, "fuel", "kW", _fuel(reader, condensing, run.on), "fuel")
    top = _fuel(reader, most, "1")
    terminals = (
        reader.terminal(power, most, supplies=True)
        + reader.terminal(heat, bound, supplies=True, port="heat_bus")
        + reader.terminal(f"{name}_fuel[t]", f"({top})", supplies=False, port="fuel_bus")
    )
    return result + Fragment(terminals=terminals)


def _fuel(reader: Reader, condensing: str, on: str) -> str:
    terms = [f"{reader.text('fuel_slope')}*{condensing}"]
    if reader.given("fuel_no_load"):
        terms.append(f"{reader.text('fuel_no_load')}*{on or '1'}")
    if reader.given("fuel_quadratic"):
        terms.append(f"{reader.text('fuel_quadratic')}*{condensing}**2")
    return " + ".join(terms)


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="extraction-condensing turbine: power and heat within a polygon",
    quantities={
        "power": "kW",
        "heat": "kW",
        "fuel": "kW",
        "on": "1",
        "start": "1",
        "stop": "1",
        "start_cost": "EUR",
    },
    problem_class="LP; MILP when it switches; QP or MIQP with `fuel_quadratic` in the objective",
    leaves_out="ramps; the temperature of the heat",
    exact_against="chp.ExtractionChp",
)
