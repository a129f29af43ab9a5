"""Affine values whose rows all have the same form: one band of coefficients for each of its terms.

The rows of a balance, a limit over time or a single comparison name the elements of a variable
in order. They are then a few arrays of coefficients, and need no sparse matrix.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.verify.levels.variables import Bounds
from engiagent.verify.values import EPSILON, Floats, Link, Value, blocks, thin


@dataclass(frozen=True, eq=False, slots=True)
class Band:
    """One coefficient on every row: row ``r`` has that of the element ``start + r``.

    ``factors`` has one number for each row, or one for all of them.
    """

    order: int
    start: int
    factors: Floats


ONES: Final = np.ones(1)
At = Callable[[int, int], Floats]
"""What columns are at the point, from one of them up to another."""


def bands_of(value: Value) -> list[Band] | None:
    """Return the bands of a value's variables; None where its rows differ in form."""
    rows = value.data.size
    found: list[Band] = []
    stack = [(value, 0, ONES)]
    while stack:
        node, start, factors = stack.pop()
        if node.atom is not None or node.data.size < start + rows:
            return None
        if not node.links:
            if node.degree:
                found.append(Band(node.order, start, factors))
            continue
        for link in node.links:
            below = _below(link, start, factors, rows)
            if below is None:
                return None
            stack.append((link.parent, *below))
    return found


def _below(link: Link, start: int, factors: Floats, rows: int) -> tuple[int, Floats] | None:
    """Return start and coefficients of a band of a value as those of its parent."""
    if link.kind == "each":
        if isinstance(link.weight, float):
            return start, factors if link.weight == 1.0 else factors * link.weight
        weight = thin(link.weight)
        return start, factors * (weight if weight.size == 1 else weight[start : start + rows])
    if link.kind != "gather" or link.rows is None:
        return None
    if isinstance(link.rows, slice):
        return start + int(link.rows.start), factors
    return (int(link.rows[start]), factors) if rows == 1 else None


@dataclass(frozen=True, eq=False)
class Banded:
    """The rows of a value as bands over columns, in the order of the columns."""

    value: Value
    columns: tuple[int, ...]
    factors: tuple[Floats, ...]

    def constant(self, rows: slice, point: At) -> tuple[Floats, Floats]:
        """Return what is left of some rows at a point without their terms, and its error."""
        size = rows.stop - rows.start
        sums, sizes = np.zeros(size), np.zeros(size)
        for column, factors in zip(self.columns, self.factors, strict=True):
            here = point(column + rows.start, column + rows.stop)
            factor = part(factors, rows)
            sums += factor * here
            sizes += np.abs(factor) * np.abs(here)
        error = EPSILON * (self.value.roundings + len(self.columns) + 8)
        return self.value.data[rows] - sums, error * (self.value.size_of(rows) + sizes)


def banded(value: Value, starts: Mapping[int, int]) -> Banded | None:
    """Return a value as bands over columns; None where it is none, or two bands fall together.

    Raises
    ------
    KeyError
        When it is made of a variable that has no columns.
    """
    found = bands_of(value)
    if not found:
        return None
    placed = sorted((starts[band.order] + band.start, k) for k, band in enumerate(found))
    columns = tuple(column for column, _ in placed)
    if len(set(columns)) != len(columns):
        return None
    return Banded(value, columns, tuple(found[k].factors for _, k in placed))


def common_factor(one: Banded, two: Banded, point: At, alike: float) -> Floats | None:
    """Return by what each row of one has to be multiplied to be that of another.

    None when it cannot be, up to ``alike`` of each coefficient and of the terms of the constant.
    One number stands for all rows where it is the same on all.
    """
    if one.columns != two.columns or one.value.data.size != two.value.data.size:
        return None
    if not all(factors.all() for factors in one.factors):
        return None
    factor = np.asarray(two.factors[0] / one.factors[0])
    if not (factor.all() and np.isfinite(factor).all()):
        return None
    for rows in blocks(one.value.data.size):
        share = part(factor, rows)
        for a, b in zip(one.factors, two.factors, strict=True):
            wanted = part(b, rows)
            if (np.abs(share * part(a, rows) - wanted) > alike * np.abs(wanted)).any():
                return None
        # The errors of the constants tell how large the terms are that make them.
        (here, doubt), (there, other) = (form.constant(rows, point) for form in (one, two))
        room = alike / EPSILON * (other + np.abs(share) * doubt)
        if (np.abs(share * here - there) > room).any():
            return None
    return factor


def tighten_band(
    box: Bounds, op: str, sides: tuple[Value, Value], here: Floats, band: Band
) -> None:
    """Tighten a box in place by rows with one term each, rounded outwards.

    Parameters
    ----------
    op, sides
        The comparison.
    here
        The variable that the box is of.
    band
        The term of the left side less the right one.
    """
    left, right = sides
    a, b = thin(left.data), thin(right.data)
    for rows in blocks(max(left.data.size, right.data.size)):
        factors = part(band.factors, rows)
        own = slice(band.start + rows.start, band.start + rows.stop)
        limit = here[own] - (part(a, rows) - part(b, rows)) / factors
        room = 16 * EPSILON * (left.size_of(rows) + right.size_of(rows)) / np.abs(factors)
        lower, upper, positive = box.lower[own], box.upper[own], factors > 0
        for sign, rising in ((positive, ">="), (~positive, "<=")):
            chosen = True if sign.all() else sign
            if op in ("==", rising) and sign.any():
                np.maximum(lower, limit - room, out=lower, where=chosen)
            if op != rising and sign.any():
                np.minimum(upper, limit + room, out=upper, where=chosen)


def part(factors: Floats, rows: slice) -> Floats:
    """Return the coefficients of some rows."""
    return factors if factors.size == 1 else factors[rows]
