r"""A heater or heat pump: electric power in, heat out.

.. math:: 0 \le P_t \le P^{\max}_t, \qquad \dot Q_t = \mathrm{COP}_t P_t

Its heat goes to the zone that its connection ``zone`` names.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import converters
from engiagent.formulations.components.description import Model
from engiagent.formulations.components.fragment import Fragment, Surroundings


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a heater."""
    return converters.converter(component, around, "heat")


MODEL = Model(
    fragment,
    converters.SLOTS,
    (),
    converters.CONNECTIONS,
    summary="electric power in, heat out",
    quantities={"electric_power": "kW", "heat": "kW"},
    leaves_out="part load, least load, switching",
    exact_against="conversion.Heater",
)
