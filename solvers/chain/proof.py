"""The bound that multipliers prove, and how far a point is from obeying a program."""

from dataclasses import dataclass

import numpy as np

from engiagent.formulations.program import Program
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


def prove(
    program: Program, entries: Entries, x: Floats, y: Floats, reduced: Floats, sign: float
) -> Proof:
    """Return what a point x and row multipliers y, shapes (n,) and (m,), are worth.

    ``reduced`` are the reduced costs ``sign * cost - Aᵀ y``, shape (n,).
    """
    cost = sign * program.cost
    bound = _least(y, program.row_lower, program.row_upper, np.zeros(len(y)))
    noise = np.zeros(len(x))
    infinite = ~(np.isfinite(program.column_lower) & np.isfinite(program.column_upper))
    if infinite.any():
        sizes = np.abs(entries.values * y[entries.rows])
        noise = np.abs(cost) + np.bincount(entries.columns, sizes, len(x))
        noise = np.where(infinite, NOISE * noise, 0.0)
    bound += _least(reduced, program.column_lower, program.column_upper, noise)
    return Proof(float((cost * x).sum()), bound, residual(program, entries, x))


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
