"""Bounds that the constraints imply for variables that declare none.

A safe dual bound needs a finite bound for every variable whose reduced cost is not exactly zero,
and in floating point none is. A temperature without limits still is bounded by its dynamics: one
walk through the rows in their order, as the chain of time runs, finds by how much.
"""

import math
from typing import Final

import numpy as np

from engiagent.verify.levels.forms import Form
from engiagent.verify.values import Bools, Floats, Ints

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
