"""A second route to "How many servers fit under one main"."""

import cvxpy as cp

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the largest nominal power [kW] in four halls."""
    sigma = numbers("0.14 0.06 0.09 0.04")
    placed = cp.Variable(4, nonneg=True)
    rules = [cp.sum(placed) + 2.326 * cp.norm(cp.multiply(sigma, placed)) <= 1790]
    rules += [cp.multiply(1 + 2.326 * sigma, placed) <= numbers("620 480 700 350")]
    rules += [numbers("0.21 0.27 0.24 0.34") @ placed <= 395]
    return optimum(cp.Maximize(cp.sum(placed)), rules, cp.CLARABEL)
