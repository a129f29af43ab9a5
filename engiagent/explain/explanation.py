"""What an explanation says, as data: frozen, with units, ready for JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from engiagent.blueprint.elements import read_as
from engiagent.errors import InputError
from engiagent.explain.places import Part, Place, as_json
from engiagent.io.shows import Shows

SCHEMA: Final = "engiagent-explanation/1"

Kind = Literal["infeasible", "unbounded", "plan", "stopped", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Member:
    """A demand in a set that cannot hold together."""

    name: str  # id of the constraint, or name of the variable whose bound it is
    kind: str  # ``constraint`` or ``bound``
    side: str  # of the row or column as the model has it
    part: Part  # what it says in words, where it takes part, and the places in the text behind it
    # soft, reason: whether it could give way, and why or why not
    soft: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Clash:
    """A smallest set of demands that no plan meets."""

    members: tuple[Member, ...]
    # ``method``, ``checked``, ``margin``, ``irreducible`` (no constraint or bound can be left out)
    # and ``elements_least`` (nor any one of the elements that are named)
    proof: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Change:
    """How one limit gives way."""

    # name, kind, side: as those of a member
    name: str
    kind: str
    side: str
    subject: str  # the quantity that is limited, or the name of the constraint
    unit: str
    # by how much the limit moves, in ``unit``, with the elements at which it does: positive
    # upwards. One entry without elements where it moves as a whole.
    amounts: tuple[tuple[str, float], ...]
    text: str  # the same in words, with the old and the new limit


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Limits that give way so that a plan exists."""

    # ``shift`` (one limit, alike at all its elements), ``elements`` (one limit, only where needed)
    # or ``total`` (several limits, the least sum of relative changes)
    kind: Literal["shift", "elements", "total"]
    changes: tuple[Change, ...]
    text: str
    verified: bool  # whether a plan was found in a solve of its own with just these changes
    # whether a solve showed that less than ``1 - tolerance`` times the changes is not enough
    minimal: bool
    tolerance: float  # how near to the least the changes are


@dataclass(frozen=True, kw_only=True)
class Growth:
    """A quantity that runs away."""

    name: str
    subject: str
    unit: str
    # what it grows by (negative: falls) while the objective improves by ``Unbounded.gain``
    rate: float
    where: str
    open_side: str  # the side on which it has no bound
    text: str


@dataclass(frozen=True, kw_only=True)
class Unbounded:
    """A direction in which the objective improves without end."""

    # gain, unit: by how much the objective changes for one step along the direction
    gain: float
    unit: str
    sense: str
    growths: tuple[Growth, ...]
    # whether the direction was evaluated here: no limit stops it and the objective improves
    checked: bool


@dataclass(frozen=True, kw_only=True)
class Tight:
    """A limit that binds, and what moving it is worth."""

    name: str
    kind: str  # ``limit``, or ``balance`` for an equation, whose price is that of one unit more
    side: str
    subject: str
    unit: str
    objective_unit: str
    # bound_at, elements: at how many of its elements it binds
    bound_at: int
    elements: int
    where: str  # at which elements it binds; empty for all
    # the change of the objective, in ``price_unit``, for one ``unit`` more of the limit at all its
    # elements
    price: float
    # step, worth: what a step of the limit that loosens it would gain, in ``objective_unit``, at
    # this price
    step: float
    worth: float
    dearest: tuple[str, float] | None  # the element with the largest price, and that price
    text: str
    places: tuple[Place, ...]  # the text behind the limit

    @property
    def share(self) -> float:
        """At which share of its elements it binds."""
        return self.bound_at / self.elements


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(Shows):
    """Why a problem has no plan, no best plan, or just this one."""

    problem: str
    # ``infeasible``, ``unbounded``, ``plan``, ``stopped`` (the solver came to no end) or
    # ``undecided`` (the problem could not be modelled)
    kind: Kind
    summary: str  # one sentence
    # sets of demands that no plan meets; no two share a demand that could give way
    clashes: tuple[Clash, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    unbounded: Unbounded | None = None
    tight: tuple[Tight, ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it; what does not apply is left out."""
        content = {name: item for name, item in as_json(self).items() if item not in (None, [])}
        return {"schema": SCHEMA, **content}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Return an explanation that was stored."""
        try:
            found: Self = read_as(cls, data)
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(f"this is no explanation: {error}", expected=SCHEMA) from None
        return found
