"""What a model of a component is: its algebra, its slots, and what the reference page says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components.fragment import Fragment, Slot, Surroundings

Builder = Callable[[ComponentDef, Surroundings], Fragment]


@dataclass(frozen=True)
class Model:
    """A model of components.

    Attributes
    ----------
    fragment
        Its algebra.
    slots, options, connections
        What a component of the model takes.
    summary
        What it is, in a line.
    quantities
        The series it declares with their units; those that only some slots bring are among them.
    problem_class
        Of the algebra, and on what it depends.
    leaves_out
        What of the physics is not in it.
    exact_against
        The simulation whose states the plan's equal, by its name in ``engiagent.models``.
    """

    fragment: Builder
    slots: Mapping[str, Slot]
    options: tuple[str, ...]
    connections: tuple[str, ...]
    summary: str
    quantities: Mapping[str, str] = field(default_factory=dict)
    problem_class: str = "LP"
    leaves_out: str = ""
    exact_against: str = ""
