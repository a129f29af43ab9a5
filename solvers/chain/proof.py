"""The bound that duals prove, and how far a point is from obeying a program."""

from dataclasses import dataclass

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.structure.entries import Entries, Floats

NOISE = 1e-11
"""Up to this share of its terms the reduced cost of an unbounded column counts as zero."""


@dataclass(frozen=True, eq=False)
class Proof:
    """A point with duals, for the costs of a minimisation."""

    # objective, bound: at the point, and proven from below; without the program's constant
    objective: float
    bound: float
    # the largest amount by which a row or bound is missed, relative to the size of its terms
    residual: float

    @property
    def gap(self) -> float:
        """The distance between objective and bound, relative to the objective."""
        return abs(self.objective - self.bound) / max(1.0, abs(self.objective))


def prove(
    program: Program, entries: Entries, cost: Floats, point: tuple[Floats, Floats, Floats]
) -> Proof:
    """Return what a point x, duals y and reduced costs, (n,), (m,) and (n,), are worth.

    ``cost`` is that of a minimisation and the reduced costs are ``cost - Aᵀ y``.
    """
    x, y, reduced = point
    columns = program.column_lower, program.column_upper
    bound = _least(y, program.row_lower, program.row_upper, np.zeros(len(y)))
    noise = np.zeros(len(x))
    infinite = ~(np.isfinite(columns[0]) & np.isfinite(columns[1]))
    if infinite.any():
        sizes = np.abs(entries.values * y[entries.rows])
        noise = np.abs(cost) + np.bincount(entries.stored, sizes, len(x))
        noise = np.where(infinite, NOISE * noise, 0.0)
    bound += _least(reduced, *columns, noise)
    # Sums of products, not dot products: BLAS waits for threads that others have taken.
    return Proof(float((cost * x).sum()), bound, residual(program, entries, x))


def _least(slope: Floats, lower: Floats, upper: Floats, noise: Floats) -> float:
    """Return the least of ``slope · z`` over a box; -inf where it has no end."""
    with np.errstate(invalid="ignore"):
        terms = np.fmin(slope * lower, slope * upper)
        total = float(terms.sum())
        if np.isfinite(total):
            return total  # no bound is infinite: there is nothing to tell from noise
        terms = np.where(np.abs(slope) > noise, terms, 0.0)
    return float(terms.sum()) if np.isfinite(terms).all() else -np.inf


def residual(program: Program, entries: Entries, x: Floats) -> float:
    """Return the largest violation of a row or bound, relative to the size of its terms."""
    terms = entries.values * x[entries.stored]
    activity = entries.sums_by_row(terms)
    off = np.maximum(program.row_lower - activity, activity - program.row_upper)
    worst = np.maximum(program.column_lower - x, x - program.column_upper)
    worst = worst / np.maximum(1.0, np.abs(x))
    if not (off <= 0.0).all():
        worst = np.append(worst, off / np.maximum(1.0, entries.sums_by_row(np.abs(terms))))
    return float(np.maximum(worst, 0.0).max(initial=0.0))
