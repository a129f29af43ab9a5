"""Physical units as an optimiser sees them: one file each, found by the name in its slot file."""

from importlib import import_module
from typing import Final

from engiagent.blueprint.document import ComponentDef
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
    module.declare(reader)
    return Fragment.of(reader.added)
