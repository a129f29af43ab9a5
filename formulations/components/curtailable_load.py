r"""A demand of which a part may be left unserved, at a price.

.. math:: P_t = D_t - s_t, \qquad 0 \le s_t \le \kappa_t D_t, \qquad
    \sum_t s_t \Delta t \le S
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Reader, Slot, Surroundings
from engiagent.formulations.components.parts import REQUIREMENT, currency, expression, row, variable


def slots_of(cost: str) -> dict[str, Slot]:
    """Return the slots, with prices in a currency."""
    return {
        "power": Slot("kW", required=True, series=True, low=0, meaning="the demand"),
        "curtailable_share": Slot(
            "1",
            series=True,
            low=0,
            high=1,
            default="1",
            meaning="of the demand that may be left unserved",
        ),
        "unmet_energy_max": Slot("kWh", low=0, default="no limit", meaning="in the horizon"),
        "lost_load_value": Slot(
            f"{cost}/kWh", series=True, low=0, default="0", meaning="price of what is left unserved"
        ),
    }


SLOTS = slots_of("EUR")
CONNECTIONS = ("bus",)


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a load that may be curtailed."""
    reader = Reader(component, around, slots_of(currency(around)), (), CONNECTIONS)
    name, demand = reader.name, reader.text("power")
    share = reader.optional("curtailable_share")
    most = f"{share}*{demand}" if share else demand
    unmet = f"{name}_unmet[t]"
    result = variable(
        reader,
        "unmet",
        "kW",
        "demand left unserved",
        upper=most,
        slots=("power", "curtailable_share"),
    ) + expression(reader, "power", "kW", f"{demand} - {unmet}", "demand that is served")
    if reader.given("unmet_energy_max"):
        text = f"sum({unmet}*dt(t) for t in {reader.time}) <= {reader.text('unmet_energy_max')}"
        result += row(
            reader,
            "unmet_energy",
            text,
            "energy left unserved",
            REQUIREMENT,
            index=(),
            slots=("unmet_energy_max",),
        )
    if reader.given("lost_load_value"):
        text = f"{reader.text('lost_load_value')}*{unmet}*dt(t)"
        result += expression(reader, "unmet_cost", currency(around), text, "cost of lost load")
    terminals = reader.terminal(f"{name}_power[t]", demand, supplies=False)
    return result + Fragment(terminals=terminals)


MODEL = Model(
    fragment,
    SLOTS,
    (),
    CONNECTIONS,
    summary="demand of which a part may be left unserved, at a price",
    quantities={"power": "kW", "unmet": "kW", "unmet_cost": "EUR"},
    leaves_out="steps in which it can be shed, and rest between two events",
)
