"""A second route to "Public library ahead of a demand response event"."""

import math

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, response

OUTSIDE = "78 77 76 75 75 76 79 82 85 88 91 93 95 97 98 98 97 95 92 88 85 83 81 79"
SUN = "0 0 0 0 0 2 8 15 21 25 28 29 30 31 33 34 31 24 14 5 0 0 0 0"


def solve() -> float:
    """Return energy cost less credit [USD], in kBTU/h, °F and hours."""
    hour = np.arange(24)
    outside = numbers(OUTSIDE)
    gains = numbers(SUN) + 31 * ((hour >= 9) & (hour < 20))
    keep = math.exp(-1.15 / 30)
    free, matrix = response(75, outside + gains / 1.15, 1 / 1.15, keep)
    cooling = cp.Variable(24, nonneg=True)
    inside = free - matrix @ cooling
    power = cooling / 10.5
    mark = np.arange(25)
    is_open = (mark >= 9) & (mark <= 20)
    event = (hour >= 16) & (hour < 19)
    rate = np.where((hour >= 14) & (hour < 20), 0.29, 0.11)
    cost = rate @ power - sum(0.55 * (9 - power[int(k)]) for k in np.flatnonzero(event))
    problem = cp.Problem(
        cp.Minimize(cost),
        [
            cooling <= 120,
            power[16:19] <= 4,
            inside >= np.where(is_open, 70, 65),
            inside <= np.where(is_open, 76, 84),
        ],
    )
    return float(problem.solve(solver=cp.HIGHS))
