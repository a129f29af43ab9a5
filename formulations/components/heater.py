r"""A heater or heat pump: electric power in, heat out.

.. math:: 0 \le P_t \le P^{\max}_t, \qquad \dot Q_t = \mathrm{COP}_t P_t

Its heat goes to the zone that its connection ``zone`` names.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.converters import converter
from engiagent.formulations.components.fragment import Fragment, Surroundings


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a heater."""
    return converter(component, around, "heat")
