"""What executing a plan means, component by component: one file for each family of them."""

from functools import cache
from importlib import import_module

from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.verify.plants.entry import Entry


@cache
def entry_of(model: str) -> Entry:
    """Return how the checker executes a model of components, by the module its slot file names."""
    if model not in COMPONENTS:
        known = ", ".join(COMPONENTS)
        raise EngiagentError(f"the checker knows no model {model!r}; it knows {known}")
    module = import_module(f"engiagent.verify.plants.{COMPONENTS[model].execution}")
    found: Entry = module.ENTRIES[model]
    return found
