"""Units of numbers that have none beside them: from a table, a sentence, the text, an equation.

In "C = a + b P + c P², with P in MW and C in EUR/h" the unit of c is EUR/(MW²·h): a product of
powers of units that the text names. That is accepted for a number in a formula, or in a column
whose header is a symbol of one, as long as the text's units leave no other size for it.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from engiagent.units.unit import Dimension, Unit, parse_unit
from engiagent.units.words import resolve_unit
from engiagent.verify.figures import lone_units, rate_of_things, units_said_of_all
from engiagent.verify.levels.sources import ProblemLike, Source, Span

MOST_UNITS: Final = 12
"""Of one text that are combined with one another."""
_POWERS: Final = (-3, -2, -1, 1, 2, 3)
_SYMBOL: Final = re.compile(r"[$`*\\]*([A-Za-zα-ωΑ-Ω]+)(?:_\{?\w+\}?)?[$`*]*")
_FORMULA: Final = re.compile(r"[A-Za-zα-ωΑ-Ω)}\]]\s*=\s*[^=\s]")


def unit_elsewhere(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the unit of a number that has none beside it."""
    return (
        _table_unit(problem, leaf)
        or _quantity_unit(problem, leaf, wanted)
        or _rate_of_things(problem, leaf)
        or _sentence_unit(problem, leaf, wanted)
        or _unit_of_the_text(problem, leaf, wanted)
    )


def _cell(problem: ProblemLike, span: Span) -> tuple[Any, Any, int] | None:
    """Return table, row and column of the cell in which a place of the text is."""
    for table in problem.tables:
        for row in table.rows:
            for place, cell in enumerate(row):
                if cell.span[0] <= span[0] and span[1] <= max(cell.span[1], cell.span[0] + 1):
                    return table, row, place
    return None


def _table_unit(problem: ProblemLike, leaf: Source) -> Unit | None:
    """Return the unit of a table's cell: from its row, or from its column's header."""
    found = None if leaf.span is None else _cell(problem, leaf.span)
    if leaf.kind != "table" or found is None:
        return None
    table, row, place = found
    if table.unit_column is None or table.unit_column == place:
        unit: Unit | None = table.units[place]
        return unit
    return resolve_unit(row[table.unit_column].text)


def _quantity_unit(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the unit that stands elsewhere: ``kW`` for the 2 of ``from 2 to 8 kW``.

    A duration in the words before a list, as "kWh in each half hour: 3, 4", says nothing of it.
    """
    if leaf.span is None:
        return None
    timed = wanted.dimension == parse_unit("s").dimension
    for quantity in problem.quantities:
        if not timed and getattr(quantity, "kind", "number") == "duration":
            continue
        start, stop = getattr(quantity, "number_span", quantity.span)
        if start < leaf.span[1] and leaf.span[0] < stop and quantity.unit is not None:
            unit: Unit = quantity.unit
            return unit
    return None


def _rate_of_things(problem: ProblemLike, leaf: Source) -> Unit | None:
    """Return ``1/h`` for the 40 of ``40 points per hour``."""
    if leaf.kind == "table" or leaf.span is None:
        return None
    return rate_of_things(problem.text[leaf.span[1] : leaf.span[1] + 80])


def _sentence_unit(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the one unit of the wanted kind that the sentence names apart from its numbers."""
    if leaf.span is None:
        return None
    tables = [t.span for t in problem.tables if t.span[0] <= leaf.span[0] < t.span[1]]
    whole = [s.span for s in problem.sentences if s.span[0] <= leaf.span[0] < s.span[1]]
    first, last = next(iter((*tables, *whole)), leaf.span)
    for sentence in problem.sentences:
        start, stop = sentence.span
        above = stop <= first and not problem.text[stop:first].strip()
        led = bool(tables) or problem.text[start:stop].rstrip().endswith(":")
        if (start <= first and last <= stop) or (above and led):
            named = {
                (unit.factor, unit.zero): unit
                for unit in lone_units(problem.text[start:stop], problem.text)
                if unit.dimension == wanted.dimension and unit.dimension
            }
            if len(named) == 1:
                return next(iter(named.values()))
    return None


_ONCE = re.compile(
    r"\b(?:all|every|unless|throughout|units?|given|expressed|stated|measured|table|tab\.)\b", re.I
)


def _unit_of_the_text(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the unit of the wanted kind that is stated once: for a table, or for all of the text.

    As in "Table 1: limits in kW" or "unless stated otherwise, powers are in kW".
    """
    if leaf.span is None or not wanted.dimension:
        return None
    place = leaf.span[0]
    captions = [t.caption for t in problem.tables if t.span[0] <= place < t.span[1]]
    sentences = [problem.text[slice(*s.span)] for s in problem.sentences]
    for texts in (captions, [text for text in sentences if _ONCE.search(text)]):
        named = {u for u in _units_said(tuple(texts), problem.text) if u[0] == wanted.dimension}
        if named:
            return next(unit for *_, unit in named) if len(named) == 1 else None
    return None


@lru_cache(maxsize=64)
def _units_said(texts: tuple[str, ...], whole: str) -> frozenset[tuple[Any, ...]]:
    """Return dimension, factor, zero and unit of every unit that some sentences say of all."""
    units = {
        (unit.dimension, unit.factor, unit.zero): unit
        for text in texts
        for unit in units_said_of_all(text, whole)
    }
    return frozenset((*key, unit) for key, unit in units.items())


# --- coefficients of equations -----------------------------------------------------------------


def unit_follows(problem: ProblemLike, leaf: Source, wanted: Unit) -> bool:
    """Whether a number without a unit is a coefficient that can only be read in a unit."""
    if leaf.span is None or not _in_formula(problem, leaf):
        return False
    units = _units_of(problem.text)
    if len(units) > MOST_UNITS:
        return False
    return set(_sizes(units, wanted.dimension)) == {wanted.factor}


def _in_formula(problem: ProblemLike, leaf: Source) -> bool:
    assert leaf.span is not None
    place = leaf.span[0]
    sentences = [problem.text[slice(*s.span)] for s in problem.sentences]
    for table in problem.tables:
        if table.span[0] <= place < table.span[1]:
            cell = _cell(problem, (place, place + 1))
            symbol = None if cell is None else _SYMBOL.fullmatch(str(table.names[cell[2]]))
            if symbol is None or len(symbol[1]) > 5:
                return False
            name = re.compile(rf"(?<![A-Za-z]){re.escape(symbol[1])}(?![A-Za-z])")
            return any(_FORMULA.search(text) and name.search(text) for text in sentences)
    around = [s.span for s in problem.sentences if s.span[0] <= place < s.span[1]]
    return any(_FORMULA.search(problem.text[slice(*span)]) for span in around)


@lru_cache(maxsize=64)
def _units_of(text: str) -> tuple[Unit, ...]:
    """Return the units that a text names, each size of a dimension once."""
    found = {(u.dimension, u.factor): u for u in lone_units(text) if not u.is_point}
    return tuple(found.values())


def _sizes(units: tuple[Unit, ...], wanted: Dimension) -> Iterator[Fraction]:
    """Yield the size of every product of powers of one or two units that has a dimension."""
    for first, one in enumerate(units):
        for power in _POWERS:
            if _times(one, power) == dict(wanted):
                yield _raised(one, power)
            for other in units[first + 1 :]:
                for second in _POWERS:
                    if _times(one, power, other, second) == dict(wanted):
                        yield _raised(one, power) * _raised(other, second)


def _raised(unit: Unit, power: int) -> Fraction:
    return Fraction(unit.factor) ** power


def _times(one: Unit, power: int, other: Unit | None = None, second: int = 0) -> dict[str, int]:
    total = {base: exponent * power for base, exponent in one.dimension}
    for base, exponent in () if other is None else other.dimension:
        total[base] = total.get(base, 0) + exponent * second
    return {base: exponent for base, exponent in total.items() if exponent}
