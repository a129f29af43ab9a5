"""A second route to "Company cars in a demand response event"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the least cost of the afternoon [EUR]; rows are the red, blue and grey car."""
    load = numbers("42 44 43 45 47 46 48 52 51 44 36 28")
    has, needs = numbers("41 58 33"), numbers("48 40 33")
    rated, size = numbers("11 22 11")[:, None], numbers("64 77 52")[:, None]
    pay = np.full(12, 0.06)
    pay[6:10] = 0.62
    put, back = cp.Variable((3, 12), nonneg=True), cp.Variable((3, 12), nonneg=True)
    bought, sold = cp.Variable(12, nonneg=True), cp.Variable(12, nonneg=True)
    buying = cp.Variable(12, boolean=True)
    content = has[:, None] + cp.cumsum(0.93 * put - back / 0.93, axis=1) / 2
    cost = 0.29 * cp.sum(bought) - pay @ sold + 0.05 * cp.sum(back)
    return optimum(
        cp.Minimize(cost / 2),
        [
            bought + cp.sum(back, axis=0) == load + sold + cp.sum(put, axis=0),
            bought <= 70 * buying,
            sold <= 70 * (1 - buying),
            put <= np.repeat(rated, 12, 1),
            back <= np.repeat(rated, 12, 1),
            content >= 10,
            content <= np.repeat(size, 12, 1),
            content[:, 11] >= needs,
        ],
    )
