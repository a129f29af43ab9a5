r"""An engine or back-pressure unit: the power fixes fuel and heat.

.. math::
    \dot F = \frac{P}{\eta_{el}(P/P_r)}, \qquad \dot Q = \dot F\,\eta_{th}(P/P_r)

with efficiencies straight between the loads of a table. Fuel and heat are taken at ``segments``
even steps from the least load to 1 and straight in between; at the steps they are exact. With one
row in the table the unit runs at full load or stands.
"""

from engiagent.blueprint.document import SetDef
from engiagent.formulations.components.commitment import running
from engiagent.formulations.components.fragment import CAPACITY, OPERATION
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import Tables, tables
from engiagent.slots import COMPONENTS

COLUMNS = ("load", "electric_efficiency", "thermal_efficiency")


def declare(reader: Reader) -> None:
    """Add the algebra of a unit whose power fixes its heat."""
    name, rated = reader.name, reader.text("rated_power")
    found = tables(reader, "load", COLUMNS, fewest=1)
    run = running(reader, (), always=True)
    power, off = f"{name}_power[t]", f"(1 - {run.on})"
    outputs, tops = _outputs(reader, found, power, off)
    reader.variable("power", "electric power", upper=rated, of="rated_power")
    run.declare()
    limit = f"{power} <= {run.times(rated)}"
    reader.row("power_max", limit, "power of what runs", CAPACITY, of="rated_power")
    limit = f"{power} >= {run.times(f'{found.first(0)}*{rated}')}"
    reader.row("power_min", limit, "least power of what runs", OPERATION, of="load")
    for series, text in outputs.items():
        reader.expression(series, text, series)
    heat = f"{name}_heat[t]"
    if reader.option("dump", False) is True:
        reader.variable("dumped", "heat that is thrown away", upper=tops["heat"])
        reader.row("dump", f"{name}_dumped[t] <= {heat}", "heat thrown away", CAPACITY)
        heat = f"({heat} - {name}_dumped[t])"
    reader.terminal(power, rated, supplies=True)
    reader.terminal(heat, tops["heat"], supplies=True, port="heat_bus")
    reader.terminal(f"{name}_fuel[t]", tops["fuel"], supplies=False, port="fuel_bus")


def _outputs(
    reader: Reader, found: Tables, power: str, off: str
) -> tuple[dict[str, str], dict[str, str]]:
    """Return helping parameters, fuel and heat as expressions, and the largest of each."""
    name, rated = reader.name, reader.text("rated_power")
    load, electric, thermal = found.names
    if known_single(reader):
        fuel = f"{power}/{found.first(1)}"
        texts = {"fuel": fuel, "heat": f"{fuel}*{found.first(2)}"}
        return texts, {key: text.replace(power, rated) for key, text in texts.items()}
    usual = COMPONENTS["chp"].executed_slots["segments"].number
    segments = reader.segments(int(usual or 1))
    over, xs = f"{name}_steps", f"{name}_step_power"
    index, at = (f"k in {over}",), f"{xs}[k]/{rated}"
    first = f"{found.first(0)}*{rated}"
    efficiency = {
        "fuel": f"{xs}[k]/piecewise({at}, {load}, {electric})",
        "heat": f"{name}_step_fuel[k]*piecewise({at}, {load}, {thermal})",
    }
    reader.added.append(SetDef(name=over, kind="range", start=0, stop=segments))
    even = f"{first} + ({rated} - {first})*k/(len({over}) - 1)"
    reader.derived(
        "step_power", "kW", even, "powers at the steps", index=index, of="rated_power load"
    )
    texts, tops = {}, {}
    for series, value in efficiency.items():
        ys = f"{name}_step_{series}"
        reader.derived(
            f"step_{series}", "kW", value, f"{series} at the steps", index=index, of=COLUMNS
        )
        low, least = f"{xs}[first({over})]", f"{ys}[first({over})]"
        texts[series] = f"piecewise({power} + {low}*{off}, {xs}, {ys}) - {least}*{off}"
        tops[series] = f"(max({ys}[k] for k in {over}))"
    return texts, tops


def known_single(reader: Reader) -> bool:
    """Whether the table has a single row, so that there is nothing between."""
    value = reader.component.parameters["load"]
    return not isinstance(value, str) or (value.startswith("(") and "," not in value.rstrip(",) "))
