"""What a chart of a plan is drawn from."""

from typing import TYPE_CHECKING, Protocol

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration

if TYPE_CHECKING:
    import xarray


class Plan(Protocol):
    """A schedule with what is known of its symbols; None for what is not there."""

    @property
    def solution(self) -> "xarray.Dataset | None":
        """The schedule, as a solver or a user gave it."""

    @property
    def blueprint(self) -> Blueprint | None:
        """The blueprint, with the fragments of its components written out."""

    @property
    def elaboration(self) -> Elaboration | None:
        """The blueprint's sets and data."""
