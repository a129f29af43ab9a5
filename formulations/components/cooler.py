r"""A cooler: electric power in, heat taken away.

.. math:: 0 \le P_t \le P^{\max}_t, \qquad \dot Q_t = \mathrm{COP}_t P_t

The heat is taken from the zone that its connection ``zone`` names.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import converters
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Surroundings


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a cooler."""
    return converters.converter(component, around, "cooling")


MODEL = Model(
    fragment,
    converters.SLOTS,
    (),
    converters.CONNECTIONS,
    summary="electric power in, heat taken away",
    quantities={"electric_power": "kW", "cooling": "kW"},
    leaves_out="part load, least load, switching",
    exact_against="conversion.Cooler",
)
