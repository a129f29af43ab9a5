r"""A boiler, or several alike: fuel in, heat out; electricity is a fuel too.

.. math:: \dot F_t = \frac{\dot Q_t}{\eta_r\,f(\dot Q_t/Y, T_w)}

with the factor :math:`f` of the efficiency by part load and water temperature, 1 unless given by a
curve or, for the fuel itself, by a table. With a least part load it switches.
"""

from engiagent.formulations.components.partload import (
    Machine,
    Shape,
    by_performance,
    machine,
    shaped,
)
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.temperatures import plain, surface


def declare(reader: Reader) -> None:
    """Add the algebra of boilers."""
    if reader.connection("fuel_bus") is not None and reader.connection("bus") is not None:
        raise reader.wrong("it takes fuel from two buses; give fuel_bus, or bus when electric")
    capacity, efficiency = reader.text("rated_capacity"), reader.text("rated_efficiency")
    full = f"{capacity}/{efficiency}"
    kind = Machine("heat", "fuel", capacity, full, "heat", performance=efficiency)
    built = machine(reader, kind, shaped(reader, "efficiency_curve", lambda: _curve(reader)))
    port = "bus" if reader.connection("bus") is not None else "fuel_bus"
    reader.terminal(f"{reader.name}_fuel[t]", built.input_limit, supplies=False, port=port)
    reader.terminal(f"{reader.name}_heat[t]", built.output_limit, supplies=True, port="heat_bus")


def _curve(reader: Reader) -> Shape:
    if not reader.given("water_temperature"):
        raise reader.wrong(
            "the parameter water_temperature is not given",
            expected="a value in degC, for the curve",
        )
    water = plain(reader.text("water_temperature"))
    return by_performance(
        reader,
        lambda x: surface(reader, "efficiency_curve", x, water),
        ("efficiency_curve", "water_temperature"),
        by_period=True,
    )
