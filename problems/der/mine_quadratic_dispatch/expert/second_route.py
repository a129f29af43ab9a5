"""A second route to "Three engines of a mine"."""

import cvxpy as cp
import numpy as np

DEMAND = (410, 395, 388, 402, 455, 540, 668, 742, 781, 803, 815, 790)


def solve() -> float:
    """Return the least cost [USD]; rows are North, Centre and South."""
    a, b, c = np.array([520, 430, 610]), np.array([214, 205, 196]), np.array([0.31, 0.52, 0.66])
    output = cp.Variable((3, 12))
    fuel = 12 * a.sum() + cp.sum(b @ output) + cp.sum_squares(np.diag(np.sqrt(c)) @ output)
    problem = cp.Problem(
        cp.Minimize(0.94 * fuel),
        [
            cp.sum(output, axis=0) == np.array(DEMAND),
            output >= np.array([[60], [50], [50]]),
            output <= np.array([[320], [280], [260]]),
            cp.abs(cp.diff(output, axis=1)) <= 45,
            output[0, 6:] <= 285,
        ],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)
