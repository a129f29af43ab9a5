r"""A heat pump: electric power in, heat out, by the temperatures of source and sink and part load.

.. math::
    P_t = \frac{\dot Q_t}{\mathrm{COP}_t\,m(\dot Q_t/Y_t)} + n P^{standby}, \qquad
    \dot Q^{source}_t = \dot Q_t - (P_t - n P^{standby})

with a coefficient of performance that is a series, a share of Carnot's, or a curve, and a factor
:math:`m` by part load (1 unless a curve or a table is given). Each of :math:`n` machines
alike stands by. With a least part load it switches.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.commitment import switching
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings, wrong
from engiagent.formulations.components.partload import (
    LIMITS,
    OPTIONS,
    TABLE,
    Machine,
    Shape,
    by_performance,
    by_table,
    machine,
    polynomial,
    straight,
)
from engiagent.formulations.components.parts import CAPACITY, currency, derived, expression, row
from engiagent.formulations.components.tables import coefficients
from engiagent.formulations.components.temperatures import carnot, plain, surface

SLOTS = {
    "rated_capacity": Slot(
        "kW", required=True, series=True, low=0, above=True, meaning="largest heat, at the rating"
    ),
    "cop": Slot(
        "1",
        series=True,
        low=0,
        above=True,
        high=30,
        meaning="as a number or a series; or by one of the next two",
    ),
    "carnot_fraction": Slot("1", low=0, above=True, high=1, meaning="of the reversible machine"),
    "sink_approach": Slot("K", low=0, default="0", meaning="between refrigerant and sink"),
    "source_approach": Slot("K", low=0, default="0", meaning="between refrigerant and source"),
    "minimum_lift": Slot("K", low=0, above=True, default="10", meaning="least lift that counts"),
    "cop_curve": Slot("1", table=True, meaning="six or ten coefficients over source and sink"),
    "rated_cop": Slot("1", low=0, above=True, default="1", meaning="by which the curve counts"),
    "capacity_curve": Slot(
        "1",
        table=True,
        default="1",
        meaning="six or ten coefficients, factor on the rated capacity",
    ),
    "source_temperature": Slot("degC", series=True, meaning="of air or brine"),
    "sink_temperature": Slot("degC", series=True, meaning="of the water as it leaves"),
    "modulation_curve": Slot(
        "1", table=True, meaning="coefficients, factor on the COP by part load"
    ),
    "minimum_part_load": LIMITS["minimum_part_load"],
    **TABLE,
    "standby_power": Slot("kW", low=0, default="0", meaning="of each, drawn on or off"),
    "electric_power_max": Slot("kW", series=True, low=0, default="no limit", meaning="of each"),
    **switching("EUR"),
}
CONNECTIONS = ("bus", "heat_bus", "cooling_bus")
TEMPERATURES = ("source_temperature", "sink_temperature")
PERFORMANCES = ("cop", "carnot_fraction", "cop_curve")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of heat pumps."""
    slots = {**SLOTS, **switching(currency(around))}
    reader = Reader(component, around, slots, OPTIONS, CONNECTIONS)
    name = reader.name
    helper, capacity, cop = _ratings(reader)
    standby = reader.optional("standby_power") or ""
    kind = Machine("heat", "kW", "electric_power", capacity, f"{capacity}/{cop}", "heat")
    built = machine(reader, kind, _shape(reader), standby)
    power = f"{name}_electric_power[t]"
    less = f"({power} - {built.run.all(standby)})" if standby else power
    result = (
        helper
        + built.fragment
        + expression(
            reader, "source_heat", "kW", f"{name}_heat[t] - {less}", "heat from the source"
        )
    )
    most = reader.optional("electric_power_max")
    if most:
        result += row(
            reader,
            "electric_power_max",
            f"{name}_electric_power[t] <= {built.run.all(most)}",
            "electric power",
            CAPACITY,
            slots=("electric_power_max",),
        )
    terminals = (
        reader.terminal(f"{name}_electric_power[t]", built.input_limit, supplies=False)
        + reader.terminal(f"{name}_heat[t]", built.output_limit, supplies=True, port="heat_bus")
        + reader.terminal(
            f"{name}_source_heat[t]", built.output_limit, supplies=True, port="cooling_bus"
        )
    )
    return result + Fragment(terminals=terminals)


def _shape(reader: Reader) -> Shape:
    table = by_table(reader)
    if not reader.given("modulation_curve"):
        return table or straight(reader)
    if table:
        raise wrong(reader.component, "part load is given by a table and by a curve; give one")
    terms = coefficients(reader, "modulation_curve", 1, 6)
    factor = terms[0] if len(terms) == 1 else ""
    return by_performance(
        reader, lambda x: factor or polynomial(terms, x), ("modulation_curve",), by_period=False
    )


def _ratings(reader: Reader) -> tuple[Fragment, str, str]:
    """Return capacity and COP in period ``t``, and the parameters they come from."""
    given = [slot for slot in PERFORMANCES if reader.given(slot)]
    if len(given) != 1:
        raise wrong(
            reader.component,
            "its performance is not given once",
            found=" and ".join(given) or "none",
            expected=" or ".join(PERFORMANCES),
        )
    capacity, temperatures = reader.text("rated_capacity"), TEMPERATURES
    if given == ["cop"] and not reader.given("capacity_curve"):
        return Fragment(), capacity, reader.text("cop")
    for slot in temperatures:
        if not reader.given(slot):
            raise wrong(
                reader.component,
                f"the parameter {slot} is not given",
                expected="a value in degC, for Carnot and for curves",
            )
    source, sink = (reader.text(slot) for slot in temperatures)
    helper, cop = Fragment(), f"{reader.name}_full_load_cop[t]"
    if given == ["cop"]:
        cop = reader.text("cop")
    else:
        if given == ["carnot_fraction"]:
            text = carnot(reader, source, sink)
        else:
            text = surface(reader, "cop_curve", plain(source), plain(sink))
            text = f"{reader.text('rated_cop')}*{text}" if reader.given("rated_cop") else text
        helper += derived(
            reader, "full_load_cop", "1", text, "COP at full load", slots=(*given, *temperatures)
        )
    if reader.given("capacity_curve"):
        text = f"{capacity}*{surface(reader, 'capacity_curve', plain(source), plain(sink))}"
        helper += derived(
            reader, "capacity", "kW", text, "largest heat", slots=("rated_capacity", *temperatures)
        )
        capacity = f"{reader.name}_capacity[t]"
    return helper, capacity, cop


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="electric power in, heat out, by temperatures and part load; one or several alike",
    quantities={
        "heat": "kW",
        "electric_power": "kW",
        "source_heat": "kW",
        "on": "1",
        "start": "1",
        "stop": "1",
        "start_cost": "EUR",
        "this_many": "1",
        "heat_of": "kW",
    },
    problem_class="LP; MILP when it switches or by a table; MINLP with a curve of modulation "
    "unless `segments` is given",
    leaves_out="cycling below the least part load, defrosting; temperatures as decisions",
    exact_against="hvac.heat_pump.HeatPump",
)
