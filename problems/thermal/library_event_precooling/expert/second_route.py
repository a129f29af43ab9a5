"""A second route to "Public library ahead of a demand response event"."""

import math

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum, response

OUTSIDE = "78 77 76 75 75 76 79 82 85 88 91 93 95 97 98 98 97 95 92 88 85 83 81 79"
SUN = "0 0 0 0 0 2 8 15 21 25 28 29 30 31 33 34 31 24 14 5 0 0 0 0"


def solve() -> float:
    """Return energy cost less credit [USD], in kBTU/h, °F and hours."""
    hour, mark = np.arange(24), np.arange(25)
    gains = numbers(SUN) + 31 * ((hour >= 9) & (hour < 20))
    settled = numbers(OUTSIDE) + gains / 1.15
    free, matrix = response(75, settled, 1 / 1.15, math.exp(-1.15 / 30))
    cooling = cp.Variable(24, bounds=[0, 120])
    inside, power = free - matrix @ cooling, cooling / 10.5
    is_open = (mark >= 9) & (mark <= 20)
    rate = np.where((hour >= 14) & (hour < 20), 0.29, 0.11)
    rules = [inside >= np.where(is_open, 70, 65), inside <= np.where(is_open, 76, 84)]
    cost = rate @ power - 0.55 * cp.sum(9 - power[16:19])
    return optimum(cp.Minimize(cost), [*rules, power[16:19] <= 4])
