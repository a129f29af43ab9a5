"""A second route to "Hot water for a hall of residence"."""

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import numbers

DRAW = "110 75 40 15 0 0 0 0 0 35 240 390 195"
TARIFF = "35.0 30.4 27.9 25.6 24.1 22.8 22.0 21.7 21.9 24.6 31.2 38.4 35.5"


def solve() -> float:
    """Return the least cost of the night [EUR]: a linear programme for each of the five marks."""
    draw, price = numbers(DRAW), numbers(TARIFF) / 100
    capacity = 1.163 * 1.5
    keep = 1 - 0.006 / capacity
    free = np.full(14, 50.0)
    for k in range(13):
        free[k + 1] = free[k] - (0.001163 * 32 * draw[k] + 0.006 * (free[k] - 18)) / capacity
    lags = np.subtract.outer(np.arange(14), np.arange(13))
    matrix = np.where(lags > 0, keep ** np.maximum(lags - 1, 0) / capacity, 0.0)
    both = np.hstack([matrix, matrix])
    cost = np.concatenate([price / 3.1, price])
    bills = []
    for mark in range(5, 10):
        low, high = np.full(14, 45.0), np.full(14, 55.0)
        low[mark], high[mark:12], low[13] = 63.0, 70.0, 50.0
        pump = np.full(13, 12.0)
        pump[mark - 1 : 12] = 0.0
        limits = np.column_stack([np.zeros(26), np.concatenate([pump, np.full(13, 18.0)])])
        rows, sides = np.vstack([both, -both]), np.concatenate([high - free, free - low])
        found = linprog(cost, A_ub=rows[sides != 0], b_ub=sides[sides != 0], bounds=limits)
        bills += [found.fun] if found.success else []
    return float(min(bills))
