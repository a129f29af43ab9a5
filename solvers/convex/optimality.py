r"""What a point and multipliers are worth, recomputed from the program itself.

For a convex program (minimised, :math:`y_i > 0` at a lower and :math:`y_i < 0` at an upper bound)
the tangents at :math:`\bar x` bound the objective at every feasible point from below:

.. math::

    f(x) \ge f(\bar x) + \sum_i y_i \, (r_i(y) - g_i(\bar x))
        + \sum_j \min_{x_j^- \le x_j \le x_j^+} z_j (x_j - \bar x_j), \qquad
    z = \nabla f(\bar x) - \nabla g(\bar x)^T y .

So the solver's own claim of a gap is not needed.

The last digits of an optimum over products are found by Newton's method on the bounds that are
active. Rows and columns whose multiplier exceeds their distance to the bound are taken as active
(as in B. Stellato et al., OSQP, doi:10.1007/s12532-020-00179-2), and stationarity and the active
rows are solved,

.. math::

    \begin{pmatrix} H & J^T \\ J & 0 \end{pmatrix}
    \begin{pmatrix} \Delta x \\ -\Delta y \end{pmatrix} =
    \begin{pmatrix} -\nabla f + J^T y \\ b - g(x) \end{pmatrix} ,

each step with a small regularisation and iterative refinement; one step is exact for a quadratic
objective over linear rows. The guess of what is active may be wrong, so the point is taken only
where it is better by its own account.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.convex.curvature import hessian
from engiagent.solvers.convex.derivatives import gradient, jacobian

NEGLIGIBLE = 1e-7
"""What is left of a reduced cost whose terms cancel, relative to them, where a column has no bound
that could take it up."""


FAR = 1e11
"""Size of a point from which rounding decides what slopes are."""


@dataclass(frozen=True, eq=False)
class Account:
    """A point with its multipliers."""

    # x, row_dual, column_dual: the point, its multipliers and reduced costs in the objective's own
    # sense
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


def examine(program: Program, x: Floats, row_dual: Floats) -> Account:
    """Return what a point (n,) and multipliers (m,) in the objective's own sense are worth."""
    sign = -1.0 if program.sense == "maximize" else 1.0
    y = sign * np.nan_to_num(row_dual)
    side = np.where(y > 0, program.row_lower, program.row_upper)
    # Those that point to a bound which does not exist count nothing.
    y = np.where(np.isfinite(side), y, 0.0)
    with np.errstate(all="ignore"):
        slope, derivatives = sign * gradient(program, x), jacobian(program, x)
        activity, objective = program.activity_at(x), program.objective_at(x)
        z = slope - derivatives.T @ y
        terms = np.abs(slope) + abs(derivatives).T @ np.abs(y)
        bound = _bound(program, x, y, z, terms, activity, sign * objective)
    violation = max(
        violation_of(activity, program.row_lower, program.row_upper),
        violation_of(x, program.column_lower, program.column_upper),
    )
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


REGULARISATION = 1e-9
REFINEMENTS = 12
STEPS = 6
LARGEST = 40_000
"""Rows and columns beyond which the factors could fill."""
GOOD = 1e-12
ROUNDING = 1e-13
EXACT = 1e-11
"""Violation that is as good as none."""
MOVED = 1e-5
"""How much worse, relative to it, the objective may become when the point becomes exact."""

Places = np.ndarray[tuple[int], np.dtype[np.intp]]


def polished(program: Program, account: Account) -> Account:
    """Return a better account of the same optimum where there is one."""
    if program.nonlinear or not np.isfinite(account.violation) or _is_good(program, account):
        return account
    if program.column_count + program.row_count > LARGEST:
        return account
    with np.errstate(all="ignore"):
        solved = _on_active_set(program, account)
    if solved is None:
        return account
    better = examine(program, *solved)
    sign = -1.0 if program.sense == "maximize" else 1.0
    worse = sign * (better.objective - account.objective)
    near = worse <= MOVED * max(1.0, abs(account.objective))
    return better if near and _is_better(better, account) else account


def _is_good(program: Program, account: Account) -> bool:
    """Whether point, gap and the reduced costs of columns between bounds are exact already."""
    x, z = account.x, np.abs(account.column_dual)
    room = EXACT * np.maximum(1.0, np.abs(x))
    inside = (x - program.column_lower > room) & (program.column_upper - x > room)
    straight = float(np.max(z[inside], initial=0.0)) <= EXACT * max(1.0, float(z.max(initial=0.0)))
    return account.violation <= GOOD and account.gap <= GOOD and straight


def _is_better(new: Account, old: Account) -> bool:
    """Whether neither measure got worse beyond rounding."""
    feasible = new.violation <= max(old.violation, EXACT)
    return feasible and new.gap <= max(old.gap, ROUNDING)


def _on_active_set(program: Program, account: Account) -> tuple[Floats, Floats] | None:
    sign = -1.0 if program.sense == "maximize" else 1.0
    z, x = sign * account.column_dual, account.x.copy()
    y = sign * account.row_dual
    rows, sides = _active(program.activity_at(x), y, program.row_lower, program.row_upper)
    fixed, values = _active(x, z, program.column_lower, program.column_upper)
    free = np.setdiff1d(np.arange(program.column_count), fixed)
    x[fixed] = values
    inactive = np.setdiff1d(np.arange(program.row_count), rows)
    y[inactive] = 0.0
    for _ in range(STEPS if len(program.products.of_rows().rows) else 2):
        step = _newton_step(program, sign, x, y, (rows, sides, free))
        if step is None:
            return None
        x[free] += step[: len(free)]
        y[rows] -= step[len(free) :]
        if float(np.max(np.abs(step), initial=0.0)) <= ROUNDING * max(1.0, float(np.abs(x).max())):
            break
    return np.clip(x, program.column_lower, program.column_upper), sign * y


def _newton_step(
    program: Program, sign: float, x: Floats, y: Floats, active: tuple[Places, Floats, Places]
) -> Floats | None:
    from scipy.sparse import block_array, csr_array, diags_array
    from scipy.sparse.linalg import splu

    rows, sides, free = active
    slopes = jacobian(program, x)[rows]
    weights = np.append(-y, sign)  # the objective is row -1
    weighted = program.products.values * weights[program.products.rows]
    lagrangian = hessian(replace(program.products, values=weighted), program.column_count)
    curvature = lagrangian[free][:, free]
    stationarity = (sign * gradient(program, x) - slopes.T @ y[rows])[free]
    residual = np.concatenate([-stationarity, sides - program.activity_at(x)[rows]])
    size = len(residual)
    if size == 0:
        return residual
    inner = slopes[:, free]
    corner = csr_array((len(rows), len(rows)))
    exact: Any = block_array([[curvature, inner.T], [inner, corner]], format="csc")
    damping = np.concatenate([np.ones(len(free)), -np.ones(len(rows))]) * REGULARISATION
    try:
        factors = splu((exact + diags_array(damping)).tocsc())
    except (RuntimeError, ValueError):  # singular, or not a number
        return None
    step = np.zeros(size)
    for _ in range(REFINEMENTS):
        step = step + factors.solve(residual - exact @ step)
    return step if bool(np.all(np.isfinite(step))) else None


def _active(values: Floats, dual: Floats, lower: Floats, upper: Floats) -> tuple[Places, Floats]:
    """Return which bounds are active, and where."""
    size = max(1.0, float(np.max(np.abs(dual), initial=0.0)))
    with np.errstate(invalid="ignore"):
        at_lower = (lower == upper) | ((values - lower) / np.maximum(1.0, abs(lower)) < dual / size)
        at_upper = (upper - values) / np.maximum(1.0, abs(upper)) < -dual / size
    at_lower &= np.isfinite(lower)
    at_upper &= np.isfinite(upper) & ~at_lower
    active = np.flatnonzero(at_lower | at_upper)
    return active, np.where(at_lower, lower, upper)[active]
