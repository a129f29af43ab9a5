r"""A cooler: electric power in, heat taken away.

.. math:: 0 \le P_t \le P^{\max}_t, \qquad \dot Q_t = \mathrm{COP}_t P_t

The heat is taken from the zone that its connection ``zone`` names.
"""

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.converters import converter
from engiagent.formulations.components.fragment import Fragment, Surroundings


def fragment(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a cooler."""
    return converter(component, around, "cooling")
