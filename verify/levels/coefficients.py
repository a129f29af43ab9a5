"""Units that nothing beside a number says, because they follow from the equation it stands in.

In "C = a + b P + c P², with P in MW and C in EUR/h" the unit of c is EUR/(MW²·h): a product of
powers of units that the text names. That is accepted for a number in a formula, or in a column
whose header is a symbol of one, as long as the text's units leave no other size for it.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from engiagent.units.unit import Dimension, Unit
from engiagent.verify.figures import lone_units
from engiagent.verify.levels.sources import ProblemLike, Source

MOST_UNITS: Final = 12
"""Of one text that are combined with one another."""
_POWERS: Final = (-3, -2, -1, 1, 2, 3)
_SYMBOL: Final = re.compile(r"[$`*\\]*([A-Za-zα-ωΑ-Ω]+)(?:_\{?\w+\}?)?[$`*]*")
_FORMULA: Final = re.compile(r"[A-Za-zα-ωΑ-Ω)}\]]\s*=\s*[^=\s]")


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
            symbol = _SYMBOL.fullmatch(_header_above(table, place))
            if symbol is None or len(symbol[1]) > 5:
                return False
            name = re.compile(rf"(?<![A-Za-z]){re.escape(symbol[1])}(?![A-Za-z])")
            return any(_FORMULA.search(text) and name.search(text) for text in sentences)
    around = [s.span for s in problem.sentences if s.span[0] <= place < s.span[1]]
    return any(_FORMULA.search(problem.text[slice(*span)]) for span in around)


def _header_above(table: Any, place: int) -> str:
    for row in table.rows:
        for cell, name in zip(row, table.names, strict=True):
            if cell.span[0] <= place < max(cell.span[1], cell.span[0] + 1):
                return str(name)
    return ""


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
