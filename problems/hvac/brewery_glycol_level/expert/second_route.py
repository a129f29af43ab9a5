"""A second route to "A glycol plant that works best at half load"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers


def solve() -> float:
    """Return the least cost [EUR] of twelve steps of two hours."""
    need = numbers("140 120 110 110 130 190 310 420 460 380 290 220")
    price = np.repeat([0.112, 0.174], [3, 9])
    put, taken = cp.Variable(12, nonneg=True), cp.Variable(12, nonneg=True)
    cold = need + put - taken
    content = 310 + 2 * cp.cumsum(0.97 * put - taken)
    problem = cp.Problem(
        cp.Minimize(2 * (0.19 * price @ cold + 0.00031 * price @ cp.square(cold))),
        [
            put <= 160,
            taken <= 160,
            cold >= 60,
            cold <= 480,
            content >= 0,
            content <= 700,
            content[11] >= 310,
        ],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)
