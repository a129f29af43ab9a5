"""What a meeting of two readings comes to, as a certificate stores it, and what agreement settles.

Beside the optimum agreement settles numbers and sentences of both readings. A number of
the first reading is confirmed where the second uses the same SI value from an overlapping place of
the text. What the second reading does not have stays open, by name.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any, Final, Literal

from engiagent.agents.meeting.nomenclature import Nomenclature, entering
from engiagent.agents.meeting.plans import Side
from engiagent.blueprint import Blueprint
from engiagent.blueprint.document import Core, GoalDef, ObjectiveDef, ParameterDef
from engiagent.blueprint.grammar import Number, names_in, parse, walk
from engiagent.errors import EngiagentError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.units.unit import Dimension, UnitError, parse_unit
from engiagent.verify.levels.coverage import dismissed, has_amount, obliges, uncovered
from engiagent.verify.levels.sources import ProblemLike, Span, all_leaves
from engiagent.verify.series import Series

EQUAL: Final = 1e-9


@dataclass(frozen=True)
class Settled:
    """Names of numbers and words of sentences, confirmed by the second reading or open."""

    # numbers, open_numbers: names of the first reading's parameters; a literal by the id of what it
    # stands in
    numbers: tuple[str, ...] = ()
    open_numbers: tuple[str, ...] = ()
    # from which the first reading takes nothing: nor does the second, and they order nothing, or it
    # does, and the plan keeps what that reading makes of them
    sentences: tuple[str, ...] = ()
    # decisions of the first reading of which the second says nothing
    unspoken: tuple[str, ...] = ()
    # amounts of the text from which neither reading takes anything, whatever either says of it (an
    # order hidden in a text may be obeyed twice), and orders of which neither says anything
    excused: tuple[str, ...] = ()
    # findings on numbers of the text for which only the second reading accounts, as where the text
    # says an amount twice; the plan keeps what that reading makes of them. And numbers without a
    # unit, outside of requirements, that neither takes for data: of hours, of items.
    taken: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Figure:
    """A number of a reading; ``dimension`` None for a literal without a unit."""

    name: str
    value: float
    shown: float
    dimension: Dimension | None
    spans: tuple[Span, ...]
    columns: frozenset[tuple[str, str]] = frozenset()


def settled(first: Side, second: Side, problem: ProblemLike | None) -> Settled:
    """Return what the second reading confirms of the first."""
    text = "" if problem is None else problem.text
    theirs = list(_figures(second.core, text))
    confirmed: dict[str, bool] = {}
    for figure in _figures(first.core, text):
        same = any(_same(figure, other) for other in theirs)
        confirmed[figure.name] = confirmed.get(figure.name, True) and same
    silent, excused, taken = [], [], []
    if problem is not None:
        numbers, mine, _, bare_numbers = uncovered(problem, first.blueprint)
        unused = set(uncovered(problem, second.blueprint).numbers) - bare_numbers
        taken = [finding for finding in numbers if finding not in unused]
        bare = [
            uncovered(problem, replace(b, extended_analysis_and_robustness=None))[1]
            for b in (first.blueprint, second.blueprint)
        ]
        dropped = [words for words in bare[0] if words in bare[1]]
        told = {words: obliges if words in mine else has_amount for words in dropped}
        excused = [
            words
            for words, counts in told.items()
            if counts(words, text) and (words in mine or not dismissed(words))
        ]
        silent = [words for words in mine if words not in excused]
    return Settled(
        tuple(name for name, holds in confirmed.items() if holds),
        tuple(name for name, holds in confirmed.items() if not holds),
        tuple(silent),
        unspoken(first, second, text, {name for name, holds in confirmed.items() if holds}),
        tuple(excused),
        tuple(taken),
    )


def unspoken(
    first: Side, second: Side, text: str = "", confirmed: Collection[str] = ()
) -> tuple[str, ...]:
    """Return the decisions of the first reading of which the second says nothing.

    It may speak of the same by another quantity, as of a store's charge and discharge for its flow:
    then it uses the words and the numbers on which the decision rests.
    """
    theirs = {v.quantity or v.name for v in second.core.decision_variables}
    theirs |= {e.quantity for e in second.core.expressions if e.quantity}
    mine = [v for v in first.core.decision_variables if v.role == "decision"]
    silent = [v for v in mine if (v.quantity or v.name) not in theirs]
    core = second.core
    items = chain[Any](core.decision_variables, core.constraints, core.parameters)
    used = [span for item in items for span in _spans(item.source_reference, text)]
    return tuple(
        v.quantity or v.name
        for v in silent
        if not (
            (limits := names_in(v.lower) | names_in(v.upper))
            and limits <= set(confirmed)
            and (spans := list(_spans(v.source_reference, text)))
            and all(any(a < d and c < b for c, d in used) for a, b in spans)
        )
    )


def _same(one: _Figure, two: _Figure) -> bool:
    if one.columns or two.columns:
        return bool(one.columns & two.columns)
    if one.dimension is None or two.dimension is None:
        near = _near(one.shown, two.shown) or _near(one.value, two.value)
    else:
        near = one.dimension == two.dimension and _near(one.value, two.value)
    return near and any(a < d and c < b for a, b in one.spans for c, d in two.spans)


def _near(one: float, two: float) -> bool:
    return abs(one - two) <= EQUAL * max(abs(one), abs(two))


def _figures(core: Core, text: str) -> Iterator[_Figure]:
    used = entering(core)
    for p in core.parameters:
        yield from _of_parameter(p, text)
    for c in core.constraints:
        texts = [c.expression, *([] if c.penalty is None else [str(c.penalty.weight)])]
        yield from _literals(c.constraint_id, texts, c.source_reference, text)
    for v in core.decision_variables:
        limits = [str(b) for b in (v.lower, v.upper) if b is not None]
        if v.name in used:
            yield from _literals(f"bounds:{v.name}", limits, v.source_reference, text)
    for component in core.components:
        values = [str(value) for value in component.parameters.values()]
        yield from _literals(component.name, values, component.source_reference, text)
    goal = core.objective_function
    items: tuple[ObjectiveDef | GoalDef, ...] = () if goal is None else (goal, *goal.terms)
    for item in items:
        texts = [item.expression] if item.expression else []
        yield from _literals(item.name or "objective", texts, item.source_reference, text)


def _of_parameter(p: ParameterDef, text: str) -> Iterator[_Figure]:
    spans = tuple(_spans(p.source_reference, text))
    columns = frozenset(
        (str(leaf.fields.get("file")), str(leaf.fields.get("column")))
        for leaf in all_leaves(p.source_reference)
        if leaf.kind == "file"
    )
    if p.data is not None:
        yield _Figure(p.name, 0.0, 0.0, None, spans, columns)
        return
    try:
        unit = parse_unit(p.unit if isinstance(p.unit, str) else "1")
    except UnitError:
        return
    for number in _numbers(p.value):
        yield _Figure(p.name, unit.to_si(number), number, unit.dimension, spans)


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, tuple | Mapping):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _numbers(item)


def _literals(name: str, texts: list[str], source: Any, text: str) -> Iterator[_Figure]:
    spans = tuple(_spans(source, text))
    for expression in texts:
        try:
            nodes = [n for n in walk(parse(expression)) if isinstance(n, Number)]
            units = [None if n.unit is None else parse_unit(n.unit) for n in nodes]
        except EngiagentError:
            continue
        for node, unit in zip(nodes, units, strict=True):
            if unit is None and node.value in (0.0, 1.0):
                continue  # structure of a formula, not a datum
            value = node.value if unit is None else unit.to_si(node.value)
            dimension = None if unit is None else unit.dimension
            yield _Figure(name, value, node.value, dimension, spans)


def _spans(source: Any, text: str) -> Iterator[Span]:
    for leaf in all_leaves(source):
        if leaf.span is not None:
            yield leaf.span
        elif leaf.quote and (start := text.find(leaf.quote)) >= 0:
            yield start, start + len(leaf.quote)


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
    # which plan is the best by both; None without meeting
    plan: Literal["first", "second"] | None = None
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
