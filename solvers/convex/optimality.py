r"""What a point and multipliers are worth, recomputed from the program itself.

For a convex program (minimised, :math:`y_i > 0` at a lower and :math:`y_i < 0` at an upper bound)
the tangents at :math:`\bar x` bound the objective at every feasible point from below:

.. math::

    f(x) \ge f(\bar x) + \sum_i y_i \, (r_i(y) - g_i(\bar x))
        + \sum_j \min_{x_j^- \le x_j \le x_j^+} z_j (x_j - \bar x_j), \qquad
    z = \nabla f(\bar x) - \nabla g(\bar x)^T y .

So the solver's own claim of a gap is not needed.
"""

from dataclasses import dataclass

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.convex.derivatives import gradient, jacobian

NEGLIGIBLE = 1e-7
"""What is left of a reduced cost whose terms cancel, relative to them, where a column has no bound
that could take it up."""


FAR = 1e11
"""Size of a point from which rounding decides what slopes are."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Multipliers of a program's rows, and of cones at whose apex their row has none."""

    rows: Floats  # in the objective's own sense, shape (m,), 0 for such cones
    # pull, slack: ``A'λ``, shape (n,), and ``λ's`` of these cones ``A x + s = b``, the objective
    # minimised
    pull: Floats | None = None
    slack: float = 0.0
    apex: tuple[int, ...] = ()  # the rows of these cones


@dataclass(frozen=True, eq=False)
class Account:
    """A point with its multipliers."""

    # x, row_dual, column_dual: the point, its multipliers and reduced costs in the objective's own
    # sense. NaN for a row that is a cone at its apex, where no multiplier exists.
    x: Floats
    row_dual: Floats
    column_dual: Floats
    # largest violation of a bound or a row, relative to ``max(1, size of its numbers)``; infinite
    # when a value is NaN
    violation: float
    # objective, bound: in the objective's own sense; the bound holds when the program is convex.
    # None when the multipliers prove none.
    objective: float
    bound: float | None

    @property
    def gap(self) -> float:
        """Relative distance of objective and bound, infinite without a bound."""
        if self.bound is None:
            return np.inf
        return abs(self.objective - self.bound) / max(1.0, abs(self.objective))


def examine(program: Program, x: Floats, given: Floats | Multipliers) -> Account:
    """Return what a point and multipliers are worth.

    ``x``: shape (n,). ``given``: ∂objective/∂right-hand side in the objective's own sense, shape
    (m,). Those that point to a bound which does not exist are set to zero.
    """
    multipliers = given if isinstance(given, Multipliers) else Multipliers(given)
    sign = -1.0 if program.sense == "maximize" else 1.0
    y = sign * np.nan_to_num(multipliers.rows)
    side = np.where(y > 0, program.row_lower, program.row_upper)
    y = np.where(np.isfinite(side), y, 0.0)
    with np.errstate(all="ignore"):
        slope, derivatives = sign * gradient(program, x), jacobian(program, x)
        activity, objective = program.activity_at(x), program.objective_at(x)
        z = slope - derivatives.T @ y
        if multipliers.pull is not None:
            z = z + multipliers.pull
        terms = np.abs(slope) + abs(derivatives).T @ np.abs(y)
        bound = _bound(program, x, y, z, terms, activity, sign * objective - multipliers.slack)
    violation = max(
        violation_of(activity, program.row_lower, program.row_upper),
        violation_of(x, program.column_lower, program.column_upper),
    )
    y[list(multipliers.apex)] = np.nan
    return Account(
        x,
        sign * y + 0.0,
        sign * z + 0.0,
        violation if np.isfinite(objective) else np.inf,
        objective,
        None if bound is None else sign * bound,
    )


def violation_of(values: Floats, lower: Floats, upper: Floats) -> float:
    """Return the largest violation relative to ``max(1, |value|)``; infinite for a NaN."""
    if not bool(np.all(np.isfinite(values))):
        return np.inf
    excess = np.maximum(lower - values, values - upper)
    return float(np.max(excess / np.maximum(1.0, np.abs(values)), initial=0.0))


def _bound(
    program: Program,
    x: Floats,
    y: Floats,
    z: Floats,
    terms: Floats,
    activity: Floats,
    objective: float,
) -> float | None:
    """Return the tangents' bound on the minimised objective, None when there is none."""
    if float(np.max(np.abs(x), initial=0.0)) >= FAR:
        return None
    side = np.where(y > 0, program.row_lower, program.row_upper)
    rows = np.zeros_like(y)
    used = y != 0
    rows[used] = y[used] * (side[used] - activity[used])
    reach = np.where(z > 0, program.column_lower, program.column_upper)
    open_ended = ~np.isfinite(reach)
    scale = max(1.0, float(np.max(terms, initial=0.0)))
    if np.any(np.abs(z[open_ended]) > NEGLIGIBLE * np.maximum(terms[open_ended], 1e-3 * scale)):
        return None
    columns = z * (np.where(open_ended, x, reach) - x)
    value = objective + float(rows.sum()) + float(columns.sum())
    return value if np.isfinite(value) else None
