"""Physical units as an optimiser sees them: one function each, in the module of its family.

The function has the name of its component; the module is the one that the slot file names as its
``algebra``, or that of the component's own name.
"""

from importlib import import_module
from typing import Final

from engiagent.blueprint.elements import ComponentDef
from engiagent.formulations.components.fragment import Fragment, Surroundings
from engiagent.formulations.components.reader import Reader
from engiagent.slots import Catalogue

MODELS: Final = Catalogue(lambda component: component.algebra != "none")


def build(component: ComponentDef, around: Surroundings) -> Fragment:
    """Return the algebra of a component.

    Raises InputError when its slots, options or connections do not fit together.
    """
    module = import_module(f"{__name__}.{MODELS[component.model].algebra}")
    reader = Reader(component, around)
    getattr(module, component.model)(reader)
    return Fragment.of(reader.added)
