"""A second route to "Two batteries behind one transformer"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the best sales less wear [EUR]; row 0 is lithium, row 1 the flow battery."""
    panels = numbers(
        "0 0 0 0 0 0.4 2.1 6.8 12.9 18.4 22.7 24.9 25.6 24.8 22.1 17.9 12.2 6.1 1.7 0.2 0 0 0 0"
    )
    price = numbers("88 84 81 80 82 91 103 98 71 44 22 8 -6 -11 3 27 62 105 142 156 138 119 104 95")
    put, taken = cp.Variable((2, 24), nonneg=True), cp.Variable((2, 24), nonneg=True)
    used = cp.Variable(24, nonneg=True)
    into, out = np.diag([0.97, 0.84]), np.diag([1 / 0.97, 1 / 0.86])
    content = (into @ put - out @ taken) @ np.triu(np.ones((24, 24)))
    sold = used + cp.sum(taken, axis=0) - cp.sum(put, axis=0)
    power = np.outer([9, 5], np.ones(24))
    energy = np.outer([14, 36], np.ones(24))
    return optimum(
        cp.Maximize(price @ sold - cp.sum(np.array([11, 2]) @ taken)),
        [
            put <= power,
            taken <= power,
            content >= 0,
            content <= energy,
            used <= panels,
            sold >= 0,
            sold <= 16,
        ],
    )
