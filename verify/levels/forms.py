"""Values as sparse affine forms over columns, and the bounds that their rows imply."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

from engiagent.verify.values import EPSILON, Bools, Floats, Ints, Value, triplets

Matrix = Any
"""A ``scipy.sparse.csr_matrix``."""


@dataclass(frozen=True, eq=False)
class Form:
    """``matrix @ columns + constant``, whose constant is right to ``error``."""

    matrix: Matrix
    constant: Floats
    error: Floats

    @property
    def size(self) -> int:
        """The number of rows."""
        return int(self.constant.size)

    @property
    def is_constant(self) -> bool:
        """Whether no column stands in it."""
        return bool(self.matrix.nnz == 0)

    def at(self, point: Floats) -> Floats:
        """Return the values at a point, one number for each column."""
        return np.asarray(self.matrix @ point + self.constant)

    def take(self, rows: Any) -> "Form":
        """Return some of the rows."""
        return Form(self.matrix[rows], self.constant[rows], self.error[rows])

    def times(self, factors: Floats) -> "Form":
        """Return every row times its factor; the rounding of the constant is added to its error."""
        import scipy.sparse as sp

        constant = self.constant * factors
        error = np.abs(factors) * self.error + 4 * EPSILON * np.abs(constant)
        return Form(sp.diags(factors, format="csr") @ self.matrix, constant, error)

    def plus(self, other: "Form", sign: float = 1.0) -> "Form":
        """Return the sum with another form, or the difference."""
        constant = self.constant + sign * other.constant
        error = self.error + other.error
        error = error + 4 * EPSILON * (np.abs(self.constant) + np.abs(other.constant))
        return Form((self.matrix + sign * other.matrix).tocsr(), constant, error)

    def interval(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Return the least and the greatest value over a box, rounded outwards."""
        positive, negative = self.matrix.maximum(0), self.matrix.minimum(0)
        with np.errstate(all="ignore"):
            low = positive @ lower + negative @ upper + self.constant
            high = positive @ upper + negative @ lower + self.constant
            ends = np.maximum(np.abs(lower), np.abs(upper))
            room = 64 * EPSILON * (abs(self.matrix) @ np.where(np.isfinite(ends), ends, 0.0))
            room = room + self.error + 8 * EPSILON * np.abs(self.constant)
        low, high = low - room, high + room
        return np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)


@dataclass(frozen=True, eq=False)
class Columns:
    """Where the elements of each variable and atom stand, and what they are at the point.

    ``starts`` goes by the ``order`` of their values; ``pieces`` are the values of the columns, one
    stretch of them after the other.
    """

    starts: Mapping[int, int]
    pieces: Sequence[Floats]

    @cached_property
    def point(self) -> Floats:
        """The values of all columns."""
        return np.concatenate(self.pieces or [np.zeros(0)])

    def form(self, *values: Value) -> Form:
        """Return a value as a form; several below one another."""
        import scipy.sparse as sp

        rows, columns, factors = [np.zeros(0, int)], [np.zeros(0, int)], [np.zeros(0)]
        first = 0
        for value in values:
            for order, (row, place, factor) in triplets(value).items() if value.degree else ():
                rows.append(row + first)
                columns.append(place + self.starts[order])
                factors.append(factor)
            first += value.data.size
        entries = (np.concatenate(factors), (np.concatenate(rows), np.concatenate(columns)))
        matrix = sp.csr_matrix(entries, shape=(first, self.point.size))
        data, sizes = (
            np.concatenate([np.zeros(0), *parts])
            for parts in ([v.data for v in values], [v.size for v in values])
        )
        roundings = np.repeat([v.roundings for v in values], [v.data.size for v in values])
        sizes = sizes + abs(matrix) @ np.abs(self.point)
        error = EPSILON * (roundings + np.diff(matrix.indptr) + 8) * sizes
        return Form(matrix, data - matrix @ self.point, error)


def widened(form: Form, count: int) -> Form:
    """Return a form with room for columns that came later."""
    if form.matrix.shape[1] == count:
        return form
    matrix = form.matrix.copy()
    matrix.resize((form.size, count))
    return Form(matrix, form.constant, form.error)


def stacked(forms: Sequence[Form], count: int) -> Form:
    """Return forms one below the other, none as one without rows."""
    import scipy.sparse as sp

    if not forms:
        return Form(sp.csr_matrix((0, count)), np.zeros(0), np.zeros(0))
    return Form(
        sp.vstack([form.matrix for form in forms], format="csr"),
        np.concatenate([form.constant for form in forms]),
        np.concatenate([form.error for form in forms]),
    )


PASSES: Final = 4
WIDER: Final = 1e-9
"""Far above the rounding of the walk; what it costs the bound is below its last digit."""


def implied_ends(
    rows: Form, equal: Bools, order: Ints, point: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """Return the bounds of all columns, with infinite ones made finite where rows imply it.

    ``rows``, ``equal``: ``form <= 0`` and, where ``equal``, ``form == 0``. ``order``: in which
    order the rows are gone through, smallest first. ``point``: a plan, which tells how large the
    terms of a row are.
    """
    matrix, open_ = rows.matrix, ~(np.isfinite(lower) & np.isfinite(upper))
    owner = np.repeat(np.arange(rows.size), np.diff(matrix.indptr))
    useful = np.zeros(rows.size, dtype=bool)
    useful[owner[open_[matrix.indices] & (matrix.data != 0)]] = True
    chosen = np.flatnonzero(useful)
    chosen = chosen[np.argsort(order[chosen], kind="stable")]
    room = WIDER * (abs(matrix) @ np.abs(point) + np.abs(rows.constant) + 1e-300) + rows.error
    # Rows hold a handful of terms each: plain numbers are several times faster than arrays here.
    columns, factors, starts = matrix.indices.tolist(), matrix.data.tolist(), matrix.indptr.tolist()
    most = (room - rows.constant).tolist()
    least = np.where(equal, -room - rows.constant, -np.inf).tolist()
    terms = []
    for row in chosen.tolist():
        span = slice(starts[row], starts[row + 1])
        pairs = [(c, f) for c, f in zip(columns[span], factors[span], strict=True) if f]
        terms.append((pairs, least[row], most[row]))
    low, high = lower.tolist(), upper.tolist()
    for _ in range(PASSES):
        if not sum(_tighten(*row, low, high) for row in terms):
            break
    return np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)


def netted_ends(
    goal: Form, rows: Form, equal: Bools, bent: Ints, lower: Floats, upper: Floats
) -> Floats:
    """Return the upper bounds of all columns, finite ones for pairs of which one may be 0.

    Where two columns from 0 up, as import and export of a grid, may be lessened alike at no cost
    and without breaking a row, some optimum has one at 0; the other is what an equation leaves.
    ``goal``: what is minimised. ``bent``: columns of functions, and integers, of which no part can
    be taken. Others as :func:`implied_ends`.
    """
    candidate = (lower == 0.0) & np.isinf(upper)
    candidate[bent] = False
    both = rows.matrix[:, candidate]
    both.eliminate_zeros()
    cancels = np.asarray(both.sum(axis=1)).reshape(-1) == 0
    chosen = np.flatnonzero(equal & cancels & (np.diff(both.indptr) == 2))
    pairs = np.flatnonzero(candidate)[both[chosen].indices.reshape(-1, 2)]
    matrix = rows.matrix.tocsc()
    lessened = (matrix[:, pairs[:, 0]] + matrix[:, pairs[:, 1]]).tocoo()
    breaks = (lessened.data < 0) | (equal[lessened.row] & (lessened.data != 0))
    allowed = np.bincount(lessened.col[breaks], minlength=len(pairs)) == 0
    allowed &= np.asarray(goal.matrix.toarray()).reshape(-1)[pairs].sum(axis=1) >= 0
    chosen, pairs = chosen[allowed], pairs[allowed]
    rest, factors = rows.matrix[chosen], np.asarray(rows.matrix[chosen, pairs[:, 0]]).reshape(-1)
    owner = np.repeat(np.arange(chosen.size), np.diff(rest.indptr))
    rest.data[(rest.indices[:, None] == pairs[owner]).any(axis=1)] = 0.0
    rest.eliminate_zeros()
    left = Form(rest, rows.constant[chosen], rows.error[chosen]).interval(lower, upper)
    found = upper.copy()
    for column, factor in ((pairs[:, 0], factors), (pairs[:, 1], -factors)):
        most = np.maximum(-left[0] / factor, -left[1] / factor)
        found[column] = np.minimum(found[column], np.maximum(0.0, most) * (1 + WIDER))
    return found


def _tighten(
    terms: list[tuple[int, float]],
    row_low: float,
    row_high: float,
    lower: list[float],
    upper: list[float],
) -> bool:
    """Derive bounds of one row's open variables from the bounds of its others."""
    changed = False
    for column, factor in terms:
        if lower[column] > -math.inf and upper[column] < math.inf:
            continue
        least = most = 0.0
        for other, weight in terms:
            if other != column:
                ends = weight * lower[other], weight * upper[other]
                least, most = least + min(ends), most + max(ends)
        # factor * x <= row_high - least and >= row_low - most
        ends = (row_low - most) / factor, (row_high - least) / factor
        floor, ceiling = min(ends), max(ends)
        if lower[column] == -math.inf and math.isfinite(floor):
            lower[column] = floor - WIDER * abs(floor)
            changed = True
        if upper[column] == math.inf and math.isfinite(ceiling):
            upper[column] = ceiling + WIDER * abs(ceiling)
            changed = True
    return changed
