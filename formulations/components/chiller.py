r"""A chiller, or several alike: electric power in, cooling out, heat to the condenser.

.. math::
    Y_t = \dot Q_r\,f_{cap}(T_l, T_e), \qquad
    P_t = Y_t\,\frac{f_{eir}(T_l, T_e)}{\mathrm{COP}_r}\,f_{plr}\!\left(\frac{\dot Q_t}{Y_t}\right),
    \qquad \dot Q^{rej}_t = \dot Q_t + \kappa P_t

with the curves of EnergyPlus by the temperatures of leaving chilled and entering condenser water
(or outdoor air), held at the ends of the ranges in which they were fitted. A plan keeps to the
range of part load: it switches the machine off where the simulation would let it cycle. See
``partload`` for curves, and for several alike that are counted.
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
    by_polynomial,
    by_table,
    machine,
    straight,
)
from engiagent.formulations.components.parts import CAPACITY, currency, derived, expression, row
from engiagent.formulations.components.temperatures import held, plain, surface

SLOTS = {
    "rated_capacity": Slot(
        "kW", required=True, series=True, low=0, above=True, meaning="cooling at the rating"
    ),
    "rated_cop": Slot(
        "1",
        required=True,
        series=True,
        low=0,
        above=True,
        high=30,
        meaning="at the rating; may be a series, as by the outdoor temperature",
    ),
    "capacity_curve": Slot(
        "1",
        table=True,
        default="1",
        meaning="six or ten coefficients over leaving and entering water, factor on the capacity",
    ),
    "eir_curve": Slot(
        "1", table=True, default="1", meaning="the same, factor on power over cooling"
    ),
    "part_load_curve": Slot(
        "1", table=True, meaning="coefficients, factor on the full-load power by part load"
    ),
    "leaving_temperature": Slot("degC", series=True, default="7", meaning="of the chilled water"),
    "entering_temperature": Slot(
        "degC", series=True, default="29", meaning="of the condenser's water or air"
    ),
    "leaving_range": Slot(
        "degC",
        table=True,
        default="everywhere",
        meaning="two temperatures: where the curves were fitted; beyond it they hold their value",
    ),
    "entering_range": Slot("degC", table=True, default="everywhere", meaning="the same"),
    **LIMITS,
    **TABLE,
    "heat_to_condenser": Slot(
        "1", low=0, high=1, default="1", meaning="share of the power that the condenser takes up"
    ),
    "electric_power_max": Slot("kW", series=True, low=0, default="no limit", meaning="of each"),
    **switching("EUR"),
}
CONNECTIONS = ("bus", "cooling_bus", "heat_bus")


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of chillers."""
    slots = {**SLOTS, **switching(currency(around))}
    reader = Reader(component, around, slots, OPTIONS, CONNECTIONS)
    name = reader.name
    helper, capacity, power = _ratings(reader)
    table, curve = by_table(reader), by_polynomial(reader, "part_load_curve")
    if table and curve:
        raise wrong(component, "part load is given by a table and by a curve; give one")
    kind = Machine("cooling", "kW", "electric_power", capacity, power, "cooling")
    built = machine(reader, kind, table or curve or straight(reader))
    share = reader.optional("heat_to_condenser")
    taken = f"{share}*{name}_electric_power[t]" if share else f"{name}_electric_power[t]"
    result = (
        helper
        + built.fragment
        + expression(
            reader, "heat_rejected", "kW", f"{name}_cooling[t] + {taken}", "heat to the condenser"
        )
    )
    most = reader.optional("electric_power_max")
    if most:
        result += row(
            reader,
            "electric_power_max",
            f"{name}_electric_power[t] <= {built.run.times(most)}",
            "electric power",
            CAPACITY,
            slots=("electric_power_max",),
        )
    rejected = None if built.input_limit is None else f"{built.output_limit} + {built.input_limit}"
    terminals = (
        reader.terminal(f"{name}_electric_power[t]", built.input_limit, supplies=False)
        + reader.terminal(
            f"{name}_cooling[t]", built.output_limit, supplies=True, port="cooling_bus"
        )
        + reader.terminal(f"{name}_heat_rejected[t]", rejected, supplies=True, port="heat_bus")
    )
    return result + Fragment(terminals=terminals)


def _ratings(reader: Reader) -> tuple[Fragment, str, str]:
    """Return capacity and full-load power in period ``t``, and the parameters they come from."""
    capacity, cop = reader.text("rated_capacity"), reader.text("rated_cop")
    leaving, entering = (
        held(reader, f"{side}_range", plain(reader.optional(f"{side}_temperature") or usual))
        for side, usual in (("leaving", "7[degC]"), ("entering", "29[degC]"))
    )
    helper, slots = Fragment(), ("leaving_temperature", "entering_temperature")
    if reader.given("capacity_curve"):
        text = f"{capacity}*{surface(reader, 'capacity_curve', leaving, entering)}"
        helper += derived(
            reader, "capacity", "kW", text, "largest cooling", slots=("rated_capacity", *slots)
        )
        capacity = f"{reader.name}_capacity[t]"
    power = f"{capacity}/{cop}"
    if reader.given("eir_curve"):
        text = f"{power}*{surface(reader, 'eir_curve', leaving, entering)}"
        helper += derived(
            reader,
            "full_load_power",
            "kW",
            text,
            "electric power at full load",
            slots=("rated_cop", *slots),
        )
        power = f"{reader.name}_full_load_power[t]"
    return helper, capacity, power


MODEL = Model(
    fragment,
    SLOTS,
    OPTIONS,
    CONNECTIONS,
    summary="electric power in, cooling out, by curves of EnergyPlus; one or several alike",
    quantities={
        "cooling": "kW",
        "electric_power": "kW",
        "heat_rejected": "kW",
        "on": "1",
        "start": "1",
        "stop": "1",
        "start_cost": "EUR",
        "this_many": "1",
        "cooling_of": "kW",
    },
    problem_class="LP; MILP when it switches; with a polynomial of part load MIQP or MINLP unless "
    "`segments` is given",
    leaves_out="cycling and false load below the least part load; temperatures as decisions",
    exact_against="hvac.chiller.Chiller",
)
