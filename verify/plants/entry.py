"""How the checker executes a component: what it does, which of its quantities go where."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from engiagent.blueprint.document import ConstraintDef
from engiagent.verify.plants.run import Run
from engiagent.verify.plants.unit import Unit

Execute = Callable[[Unit], Run]
Together = Callable[[Sequence[Unit]], Run]
Groups = Callable[[Sequence[Unit]], Iterator[list[Unit]]]
Rows = Callable[[Unit], Iterator[ConstraintDef]]


@dataclass(frozen=True)
class Entry:
    """How units of a model are executed; what they take and give is in their slot file.

    Attributes
    ----------
    execute
        Runs a unit; None where there is nothing to recompute.
    groups, together
        Splits all units of the model into groups that act on one another, and runs a group; None
        when each unit is on its own.
    limits
        Quantities of the plan with the slots that bound them; all of them are at least 0.
    supplies, demands
        By connection the quantity that flows into what it is connected to, or out of it.
    serves
        By connection what goes to the zone that the unit serves, where that depends on it.
    only_with
        Quantities that are there only where one of some slots is given.
    answered
        Decisions that physics answers from others when the plan leaves them out.
    rows
        What executing demands, as rows of the stated programme.
    sized
        Parameters for which the rows stand also where the plan chooses them; where it chooses
        another, the rows are left out.
    """

    execute: Execute | None = None
    groups: Groups | None = None
    together: Together | None = None
    limits: tuple[tuple[str, str], ...] = ()
    supplies: Mapping[str, str] = field(default_factory=dict)
    demands: Mapping[str, str] = field(default_factory=dict)
    serves: Mapping[str, str] = field(default_factory=dict)
    only_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answered: tuple[str, ...] = ()
    rows: Rows | None = None
    sized: frozenset[str] = frozenset()
