"""The bound that multipliers prove, and how far a point is from obeying a program."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.structure.chain import Kernel
from engiagent.solvers.structure.entries import Entries, Floats

NOISE = 1e-11
"""Up to this share of its terms the reduced cost of an unbounded column counts as zero."""


@dataclass(frozen=True, eq=False)
class Proof:
    """A point with multipliers, for the costs of a minimisation.

    Attributes
    ----------
    objective, bound
        At the point, and proven from below; without the program's constant.
    residual
        The largest amount by which a row or bound is missed, relative to the size of its terms.
    """

    objective: float
    bound: float
    residual: float

    @property
    def gap(self) -> float:
        """The distance between objective and bound, relative to the objective."""
        return abs(self.objective - self.bound) / max(1.0, abs(self.objective))


def weighted(cost: Floats, x: Floats, kernel: Kernel) -> float:
    """Return ``cost · x``."""
    if kernel == "numba":
        return float(_compiled().weighted(cost, x))
    return float((cost * x).sum())  # no dot product: BLAS waits for threads that others have taken


def reduced_costs(cost: Floats, entries: Entries, y: Floats, kernel: Kernel) -> Floats:
    """Return ``cost - Aᵀ y``, shape (n,)."""
    if kernel == "numba":
        reduced = cost.copy()
        _compiled().subtract_transposed(entries.packed, y, reduced)
        return reduced
    return cost - entries.transposed_times(y)


def prove(
    program: Program,
    entries: Entries,
    cost: Floats,
    point: tuple[Floats, Floats, Floats],
    kernel: Kernel,
) -> Proof:
    """Return what a point x, row multipliers y and reduced costs, (n,), (m,) and (n,), are worth.

    ``cost`` is that of a minimisation and the reduced costs are ``cost - Aᵀ y``.
    """
    x, y, reduced = point
    rows, columns = (
        (program.row_lower, program.row_upper),
        (program.column_lower, program.column_upper),
    )
    objective = weighted(cost, x, kernel)
    if kernel == "numba":
        compiled, nothing = _compiled(), np.zeros(0)
        bound = compiled.least_over_box(y, nothing, *rows)
        part = compiled.least_over_box(reduced, nothing, *columns)
        if part == -np.inf:  # perhaps only through rounding
            sizes = np.abs(cost)
            compiled.add_sizes(entries.packed, y, sizes)
            part = compiled.least_over_box(reduced, NOISE * sizes, *columns)
        return Proof(objective, bound + part, compiled.residual(entries.packed, x, *rows, *columns))
    bound = _least(y, *rows, np.zeros(len(y)))
    noise = np.zeros(len(x))
    infinite = ~(np.isfinite(program.column_lower) & np.isfinite(program.column_upper))
    if infinite.any():
        sizes = np.abs(entries.values * y[entries.rows])
        noise = np.abs(cost) + np.bincount(entries.columns, sizes, len(x))
        noise = np.where(infinite, NOISE * noise, 0.0)
    bound += _least(reduced, *columns, noise)
    return Proof(objective, bound, residual(program, entries, x))


def _compiled() -> Any:
    from engiagent.solvers.chain import compiled_rows

    return compiled_rows


def _least(slope: Floats, lower: Floats, upper: Floats, noise: Floats) -> float:
    """Return the least of ``slope · z`` over a box; -inf where it has no end."""
    with np.errstate(invalid="ignore"):
        # Sums of products, not dot products: BLAS waits for threads that others have taken.
        total = float(
            (np.maximum(slope, 0.0) * lower).sum() + (np.minimum(slope, 0.0) * upper).sum()
        )
    if np.isfinite(total):
        return total  # no bound is infinite: there is nothing to tell from noise
    end = np.where(slope > 0, lower, upper)
    active = np.abs(slope) > noise
    with np.errstate(invalid="ignore"):
        terms = np.where(active, slope * end, 0.0)
    return float(terms.sum()) if np.isfinite(terms).all() else -np.inf


def residual(program: Program, entries: Entries, x: Floats) -> float:
    """Return the largest violation of a row or bound, relative to the size of its terms."""
    activity, size = entries.times(x), entries.sizes_times(x)
    worst = _miss(activity, program.row_lower, program.row_upper, size)
    return max(worst, _miss(x, program.column_lower, program.column_upper, np.abs(x)))


def _miss(value: Floats, lower: Floats, upper: Floats, size: Floats) -> float:
    miss = np.maximum(lower - value, value - upper)
    off = np.flatnonzero(~(miss <= 0.0))
    return float((miss[off] / np.maximum(1.0, size[off])).max(initial=0.0))
