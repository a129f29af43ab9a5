"""A second route to "Care home and a flexibility contract without its annex"."""

import math
from itertools import product

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import numbers, response, within

OUTDOOR = "1 1 0 0 -1 -1 0 1 2 3 4 5 5 5 4 3 2 2 1 1 0 0 -1 -1"


def solve(premium: float = 0.2) -> float:
    """Return electricity less premium [EUR] for a premium [EUR/kWh], by heat and what is paid."""
    keep = math.exp(-1 / (38 * 1.15))
    free, matrix = response(21.5, numbers(OUTDOOR) + 1.15 * 5.0, 1.15, keep)
    rows, sides = within(free[1:], matrix[1:], np.full(24, 21.0), np.full(24, 24.0))
    hour, best = np.arange(24), math.inf
    for below in product((False, True), repeat=3):  # in which hours of the event it is below
        limits, cost = (
            np.tile([0.0, 34.0], (24, 1)),
            np.where((hour >= 6) & (hour < 22), 0.246, 0.189),
        )
        for k, is_below in zip((17, 18, 19), below, strict=True):
            limits[k] = (0, 24) if is_below else (24, 34)
            cost[k] += premium * is_below
        found = linprog(cost, A_ub=rows, b_ub=sides, bounds=limits)
        if found.success:
            best = min(best, found.fun - premium * 24 * sum(below))
    return float(best)


def confirm() -> bool:
    """Whether the premium moves the optimum."""
    return abs(solve(0.0) - solve(0.6)) > 5
