r"""The last digits of an optimum: Newton's method on the bounds that are active.

Interior-point and splitting methods stop a little off. Rows and columns whose multiplier exceeds
their distance to the bound are taken as active (as in B. Stellato et al., OSQP,
doi:10.1007/s12532-020-00179-2), and Newton's method solves stationarity and the active rows,

.. math::

    \begin{pmatrix} H & J^T \\ J & 0 \end{pmatrix}
    \begin{pmatrix} \Delta x \\ -\Delta y \end{pmatrix} =
    \begin{pmatrix} -\nabla f + J^T y \\ b - g(x) \end{pmatrix} ,

each step with a small regularisation and iterative refinement; one step is exact for a quadratic
program. The guess of what is active may be wrong, so the point is taken only where it is better by
its own account.
"""

from typing import Any

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.convex.derivatives import gradient, jacobian
from engiagent.solvers.convex.optimality import Account, examine
from engiagent.solvers.convex.second_derivatives import lagrangian_hessian

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
    if not np.isfinite(account.violation) or _is_good(program, account):
        return account
    if program.column_count + program.row_count > LARGEST or np.isnan(account.row_dual).any():
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
    linear = not program.nonlinear and not len(program.products.of_rows().rows)
    for _ in range(2 if linear else STEPS):
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
    curvature = lagrangian_hessian(program, x, y, sign)[free][:, free]
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
