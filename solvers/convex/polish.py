r"""The last digits of a quadratic program: solve exactly on the bounds that are active.

Interior-point and splitting methods stop a little off. Rows and columns whose multiplier exceeds
their distance to the bound are taken as active (as in B. Stellato et al., OSQP,
doi:10.1007/s12532-020-00179-2), and the equations

.. math::

    \begin{pmatrix} P & A^T \\ A & 0 \end{pmatrix}
    \begin{pmatrix} x \\ -y \end{pmatrix} = \begin{pmatrix} -c \\ b \end{pmatrix}

are solved with a small regularisation and iterative refinement. The guess may be wrong, so the
caller takes the point only where it is better by its own account.
"""

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.convex.curvature import of_objective
from engiagent.solvers.convex.derivatives import matrix
from engiagent.solvers.convex.optimality import Account, examine

REGULARISATION = 1e-9
REFINEMENTS = 12
LARGEST = 40_000
"""Rows and columns beyond which the factors could fill."""
GOOD = 1e-12
ROUNDING = 1e-13
MOVED = 1e-5
"""How much worse, relative to it, the objective may become when the point becomes exact."""


def polished(program: Program, account: Account) -> Account:
    """Return a better account of the same optimum where there is one.

    Only programs with linear rows and a quadratic objective have any; others come back as given.
    """
    if program.nonlinear or len(program.products.of_rows().rows):
        return account
    if not np.isfinite(account.violation) or _is_good(account):
        return account
    if program.column_count + program.row_count > LARGEST:
        return account
    solved = _on_active_set(program, account)
    if solved is None:
        return account
    better = examine(program, *solved)
    sign = -1.0 if program.sense == "maximize" else 1.0
    worse = sign * (better.objective - account.objective)
    near = worse <= MOVED * max(1.0, abs(account.objective))
    return better if near and _is_better(better, account) else account


def _is_good(account: Account) -> bool:
    return account.violation <= GOOD and account.gap <= GOOD


def _is_better(new: Account, old: Account) -> bool:
    """Whether neither measure got worse beyond rounding and one got better."""
    feasible = new.violation <= max(old.violation, ROUNDING)
    return feasible and new.gap <= max(old.gap, ROUNDING)


def _on_active_set(program: Program, account: Account) -> tuple[Floats, Floats] | None:
    from scipy.sparse import block_array, diags_array
    from scipy.sparse.linalg import splu

    sign = -1.0 if program.sense == "maximize" else 1.0
    y, z, x = sign * account.row_dual, sign * account.column_dual, account.x
    activity = program.activity_at(x)
    rows, sides = _active(activity, y, program.row_lower, program.row_upper)
    fixed, values = _active(x, z, program.column_lower, program.column_upper)
    free = np.setdiff1d(np.arange(program.column_count), fixed)
    start = x.copy()
    start[fixed] = values
    curvature = sign * of_objective(program)
    a = matrix(program)[rows]
    slope = sign * program.cost + curvature @ _only(start, fixed)
    p, a_free = curvature[free][:, free], a[:, free]
    exact = block_array([[p, a_free.T], [a_free, None]], format="csc")
    if a_free.shape[0] == 0:
        exact = p.tocsc()
    if exact.shape[0] == 0:
        return start, sign * _spread(np.zeros(0), rows, program.row_count)
    damping = np.concatenate([np.ones(len(free)), -np.ones(len(rows))]) * REGULARISATION
    target = np.concatenate([-slope[free], sides - a @ _only(start, fixed)])
    try:
        factors = splu((exact + diags_array(damping)).tocsc())
    except RuntimeError:
        return None
    solution = np.concatenate([start[free], -y[rows]])
    for _ in range(REFINEMENTS):
        solution = solution + factors.solve(target - exact @ solution)
    if not np.all(np.isfinite(solution)):
        return None
    start[free] = solution[: len(free)]
    start = np.clip(start, program.column_lower, program.column_upper)
    dual = _spread(-solution[len(free) :], rows, program.row_count)
    return start, sign * dual


def _active(
    values: Floats, dual: Floats, lower: Floats, upper: Floats
) -> tuple[np.ndarray[tuple[int], np.dtype[np.intp]], Floats]:
    """Return which bounds are active, and where."""
    size = max(1.0, float(np.max(np.abs(dual), initial=0.0)))
    with np.errstate(invalid="ignore"):
        at_lower = (lower == upper) | ((values - lower) / np.maximum(1.0, abs(lower)) < dual / size)
        at_upper = (upper - values) / np.maximum(1.0, abs(upper)) < -dual / size
    at_lower &= np.isfinite(lower)
    at_upper &= np.isfinite(upper) & ~at_lower
    active = np.flatnonzero(at_lower | at_upper)
    return active, np.where(at_lower, lower, upper)[active]


def _only(values: Floats, places: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    result = np.zeros_like(values)
    result[places] = values[places]
    return result


def _spread(values: Floats, places: np.ndarray[tuple[int], np.dtype[np.intp]], size: int) -> Floats:
    result = np.zeros(size)
    result[places] = values
    return result
