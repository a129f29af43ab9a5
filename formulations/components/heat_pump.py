r"""A heat pump: electric power in, heat out, by the temperatures of source and sink and part load.

.. math::
    P_t = \frac{\dot Q_t}{\mathrm{COP}_t\,m(\dot Q_t/Y_t)} + n P^{standby}, \qquad
    \dot Q^{source}_t = \dot Q_t - (P_t - n P^{standby})

with a coefficient of performance that is a series, a share of Carnot's, or a curve, and a factor
:math:`m` by part load (1 unless a curve or a table is given). Each of :math:`n` machines
alike stands by. With a least part load it switches.
"""

from engiagent.formulations.components.partload import (
    Machine,
    Shape,
    by_performance,
    limited,
    machine,
    polynomial,
    shaped,
)
from engiagent.formulations.components.reader import Reader
from engiagent.formulations.components.tables import coefficients
from engiagent.formulations.components.temperatures import carnot, plain, surface

TEMPERATURES = ("source_temperature", "sink_temperature")
PERFORMANCES = ("cop", "carnot_fraction", "cop_curve")


def declare(reader: Reader) -> None:
    """Add the algebra of heat pumps."""
    name = reader.name
    capacity, cop = _ratings(reader)
    standby = reader.optional("standby_power") or ""
    full = f"{capacity}/{cop}"
    kind = Machine("heat", "electric_power", capacity, full, "heat", performance=cop)
    shape = shaped(reader, "modulation_curve", lambda: _curve(reader))
    built = machine(reader, kind, shape, standby)
    power = f"{name}_electric_power[t]"
    less = f"({power} - {built.run.all(standby)})" if standby else power
    reader.expression("source_heat", f"{name}_heat[t] - {less}", "heat from the source")
    limited(reader, built.run.all)
    reader.terminal(f"{name}_electric_power[t]", built.input_limit, supplies=False)
    reader.terminal(f"{name}_heat[t]", built.output_limit, supplies=True, port="heat_bus")
    reader.terminal(f"{name}_source_heat[t]", built.output_limit, supplies=True, port="cooling_bus")


def _curve(reader: Reader) -> Shape:
    terms = coefficients(reader, "modulation_curve", 1, 6)
    factor = terms[0] if len(terms) == 1 else ""
    return by_performance(
        reader, lambda x: factor or polynomial(terms, x), ("modulation_curve",), by_period=False
    )


def _ratings(reader: Reader) -> tuple[str, str]:
    """Return capacity and COP in period ``t``, and the parameters they come from."""
    given = [slot for slot in PERFORMANCES if reader.given(slot)]
    if len(given) != 1:
        raise reader.wrong(
            "its performance is not given once",
            " and ".join(given) or "none",
            " or ".join(PERFORMANCES),
        )
    capacity, temperatures = reader.text("rated_capacity"), TEMPERATURES
    if given == ["cop"] and not reader.given("capacity_curve"):
        return capacity, reader.text("cop")
    for slot in temperatures:
        if not reader.given(slot):
            raise reader.wrong(
                f"the parameter {slot} is not given",
                expected="a value in degC, for Carnot and for curves",
            )
    source, sink = (reader.text(slot) for slot in temperatures)
    cop = f"{reader.name}_full_load_cop[t]"
    if given == ["cop"]:
        cop = reader.text("cop")
    else:
        if given == ["carnot_fraction"]:
            text = carnot(reader, source, sink)
        else:
            text = surface(reader, "cop_curve", plain(source), plain(sink))
            text = f"{reader.text('rated_cop')}*{text}" if reader.given("rated_cop") else text
        reader.derived("full_load_cop", "1", text, "COP at full load", of=(*given, *temperatures))
    if reader.given("capacity_curve"):
        text = f"{capacity}*{surface(reader, 'capacity_curve', plain(source), plain(sink))}"
        reader.derived("capacity", "kW", text, "largest heat", of=("rated_capacity", *temperatures))
        capacity = f"{reader.name}_capacity[t]"
    return capacity, cop
