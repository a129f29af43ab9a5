"""Numbers on rows in rational arithmetic, which know their coefficients while they are affine.

The counterpart of :mod:`engiagent.verify.values`: the same rules of units, another arithmetic.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from engiagent.blueprint.grammar import neighbours
from engiagent.units.unit import Unit, UnitError
from engiagent.verify.exact.numbers import (
    Fractions,
    NotExactError,
    few,
    filled,
    grouped,
    stretched,
    total,
)
from engiagent.verify.values import ONE, Ints


@dataclass(frozen=True, eq=False)
class Entries:
    """Coefficients of columns in rows, with repetitions to be summed."""

    rows: Ints
    columns: Ints
    factors: Fractions

    def times(self, weights: Fractions) -> "Entries":
        """Return every entry times the weight of its row."""
        one, other = few(weights), few(self.factors)
        if one.size == 1:
            made = stretched(other * one[0], self.rows.size)
        else:
            made = self.factors * weights[self.rows]
        return replace(self, factors=made)

    def take(self, rows: Ints, size: int) -> "Entries":
        """Return the entries of chosen rows, numbered anew; a row may be chosen many times."""
        if self.rows.size == size and np.array_equal(self.rows, np.arange(size)):
            return Entries(np.arange(rows.size), self.columns[rows], _picked(self.factors, rows))
        order = np.argsort(self.rows, kind="stable")
        counts = np.bincount(self.rows, minlength=size)
        starts = np.concatenate(([0], np.cumsum(counts)))
        each = counts[rows]
        within = np.arange(each.sum()) - np.repeat(np.cumsum(each) - each, each)
        chosen = order[np.repeat(starts[rows], each) + within]
        placed = np.repeat(np.arange(rows.size), each)
        return Entries(placed, self.columns[chosen], _picked(self.factors, chosen))


def _picked(data: Fractions, places: Ints) -> Fractions:
    single = few(data)
    return stretched(single, places.size) if single.size == 1 else data[places]


@dataclass(frozen=True, eq=False)
class Exact:
    """One rational number per row, in SI.

    Attributes
    ----------
    entries
        Coefficients where the number is affine in the columns, () for a constant; None where it is
        neither.
    bare
        Whether it is a literal without a unit, which takes that of its neighbour.
    nought
        Whether it is the literal 0, which takes any unit.
    """

    data: Fractions
    unit: Unit
    entries: tuple[Entries, ...] | None = ()
    bare: bool = False
    nought: bool = False

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.data.size)

    @property
    def is_constant(self) -> bool:
        """Whether no column stands in it."""
        return self.entries is not None and not self.entries

    def joined(self) -> Entries:
        """Return all entries as one.

        Raises
        ------
        NotExactError
            When it is not affine.
        """
        if self.entries is None:
            raise NotExactError("it is not affine in the variables")
        none = np.zeros(0, dtype=np.int64)
        parts = self.entries
        return Entries(
            np.concatenate([none, *(part.rows for part in parts)]),
            np.concatenate([none, *(part.columns for part in parts)]),
            np.concatenate([np.zeros(0, dtype=object), *(part.factors for part in parts)]),
        )


def constant(data: Fractions, unit: Unit, bare: bool = False) -> Exact:
    """Return constants given in ``unit``, converted to SI."""
    small = few(data)
    if unit.factor != 1:
        small = small * unit.factor
    if unit.zero:
        small = small + unit.zero
    return Exact(stretched(small, data.size), unit, (), bare)


def adopt(value: Exact, unit: Unit) -> Exact:
    """Return a bare literal in the unit of its neighbour."""
    takes = value.bare and (not unit.is_dimensionless or value.nought)
    return constant(value.data, unit) if takes else value


def align(values: Sequence[Exact]) -> list[Exact]:
    """Return values that can be compared: one dimension, bare literals in the others' unit."""
    unit = next((value.unit for value in values if not value.bare), ONE)
    return [_need(value, unit) for value in values]


def align_chain(values: Sequence[Exact]) -> list[Exact]:
    """Return the parts of a comparison, each bare literal in the unit of what it stands beside."""
    beside = neighbours([value.bare for value in values])
    return align([adopt(value, values[k].unit) for value, k in zip(values, beside, strict=True)])


def _need(value: Exact, unit: Unit) -> Exact:
    value = adopt(value, unit)
    if value.unit.dimension != unit.dimension or value.unit.is_point != unit.is_point:
        raise UnitError(f"one side is {unit}, the other {value.unit}")
    return value


def _refuse_point(*values: Exact) -> None:
    for value in values:
        if value.unit.is_point:
            raise UnitError(f"a temperature in {value.unit} cannot be scaled or summed")


def _scaled(entries: tuple[Entries, ...] | None, weights: Fractions) -> tuple[Entries, ...] | None:
    return None if entries is None else tuple(part.times(weights) for part in entries)


def _spread(value: Exact, rows: int) -> tuple[Entries, ...] | None:
    """Return the entries of a value on so many rows: one row may stand for all."""
    if not value.entries or value.size == rows:
        return value.entries
    return tuple(part.take(np.zeros(rows, dtype=np.int64), value.size) for part in value.entries)


def negate(value: Exact) -> Exact:
    """Return ``-value``."""
    _refuse_point(value)
    data = stretched(-few(value.data), value.size)
    entries = _scaled(value.entries, filled(Fraction(-1), 1))
    return Exact(data, value.unit, entries, value.bare, value.nought)


def add(left: Exact, right: Exact, sign: int) -> Exact:
    """Return ``left + sign * right``, points and differences kept apart."""
    if left.bare and right.bare:
        unit = ONE
    else:
        left, right, unit = _align_sum(left, right, sign)
    rows = max(left.size, right.size)
    one, other = few(left.data), few(right.data)
    data = stretched(one + other if sign > 0 else one - other, rows)
    parts = _spread(left, rows), _scaled(_spread(right, rows), filled(Fraction(sign), 1))
    entries = None if parts[0] is None or parts[1] is None else (*parts[0], *parts[1])
    return Exact(data, unit, entries, left.bare and right.bare)


def _align_sum(left: Exact, right: Exact, sign: int) -> tuple[Exact, Exact, Unit]:
    if right.unit.is_point and sign < 0:
        left = adopt(left, right.unit)
        if not left.unit.is_point:
            raise UnitError("an amount minus a temperature has no meaning")
        return left, right, left.unit.difference()
    if left.unit.is_point and right.unit.is_point:
        raise UnitError("two temperatures cannot be added")
    if left.unit.is_point:
        return left, _need(right, left.unit.difference()), left.unit
    if right.unit.is_point:
        return _need(left, right.unit.difference()), right, right.unit
    left, right = adopt(left, right.unit), adopt(right, left.unit)
    return left, _need(right, left.unit), left.unit


def multiply(left: Exact, right: Exact) -> Exact:
    """Return the product; affine when one factor is a constant."""
    _refuse_point(left, right)
    rows = max(left.size, right.size)
    data = stretched(few(left.data) * few(right.data), rows)
    entries: tuple[Entries, ...] | None = None
    if left.is_constant:
        entries = _scaled(_spread(right, rows), left.data)
    elif right.is_constant:
        entries = _scaled(_spread(left, rows), right.data)
    return Exact(data, left.unit * right.unit, entries, left.bare and right.bare)


def divide(left: Exact, right: Exact) -> Exact:
    """Return the quotient; affine when the divisor is a constant.

    Raises
    ------
    NotExactError
        When the divisor is zero somewhere.
    """
    _refuse_point(left, right)
    below = few(right.data)
    if not all(below):
        raise NotExactError("a division by zero")
    rows = max(left.size, right.size)
    inverse = stretched(1 / below, right.size)
    data = stretched(few(left.data) * few(inverse), rows)
    entries = _scaled(_spread(left, rows), inverse) if right.is_constant else None
    if left.is_constant and not right.is_constant:
        entries = None
    return Exact(data, left.unit / right.unit, entries, left.bare and right.bare)


def power(base: Exact, exponent: int) -> Exact:
    """Return a whole power."""
    _refuse_point(base)
    if exponent < 0 and not all(few(base.data)):
        raise NotExactError("a division by zero")
    data = stretched(few(base.data) ** exponent, base.size)
    flat = base.is_constant or exponent == 1
    entries = base.entries if flat else (None if exponent else ())
    return Exact(data, base.unit**exponent, entries, base.bare)


def gather(value: Exact, rows: Ints) -> Exact:
    """Return ``value[rows]``."""
    entries = value.entries
    if entries:
        entries = tuple(part.take(rows, value.size) for part in entries)
    return replace(value, data=_picked(value.data, rows), entries=entries)


def segment_sum(value: Exact, rows: Ints, size: int) -> Exact:
    """Return the sums over the groups that ``rows`` names."""
    _refuse_point(value)
    data = filled(total(value.data), 1) if size == 1 else grouped(value.data, rows, size)
    entries = value.entries
    if entries:
        entries = tuple(replace(part, rows=np.asarray(rows[part.rows])) for part in entries)
    return Exact(data, value.unit, entries, value.bare)


def combine(parts: Sequence[tuple[Exact, Ints]], size: int) -> Exact:
    """Return one value of which each part fills its own rows."""
    values = [value for value, _ in parts]
    bare = all(value.bare for value in values)
    aligned = values if bare else align(values)
    data = np.empty(size, dtype=object)
    entries: list[Entries] | None = []
    for value, (_, rows) in zip(aligned, parts, strict=True):
        data[rows] = value.data
        if value.entries is None or entries is None:
            entries = None
            continue
        entries += [replace(part, rows=np.asarray(rows[part.rows])) for part in value.entries]
    return Exact(data, aligned[0].unit, None if entries is None else tuple(entries), bare)


def extreme(kind: str, arguments: Sequence[Exact]) -> Exact:
    """Return ``max`` or ``min`` row by row; no longer affine, unless all are constants."""
    aligned = align(arguments)
    size = max(value.size for value in aligned)
    join = min if kind == "min" else max
    columns = [stretched(value.data, size).tolist() for value in aligned]
    data = np.empty(size, dtype=object)
    data[:] = [join(row) for row in zip(*columns, strict=True)]
    flat = all(value.is_constant for value in aligned)
    return Exact(data, aligned[0].unit, () if flat else None)
