"""What executing a plan means, component by component: one file for each family of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any

from engiagent.blueprint.elements import ConstraintDef
from engiagent.errors import EngiagentError
from engiagent.slots import COMPONENTS
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.unit import Unit

Execute = Callable[[Unit], Run]
Together = Callable[[Sequence[Unit]], Run]
Groups = Callable[[Sequence[Unit]], Iterator[list[Unit]]]
Rows = Callable[[Unit], Iterator[ConstraintDef]]


@dataclass(frozen=True)
class Entry:
    """How units of a model are executed; what they take and give is in their slot file."""

    execute: Execute | None = None  # runs a unit; None where there is nothing to recompute
    # groups, together: splits all units of the model into groups that act on one another, and runs
    # a group; None when each unit is on its own
    groups: Groups | None = None
    together: Together | None = None
    # quantities of the plan with the slots that bound them; all of them are at least 0
    limits: tuple[tuple[str, str], ...] = ()
    # supplies, demands: by connection the quantity that flows into what it is connected to, or out
    # of it
    supplies: Mapping[str, str] = field(default_factory=dict)
    demands: Mapping[str, str] = field(default_factory=dict)
    # what a flow that is no power holds by its amount: a number and its unit, as 10 kWh/l of fuel
    contents: Mapping[str, Callable[[Unit], tuple[float, str]]] = field(default_factory=dict)
    # by connection what goes to the zone that the unit serves, where that depends on it
    serves: Mapping[str, str] = field(default_factory=dict)
    # quantities that are there only where one of some slots is given
    only_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    # decisions that physics answers from others when the plan leaves them out
    answered: tuple[str, ...] = ()
    rows: Rows | None = None  # what executing demands, as rows of the stated programme
    # parameters for which the rows stand also where the plan chooses them; where it chooses
    # another, the rows are left out
    sized: frozenset[str] = frozenset()

    def given(self, connections: Mapping[str, Any]) -> set[str]:
        """Return what a unit with some connections gives to the zone that it serves."""
        zone = {word for port, word in self.supplies.items() if port == "zone"}
        return zone | {word for port, word in self.serves.items() if port in connections}


@cache
def entry_of(model: str) -> Entry:
    """Return how the checker executes a model of components, by the module its slot file names."""
    if model not in COMPONENTS:
        known = ", ".join(COMPONENTS)
        raise EngiagentError(f"the checker knows no model {model!r}; it knows {known}")
    module = import_module(f"engiagent.verify.plants.{COMPONENTS[model].execution}")
    found: Entry = module.ENTRIES[model]
    return found
