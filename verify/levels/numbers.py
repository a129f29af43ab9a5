"""Numbers of parameters held against the numbers of their sources."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from engiagent.blueprint.grammar import Ref, parse, walk
from engiagent.errors import InputError
from engiagent.units.unit import Unit, parse_unit
from engiagent.verify import arithmetic, values
from engiagent.verify.evaluate import Evaluator
from engiagent.verify.figures import (
    Figure,
    close_to,
    figures,
    says_nothing,
    says_otherwise_nothing,
    sequences,
    units_of_each,
    without_counts,
)
from engiagent.verify.frames import Environment, EvaluationError, Symbol
from engiagent.verify.levels.literals import Tracing
from engiagent.verify.levels.sources import ProblemLike, Source, unit_elsewhere, words_of
from engiagent.verify.requirements import squeezed

_TIME: Final = parse_unit("s").dimension
_ONE: Final = re.compile(
    r"\b1\s*[A-Za-z]+\b[^.;:\n\d=]{0,25}(?:=|\b(?:is|equals|gives|becomes))\s*$"
)


def compare_all(tracing: Tracing, name: str, sources: Sequence[Source], symbol: Symbol) -> None:
    """Compare one value with its sources, or many values with one source each."""
    assert symbol.value is not None
    shown, unit = symbol.value.shown, symbol.value.unit
    leaves = [leaf for source in sources for leaf in source.leaves()]
    if len(shown) > 1 and len(leaves) == len(shown):
        for row, leaf in enumerate(leaves):
            compare(tracing, f"{name}[{row + 1}]", float(shown[row]), unit, [leaf])
        return
    if len(shown) > 1 and _given_in_one(tracing, name, symbol, leaves):
        return
    if len(shown) > 1 and not (shown == shown[0]).all():
        tracing.open.append(f"{name}: {len(shown)} values, but {len(leaves)} sources: unverified")
        return
    compare(tracing, name, float(shown[0]), unit, leaves)


def _given_in_one(tracing: Tracing, name: str, symbol: Symbol, leaves: Sequence[Source]) -> bool:
    """Compare many values with the series of few sources; False where none has its length."""
    assert symbol.value is not None
    shown, unit = symbol.value.shown, symbol.value.unit
    words = "\n".join(words_of(leaf, tracing.problem.text) for leaf in leaves)
    fitting = [line for line in sequences(words, tracing.problem.text) if len(line) == len(shown)]
    if not fitting:
        return False
    besides = [unit_elsewhere(tracing.problem, leaf, unit) for leaf in leaves]
    beside = next((found for found in besides if found is not None), None)
    off: list[tuple[int, Figure]] = []
    for line in fitting:
        known = [f if f.unit is not None else Figure(f.value, beside) for f in line]
        pairs = list(enumerate(known))
        wrong = [(row, f) for row, f in pairs if not _agrees(float(shown[row]), unit, f)]
        if not wrong:
            return True
        bare = all(f.unit is None and close_to(float(shown[row]), f.value) for row, f in pairs)
        if bare and str(unit) == "%" and "%" in words:
            return True
        if bare and not unit.is_dimensionless:
            tracing.open.append(f"{name}: no unit stands beside the numbers read in {unit}")
            return True
        off = off or wrong
    row, figure = off[0]
    said = f"{figure.value:g} {figure.unit or ''}".strip()
    tracing.accuse(
        f"{name}[{row + 1}]", f"{shown[row]:.10g} {unit} in the blueprint, the problem says {said}"
    )
    return True


_ONE_OVER: Final = re.compile(r"(?<![\d.,])1\s?/\s?$")  # "for 1 kWh 1/0.94 kWh is taken out"
_TIMES_NAME: Final = re.compile(r"\s*(?:[×⋅·*]|\\times\b|\\cdot\b|times\b)\s*[A-Za-z\\]")
"""Behind a coefficient: its unit is not that of its row, but what the formula leaves."""


def compare(
    tracing: Tracing, name: str, value: float, unit: Unit, leaves: Sequence[Source]
) -> None:
    """Compare a value with the numbers of its sources."""
    found: list[Figure] = []
    for leaf in leaves:
        beside = unit_elsewhere(tracing.problem, leaf, unit)
        for figure in figures(_with_units(leaf, tracing.problem), tracing.problem.text):
            found.append(figure if figure.unit is not None else Figure(figure.value, beside))
        text = tracing.problem.text
        if leaf.span is not None and (
            _TIMES_NAME.match(text, leaf.span[1]) or _ONE_OVER.search(text[: leaf.span[0]][-8:])
        ):
            found += [Figure(f.value, None) for f in found]
    if _is_nothing(leaves, tracing.problem.text, unit, found):
        if value == 0.0:
            return
        found.append(Figure(0.0, unit))
    if not found:
        tracing.open.append(f"{name}: its source holds no number that can be read")
        return
    if any(_agrees(value, unit, figure) for figure in found):
        return
    if any(_counts_periods(value, unit, figure, tracing.steps) for figure in found):
        return
    ones = [f.unit for f in found if f.value == 1.0 and f.unit is not None and not f.unit.is_point]
    amounts = [f for f in found if f.unit is not None and f.value != 1.0]
    rates = (Figure(f.value, f.unit / o) for f in amounts for o in ones if f.unit is not None)
    if any(_agrees(value, unit, figure) for figure in rates):  # one litre, and what it takes
        return
    if any(_agrees(value, unit, figure) for figure in _per_each(tracing.problem, leaves, found)):
        return
    bare = [f for f in found if f.unit is None and close_to(f.value, value)]
    if bare and not without_counts(unit.dimension):
        return
    if bare:
        tracing.open.append(f"{name}: no unit stands beside the number that is read in {unit}")
        return
    partly = [f for f in found if close_to(f.value, value) and _is_part(f.unit, unit)]
    if partly:
        tracing.open.append(f"{name}: {partly[0].unit} beside the number, read in {unit}")
        return
    said = ", ".join(f"{f.value:g} {f.unit or ''}".strip() for f in found)
    tracing.accuse(name, f"{value:.10g} {unit} in the blueprint, the problem says {said}")


def _with_units(leaf: Source, problem: ProblemLike) -> str:
    """Return the words of a source, with the units around them to which they belong.

    Before them what one of a unit is worth, behind them how the unit goes on: of "0.06 € per hour"
    somebody may have quoted the amount alone.
    """
    words, text = words_of(leaf, problem.text), problem.text
    if leaf.span is None:
        return words
    start, stop = leaf.span
    one = _ONE.search(text, max(0, start - 40), start)
    ends = [q.span[1] for q in problem.quantities if start <= q.span[0] < stop < q.span[1]]
    behind = text[stop : max(ends, default=stop)]  # but the "$" that ends a formula
    return ("" if one is None else one[0]) + words + ("" if "$" in behind else behind)


def _counts_periods(value: float, unit: Unit, figure: Figure, steps: Collection[float]) -> bool:
    """Whether a bare number is a duration of the text in periods, as 3 periods for 3 hours."""
    if not unit.is_dimensionless or figure.unit is None:
        return False
    if not without_counts((figure.unit * parse_unit("s")).dimension):  # a number of times a day
        return close_to(value * unit.scale, figure.value)
    if figure.unit.dimension != _TIME:
        return False
    seconds = figure.unit.to_si(figure.value)
    return any(close_to(value * unit.scale * step, seconds) for step in steps)


def _per_each(
    problem: ProblemLike, leaves: Sequence[Source], found: Sequence[Figure]
) -> Iterator[Figure]:
    """Yield figures as rates where their sentence says per what: "each °F takes 10.4 kBTU/h"."""
    for leaf in leaves:
        start = -1 if leaf.span is None else leaf.span[0]
        around = (s.span for s in problem.sentences if s.span[0] <= start < s.span[1])
        for unit in units_of_each(squeezed(problem.text[slice(*next(around, (0, 0)))])):
            below = unit.difference()
            for figure in found:
                if figure.unit is not None and not figure.unit.is_point:
                    yield Figure(figure.value, figure.unit / below)


def _is_nothing(leaves: Sequence[Source], text: str, unit: Unit, found: Sequence[Figure]) -> bool:
    """Whether a source says zero, which needs no unit, and no amount that could be meant instead.

    A temperature has no such zero.
    """
    amounts = [f for f in found if f.unit is not None and f.unit.dimension == unit.dimension]
    if not unit.is_point and any(says_otherwise_nothing(words_of(leaf, text)) for leaf in leaves):
        return True
    if unit.is_point or any(f.value != 0.0 for f in amounts):
        return False
    zero = bool(found) and all(f.value == 0.0 for f in found)
    return zero or any(says_nothing(words_of(leaf, text)) for leaf in leaves)


def _agrees(value: float, unit: Unit, figure: Figure) -> bool:
    if figure.unit is None:
        return unit.is_dimensionless and close_to(value * unit.scale, figure.value)
    if without_counts(unit.dimension) != without_counts(figure.unit.dimension):
        return False
    if unit.is_point != figure.unit.is_point:  # "2 °C warmer" is a difference
        return close_to(value * unit.scale, figure.value * figure.unit.scale)
    return close_to(unit.to_si(value), figure.unit.to_si(figure.value))


def _is_part(found: Unit | None, wanted: Unit) -> bool:
    """Whether the text's unit is the money of a price whose other half stands elsewhere."""
    if found is None or len(found.dimension) != 1:
        return False
    money = found.dimension[0]
    return len(money[0]) == 3 and money[0].isupper() and money in wanted.dimension


# --- relations ---------------------------------------------------------------------------------


def trace_relation(tracing: Tracing, name: str, source: Source, symbol: Symbol) -> None:
    """Evaluate ``sqrt(x0)`` or ``x0*x1`` over the numbers of the listed sources."""
    assert symbol.value is not None
    relation = str(source.fields["relation"])
    names = sorted({n.name for n in walk(parse(relation)) if isinstance(n, Ref)})
    candidates: list[Mapping[str, Figure]] = [{}]
    for variable in names:
        place = int(variable[1:]) if variable[1:].isdigit() else -1
        if not 0 <= place < len(source.of):
            raise EvaluationError(f"the relation {relation!r} names {variable}, no listed source")
        choices = list(
            figures(words_of(source.of[place], tracing.problem.text), tracing.problem.text)
        )[:4]
        candidates = [{**c, variable: figure} for c in candidates for figure in choices]
    unit = symbol.value.unit
    results = [_evaluate(relation, candidate, unit) for candidate in candidates]
    for result in results:
        if result is not None and all(close_to(float(v), result) for v in symbol.value.data):
            return
    # "7.2 ct" divided by 100 is meant to be 0.072 EUR, which is what the text says anyway.
    plain = [f for c in candidates if len(c) == 1 for f in c.values() if f.unit is not None]
    if any(all(_agrees(float(v), unit, f) for v in symbol.value.shown) for f in plain):
        return
    shown = ", ".join(f"{r / unit.scale:.10g} {unit}" for r in results if r is not None)
    if shown:
        mine = float(symbol.value.shown[0])
        tracing.accuse(name, f"{mine:.10g} {unit} in the blueprint, {relation} gives {shown}")
    else:
        tracing.open.append(f"{name}: the relation {relation!r} cannot be verified")


def _evaluate(relation: str, figures_: Mapping[str, Figure], unit: Unit) -> float | None:
    symbols = {
        key: Symbol(key, (), values.constant(np.array([f.value]), f.unit or values.ONE))
        for key, f in figures_.items()
    }
    try:
        value = arithmetic.adopt(Evaluator(Environment({}, symbols)).evaluate(relation), unit)
    except (EvaluationError, InputError):
        return None
    if value.unit.dimension != unit.dimension:
        return None
    return float(value.data[0])
