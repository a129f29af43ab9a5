"""What a chart of a plan is drawn from."""

from typing import Protocol

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.solvers.arrays import AnySolution


class Plan(Protocol):
    """A schedule with what is known of its symbols; None for what is not there."""

    @property
    def solution(self) -> "AnySolution | None":
        """The schedule, as a solver or a user gave it."""

    @property
    def blueprint(self) -> Blueprint | None:
        """The blueprint, with the fragments of its components written out."""

    @property
    def elaboration(self) -> Elaboration | None:
        """The blueprint's sets and data."""
