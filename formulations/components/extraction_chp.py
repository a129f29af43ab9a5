r"""An extraction-condensing turbine: power and heat within a polygon.

.. math::
    P^c_t = P_t + \beta \dot Q_t, \qquad \dot F_t = a u_t + b P^c_t + c\,(P^c_t)^2, \\
    P_{\min} u_t \le P^c_t \le P_{\max} u_t, \qquad P_t \ge \sigma \dot Q_t + P_0 u_t, \qquad
    \dot Q_t \le \dot Q_{\max} u_t
"""

from engiagent.formulations.components.commitment import running
from engiagent.formulations.components.fragment import CAPACITY, OPERATION, PHYSICS
from engiagent.formulations.components.reader import Reader

NEEDS_STATE = ("condensing_power_min", "back_pressure_offset", "fuel_no_load")


def declare(reader: Reader) -> None:
    """Add the algebra of an extraction turbine."""
    run, name = running(reader, NEEDS_STATE), reader.name
    most, loss = reader.text("condensing_power_max"), reader.text("power_loss")
    slope = reader.text("power_to_heat")
    power, heat = f"{name}_power[t]", f"{name}_heat[t]"
    # At the corner of full fuel and back pressure the heat is largest.
    offset = reader.optional("back_pressure_offset")
    corner = f"({most} - {offset})" if offset else most
    bound = reader.optional("heat_max") or f"{corner}/({slope} + {loss})"
    condensing = f"({power} + {loss}*{heat})"
    reader.variable("power", "electric power", upper=most, of="condensing_power_max")
    reader.variable("heat", "heat", upper=bound, of="heat_max")
    run.declare()
    reader.row(
        "condensing_max",
        f"{condensing} <= {run.times(most)}",
        "full fuel",
        CAPACITY,
        of="condensing_power_max",
    )
    reader.row(
        "back_pressure",
        f"{power} >= {slope}*{heat}" + (f" + {run.times(offset)}" if offset else ""),
        "back-pressure line",
        PHYSICS,
        of="power_to_heat",
    )
    if reader.given("condensing_power_min"):
        least = run.times(reader.text("condensing_power_min"))
        reader.row(
            "condensing_min",
            f"{condensing} >= {least}",
            "least fuel",
            OPERATION,
            of="condensing_power_min",
        )
    if run.on and reader.given("heat_max"):
        reader.row(
            "heat_max",
            f"{heat} <= {run.times(bound)}",
            "heat of what runs",
            CAPACITY,
            of="heat_max",
        )
    reader.expression("fuel", _fuel(reader, condensing, run.on), "fuel")
    top = _fuel(reader, most, "1")
    reader.terminal(power, most, supplies=True)
    reader.terminal(heat, bound, supplies=True, port="heat_bus")
    reader.terminal(f"{name}_fuel[t]", f"({top})", supplies=False, port="fuel_bus")


def _fuel(reader: Reader, condensing: str, on: str) -> str:
    terms = [f"{reader.text('fuel_slope')}*{condensing}"]
    if reader.given("fuel_no_load"):
        terms.append(f"{reader.text('fuel_no_load')}*{on or '1'}")
    if reader.given("fuel_quadratic"):
        terms.append(f"{reader.text('fuel_quadratic')}*{condensing}**2")
    return " + ".join(terms)
