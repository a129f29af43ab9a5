r"""A boiler, or several alike: fuel in, heat out; electricity is a fuel too.

.. math:: \dot F_t = \frac{\dot Q_t}{\eta_r\,f(\dot Q_t/Y, T_w)}

with the factor :math:`f` of the efficiency by part load and water temperature, 1 unless given by a
curve or, for the fuel itself, by a table. With a least part load it switches.
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
    straight,
)
from engiagent.formulations.components.parts import currency
from engiagent.formulations.components.temperatures import plain, surface

SLOTS = {
    "rated_capacity": Slot("kW", required=True, low=0, above=True, meaning="largest heat"),
    "rated_efficiency": Slot(
        "1", required=True, low=0, above=True, high=1.2, meaning="heat over fuel at the rating"
    ),
    "efficiency_curve": Slot(
        "1",
        table=True,
        default="1",
        meaning="six or ten coefficients over "
        "part load and water temperature, factor on the efficiency",
    ),
    "water_temperature": Slot("degC", series=True, meaning="of the water, as the curve means it"),
    "minimum_part_load": LIMITS["minimum_part_load"],
    **TABLE,
    **switching("EUR"),
}
CONNECTIONS = ("fuel_bus", "bus", "heat_bus")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of boilers."""
    slots = {**SLOTS, **switching(currency(around))}
    reader = Reader(component, around, slots, OPTIONS, CONNECTIONS)
    if reader.connection("fuel_bus") is not None and reader.connection("bus") is not None:
        raise wrong(component, "it takes fuel from two buses; give fuel_bus, or bus when electric")
    capacity, efficiency = reader.text("rated_capacity"), reader.text("rated_efficiency")
    kind = Machine("heat", "kW", "fuel", capacity, f"{capacity}/{efficiency}", "heat")
    built = machine(reader, kind, _shape(reader))
    port = "bus" if reader.connection("bus") is not None else "fuel_bus"
    terminals = reader.terminal(
        f"{reader.name}_fuel[t]", built.input_limit, supplies=False, port=port
    ) + reader.terminal(
        f"{reader.name}_heat[t]", built.output_limit, supplies=True, port="heat_bus"
    )
    return built.fragment + Fragment(terminals=terminals)


def _shape(reader: Reader) -> Shape:
    table = by_table(reader)
    if not reader.given("efficiency_curve"):
        return table or straight(reader)
    if table:
        raise wrong(reader.component, "part load is given by a table and by a curve; give one")
    if not reader.given("water_temperature"):
        raise wrong(
            reader.component,
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


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="fuel or electricity in, heat out; one or several alike",
    quantities={
        "heat": "kW",
        "fuel": "kW",
        "on": "1",
        "start": "1",
        "stop": "1",
        "start_cost": "EUR",
        "this_many": "1",
        "heat_of": "kW",
    },
    problem_class="LP; MILP when it switches or by a table; MINLP with a curve of efficiency "
    "unless `segments` is given",
    leaves_out="cycling and losses while the burner pauses; the return temperature as a decision",
    exact_against="hvac.boiler.Boiler",
)
