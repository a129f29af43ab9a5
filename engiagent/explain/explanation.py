"""What an explanation says, as data: frozen, with units, ready for JSON."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Self

from engiagent.blueprint.document import read_as
from engiagent.errors import InputError
from engiagent.explain.places import Part, Place, as_json
from engiagent.io.shows import Shows

SCHEMA: Final = "engiagent-explanation/1"

Kind = Literal["infeasible", "unbounded", "plan", "stopped", "undecided"]


@dataclass(frozen=True, kw_only=True)
class Member:
    """A demand in a set that cannot hold together.

    Attributes
    ----------
    name
        Id of the constraint, or name of the variable whose bound it is.
    kind
        ``constraint`` or ``bound``.
    side
        Of the row or column as the model has it.
    part
        What it says in words, where it takes part, and the places in the text behind it.
    numbers
        The parameters in it with their values, as ``("P_max", "5 kW")``.
    soft, reason
        Whether it could give way, and why or why not.
    """

    name: str
    kind: str
    side: str
    part: Part
    numbers: tuple[tuple[str, str], ...]
    soft: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class Clash:
    """A smallest set of demands that no plan meets.

    Attributes
    ----------
    proof
        ``method``, ``checked``, ``margin``, ``irreducible`` (no constraint or bound can be left
        out) and ``elements_least`` (nor any one of the elements that are named).
    """

    members: tuple[Member, ...]
    proof: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Change:
    """How one limit gives way.

    Attributes
    ----------
    name, kind, side
        As those of a member.
    subject
        The quantity that is limited, or the name of the constraint.
    amounts
        By how much the limit moves, in ``unit``, with the elements at which it does: positive
        upwards. One entry without elements where it moves as a whole.
    text
        The same in words, with the old and the new limit.
    """

    name: str
    kind: str
    side: str
    subject: str
    unit: str
    amounts: tuple[tuple[str, float], ...]
    text: str


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """Limits that give way so that a plan exists.

    Attributes
    ----------
    kind
        ``shift`` (one limit, alike at all its elements), ``elements`` (one limit, only where
        needed) or ``total`` (several limits, the least sum of relative changes).
    verified
        Whether a plan was found in a solve of its own with just these changes.
    minimal
        Whether a solve showed that less than ``1 - tolerance`` times the changes is not enough.
    tolerance
        How near to the least the changes are.
    """

    kind: Literal["shift", "elements", "total"]
    changes: tuple[Change, ...]
    text: str
    verified: bool
    minimal: bool
    tolerance: float


@dataclass(frozen=True, kw_only=True)
class Growth:
    """A quantity that runs away.

    Attributes
    ----------
    rate
        What it grows by (negative: falls) while the objective improves by ``Unbounded.gain``.
    open_side
        The side on which it has no bound.
    enough
        Whether a bound on that side alone was seen, in a solve, to end it.
    """

    name: str
    subject: str
    unit: str
    rate: float
    where: str
    open_side: str
    enough: bool | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Unbounded:
    """A direction in which the objective improves without end.

    Attributes
    ----------
    gain, unit
        By how much the objective changes for one step along the direction.
    checked
        Whether the direction was evaluated here: no limit stops it and the objective improves.
    """

    gain: float
    unit: str
    sense: str
    growths: tuple[Growth, ...]
    checked: bool


@dataclass(frozen=True, kw_only=True)
class Tight:
    """A limit that binds, and what moving it is worth.

    Attributes
    ----------
    kind
        ``limit``, or ``balance`` for an equation, whose price is that of one unit more.
    bound_at, elements
        At how many of its elements it binds.
    where
        At which elements it binds; empty for all.
    price
        The change of the objective, in ``price_unit``, for one ``unit`` more of the limit at all
        its elements.
    step, worth
        What a step of the limit that loosens it would gain, in ``objective_unit``, at this price.
    dearest
        The element with the largest price, and that price.
    range
        The prices of a step down and a step up where they were computed, in ``price_unit``.
    places
        The text behind the limit.
    """

    name: str
    kind: str
    side: str
    subject: str
    unit: str
    objective_unit: str
    bound_at: int
    elements: int
    where: str
    price: float
    step: float
    worth: float
    dearest: tuple[str, float] | None
    range: tuple[float | None, float | None] | None
    text: str
    places: tuple[Place, ...]

    @property
    def share(self) -> float:
        """At which share of its elements it binds."""
        return self.bound_at / self.elements


@dataclass(frozen=True, kw_only=True)
class ReducedCost:
    """A quantity that is not used, and what would have to change before it is.

    Attributes
    ----------
    least, most
        The smallest and the largest reduced cost over the elements, in ``unit``.
    """

    name: str
    subject: str
    unit: str
    where: str
    least: float
    most: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Extreme:
    """A number of the model that stands out by its size."""

    value: float
    row: str
    column: str
    parameters: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """Why a solver ended without an answer, and what could help.

    Attributes
    ----------
    tried
        Which solver, for how long, how far it came.
    ratio, largest, smallest
        The largest ratio of coefficients and where both stand.
    ranges
        Smallest and largest size of coefficients, right-hand sides, bounds and costs.
    """

    status: str
    tried: tuple[str, ...]
    ratio: float | None
    largest: Extreme | None
    smallest: Extreme | None
    ranges: Mapping[str, tuple[float, float]]
    suggestions: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(Shows):
    """Why a problem has no plan, no best plan, or just this one.

    Attributes
    ----------
    kind
        ``infeasible``, ``unbounded``, ``plan``, ``stopped`` (the solver came to no end) or
        ``undecided`` (the problem could not be modelled).
    summary
        One sentence.
    clashes
        Sets of demands that no plan meets; no two share a demand that could give way.
    """

    problem: str
    kind: Kind
    summary: str
    clashes: tuple[Clash, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    unbounded: Unbounded | None = None
    tight: tuple[Tight, ...] = ()
    reduced_costs: tuple[ReducedCost, ...] = ()
    trouble: Trouble | None = None
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
