"""A second route to "Terrace of flats on a 70 kVA fuse"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum, response

FLATS = "14 13 12 12 13 17 26 35 30 24 22 24 27 25 22 23 28 38 45 47 42 33 24 18"
FLATS_REACTIVE = "5 5 4 4 5 6 9 12 10 8 8 9 10 9 8 8 10 14 17 18 16 12 8 6"
ROOF = "0 0 0 0 0 0 0 1 6 14 22 27 29 27 21 12 4 0 0 0 0 0 0 0"
WINTER = "-1 -1 -2 -2 -3 -3 -3 -2 -1 0 2 3 4 4 3 2 1 0 0 -1 -1 -2 -2 -2"


def solve() -> float:
    """Return the cost of power [EUR], with norms."""
    free, matrix = response(21, numbers(WINTER), 0.27, 1 - 1 / (95 * 0.27))
    pumps, given = cp.Variable(24, bounds=[0, 38]), cp.Variable(24, nonneg=True)
    sun = cp.Variable(24, bounds=[0, numbers(ROOF)])
    inside = free + matrix @ pumps * 3.1
    power = numbers(FLATS) + pumps + 0.04 * given - sun
    both = cp.vstack([power, numbers(FLATS_REACTIVE) + 0.45 * pumps - given])
    rules = [cp.norm(both, axis=0) <= 70, cp.norm(cp.vstack([sun, given]), axis=0) <= 32]
    rules += [power >= 0, inside[1:] >= 20, inside[1:] <= 23, inside[24] >= 21]
    hour = np.arange(24)
    price = np.where((hour >= 16) & (hour < 21), 0.31, 0.23)
    return optimum(cp.Minimize(price @ power), rules, cp.CLARABEL)
