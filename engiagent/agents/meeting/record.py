"""What a meeting of two readings comes to, as a certificate stores it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from engiagent.agents.meeting.nomenclature import Nomenclature
from engiagent.agents.meeting.settling import Settled
from engiagent.blueprint import Blueprint
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.verify.series import Series

Outcome = Literal[
    "met", "met infeasible", "different", "names do not meet", "not confirmed", "not proven"
]
Grade = Literal["recomputed", "agreed", "reported"]
NOTHING: Final = Settled()


@dataclass(frozen=True)
class Statement:
    """What one reading states: its formula in quantity names and the words it rests on."""

    formula: str
    quote: str

    @property
    def words(self) -> str:
        """The quote, or ``no words``."""
        return self.quote or "no words"


@dataclass(frozen=True)
class Difference:
    """In what two readings differ."""

    # ``lacks``: the first lacks or weakens what the second states; ``adds``: the first adds or
    # tightens; ``goals``: the goals differ
    kind: Literal["lacks", "adds", "goals"]
    # first, second: what either states; an empty formula where it states nothing of the kind
    first: Statement
    second: Statement
    row: str  # id of the row in the reading whose row is broken, or ``objective``
    # where, amount, unit: the worst place and by how much it is broken there
    where: Mapping[str, Any] = field(default_factory=dict)
    amount: float | None = None
    unit: str | None = None
    # objective of the first reading less that of the second; None where one has none
    worth: float | None = None

    @property
    def question(self) -> str:
        """What is asked about it, which neither other words nor another amount make another."""
        return f"{self.kind}: {self.first.formula} or {self.second.formula}"

    def text(self) -> str:
        """Return the difference as one sentence."""
        if self.kind == "goals":
            return (
                f"the goals differ: one has {self.first.formula} ({self.first.words}), the other "
                f"{self.second.formula} ({self.second.words})"
            )
        weak = self.kind == "lacks"
        verb, stated = (
            ("lacks or weakens" if weak else "adds or tightens"),
            (self.second if weak else self.first),
        )
        place = "".join(f" at {name} = {label}" for name, label in self.where.items())
        amount = None if self.amount is None else f"{self.amount:.6g} {self.unit or ''}"
        by = "" if amount is None else f", broken by {amount}{place}"
        return f"the first reading {verb} {stated.formula} ({stated.words}){by}"


@dataclass(frozen=True)
class Solved:
    """What a reading's solve came to; the objective as the checker evaluates it."""

    blueprint_sha256: str
    status: str
    solver: str
    objective: float | None = None
    unit: str | None = None
    bound: float | None = None


@dataclass(frozen=True)
class Meeting:
    """The outcome of two readings, for the certificate."""

    # outcome, reason: one of ``Outcome``, and why in words
    outcome: Outcome
    reason: str
    first: Solved
    second: Solved | None
    names: Nomenclature
    # the second reading as it was written; its hash and its solution are in ``second``
    blueprint: Blueprint
    supplied: tuple[str, ...] = ()  # what was added to it, in words
    # which plan is the best by both: ``first``, ``second`` or ``joint``; None without meeting
    plan: Literal["first", "second", "joint"] | None = None
    grade: Grade | None = None  # of the evidence that it is the best; None without meeting
    settled: Settled = NOTHING
    differences: tuple[Difference, ...] = ()
    # the plan, in the first reading's names, where it is not the first's own. Not serialised.
    schedule: Mapping[str, Series] | None = field(default=None, compare=False, repr=False)

    @property
    def confirmed(self) -> bool:
        """Whether the second reading confirms the first."""
        return self.outcome in ("met", "met infeasible")

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON, in the same order each time."""
        found = {
            "outcome": self.outcome,
            "reason": self.reason,
            "plan": self.plan,
            "grade": self.grade,
            "first": asdict(self.first),
            "second": None if self.second is None else asdict(self.second),
            "nomenclature": asdict(self.names),
            "blueprint": self.blueprint.to_dict(),
            "supplied": self.supplied,
            "settled": asdict(self.settled),
            "differences": [asdict(d) for d in self.differences],
        }
        plain: dict[str, Any] = loads_strict(dumps_canonical(found))
        return plain

    def to_json(self) -> str:
        """Return the canonical JSON text."""
        return dumps_canonical(self.to_dict())
