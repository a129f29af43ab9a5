"""What agreement settles beside the optimum: numbers, sentences and dynamics of both readings.

A number of the first reading is confirmed where the second uses the same SI value from an
overlapping place of the text. What the second reading does not have stays open, by name.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

from engiagent.agents.meeting.nomenclature import entering
from engiagent.agents.meeting.plans import Side
from engiagent.blueprint.elements import Core, GoalDef, ObjectiveDef, ParameterDef
from engiagent.blueprint.grammar import Number, names_in, parse, walk
from engiagent.errors import EngiagentError
from engiagent.units.unit import Dimension, UnitError, parse_unit
from engiagent.verify.levels.coverage import dismissed, has_amount, obliges, uncovered
from engiagent.verify.levels.sources import ProblemLike, Span, all_leaves

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
    # quantities whose change from one instant to the next the second reading states
    dynamics: tuple[str, ...] = ()
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
        tuple(_dynamics(second)),
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


def _dynamics(side: Side) -> Iterator[str]:
    """Yield states that an equation of the reading itself carries from instant to instant."""
    known = {v.name: v.quantity or v.name for v in side.core.decision_variables}
    found: dict[str, None] = {}
    for c in side.core.constraints:
        if "==" not in c.expression:
            continue
        offset = {
            str(getattr(node, "name", ""))
            for node in walk(parse(c.expression))
            for index in getattr(node, "indices", ())
            if getattr(index, "op", "") in ("+", "-")
        }
        found |= {known[name]: None for name in sorted(offset) if name in known}
    yield from found
