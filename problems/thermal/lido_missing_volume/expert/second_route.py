"""A second route to "Open-air pool of unknown size"."""

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


SUN = "0 0 0 0 0 0 2 9 18 27 34 38 39 36 30 22 13 5 0 0 0 0 0 0"


def solve(capacity: float = 600.0) -> float:
    """Return the least cost of heat [EUR] for a heat capacity [kWh/K]."""
    wall = (capacity, 1 / 1.9)
    sun = np.array(SUN.split(), float)
    free, matrix = responses(23.6, np.full(24, 17.0), sun, 1.0, wall)
    mark = np.arange(1, 25)
    low = np.where((mark >= 9) & (mark <= 20), 24.0, 22.0)
    rows = np.vstack([matrix[1:], -matrix[1:]])
    sides = np.concatenate([26 - free[1:], free[1:] - low])
    return float(linprog(np.full(24, 0.092), A_ub=rows, b_ub=sides, bounds=(0, 60)).fun)


def confirm() -> bool:
    """Whether the volume moves the optimum."""
    return abs(solve(300.0) - solve(900.0)) > 1
