"""What the checker knows of a model of units: its parameters, what it demands, how it is run."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from engiagent.blueprint.document import ConstraintDef
from engiagent.verify.plants.run import Run
from engiagent.verify.requirements import Dynamics

if TYPE_CHECKING:
    from engiagent.verify.levels.execution import Plant

Execute = Callable[["Plant", "Sequence[Dynamics]"], "Run"]
Groups = Callable[["Sequence[Dynamics]"], "Iterator[list[Dynamics]]"]
Rows = Callable[["Plant", "Dynamics"], "Iterator[ConstraintDef]"]
Kind = Literal["number", "series", "table"]


@dataclass(frozen=True)
class Slot:
    """A parameter of a unit.

    Attributes
    ----------
    unit
        In which a bare number is read and the model takes it.
    kind
        ``number`` stays over time, ``series`` may change with the period, ``table`` is a row of
        numbers in brackets or a parameter over a set.
    default
        What holds when it is not given; None where it has to be given or where its absence has a
        meaning of its own, which ``meaning`` says.
    """

    unit: str
    meaning: str
    kind: Kind = "number"
    default: float | None = None
    required: bool = False


@dataclass(frozen=True)
class Entry:
    """A model of units.

    Attributes
    ----------
    model
        Its name in ``dynamics`` and in components.
    summary
        What it is, in a line.
    slots
        Its parameters by name.
    execute
        Runs a group of units; None where there is nothing to recompute.
    groups
        Splits all units of the model into groups that act on one another; None when each unit is
        on its own.
    limits
        Quantities of the plan with the slots that bound them; all of them are at least 0.
    connections
        What it may be connected to, with the meaning.
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
    """

    model: str
    summary: str
    slots: Mapping[str, Slot]
    execute: Execute | None = None
    groups: Groups | None = None
    limits: tuple[tuple[str, str], ...] = ()
    connections: Mapping[str, str] = field(default_factory=dict)
    supplies: Mapping[str, str] = field(default_factory=dict)
    demands: Mapping[str, str] = field(default_factory=dict)
    serves: Mapping[str, str] = field(default_factory=dict)
    only_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    answered: tuple[str, ...] = ()
    rows: Rows | None = None
