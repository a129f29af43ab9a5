"""A second route to "Hot water for a hall of residence"."""

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import numbers, response, within

DRAW = "110 75 40 15 0 0 0 0 0 35 240 390 195"
TARIFF = "35.0 30.4 27.9 25.6 24.1 22.8 22.0 21.7 21.9 24.6 31.2 38.4 35.5"


def solve() -> float:
    """Return the least cost of the night [EUR]: a linear programme for each of the five marks."""
    draw, price = numbers(DRAW), numbers(TARIFF) / 100
    settled = 18 - 0.001163 * 32 * draw / 0.006
    free, matrix = response(50, settled, 1 / 0.006, 1 - 0.006 / (1.163 * 1.5))
    both, cost = np.hstack([matrix, matrix]), np.concatenate([price / 3.1, price])
    bills = []
    for mark in range(5, 10):
        low, high, pump = np.full(14, 45.0), np.full(14, 55.0), np.full(13, 12.0)
        low[mark], high[mark:12], low[13] = 63.0, 70.0, 50.0
        pump[mark - 1 : 12] = 0.0
        limits = np.column_stack([np.zeros(26), np.concatenate([pump, np.full(13, 18.0)])])
        rows, sides = within(free[1:], both[1:], low[1:], high[1:])
        found = linprog(cost, A_ub=rows, b_ub=sides, bounds=limits)
        bills += [found.fun] if found.success else []
    return float(min(bills))
