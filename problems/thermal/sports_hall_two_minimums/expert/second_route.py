"""A second route to "Sports hall with two night temperatures"."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]


def responses(
    start: float, outdoor: Array, gains: Array, hours: float, wall: tuple[float, float]
) -> tuple[Array, Array]:
    """Return free temperatures at all instants and what heat adds; the wall is (kWh/K, K/kW)."""
    capacity, resistance = wall
    keep = math.exp(-hours / (capacity * resistance))
    count = outdoor.size
    free = np.full(count + 1, float(start))
    for k in range(count):
        free[k + 1] = keep * free[k] + (1 - keep) * (outdoor[k] + resistance * gains[k])
    lags = np.subtract.outer(np.arange(count + 1), np.arange(count))
    matrix = np.where(lags > 0, resistance * (1 - keep) * keep ** np.maximum(lags - 1, 0), 0.0)
    return free, matrix


def solve(lowest: float = 13.0) -> float:
    """Return the least cost of heat [EUR] for a lowest temperature outside training [degC]."""
    outdoor = np.repeat([-4.0, 1.0], 6)
    free, matrix = responses(14, outdoor, np.zeros(12), 2.0, (48, 1 / 2.3))
    mark = 2 * np.arange(1, 13)
    low = np.where((mark >= 16) & (mark <= 22), 17.0, lowest)
    rows = np.vstack([matrix[1:], -matrix[1:]])
    sides = np.concatenate([21 - free[1:], free[1:] - low])
    return float(linprog(np.full(12, 0.083 * 2), A_ub=rows, b_ub=sides, bounds=(0, 95)).fun)


def confirm() -> bool:
    """Whether either minimum has an optimum of its own."""
    return abs(solve(10.0) - solve(13.0)) > 1
