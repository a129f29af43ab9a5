"""A second route to "Open-air pool of unknown size"."""

import math

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import numbers, response

SUN = "0 0 0 0 0 0 2 9 18 27 34 38 39 36 30 22 13 5 0 0 0 0 0 0"


def solve(capacity: float = 600.0) -> float:
    """Return the least cost of heat [EUR] for a heat capacity [kWh/K]."""
    resistance = 1 / 1.9
    sun = numbers(SUN)
    free, matrix = response(
        23.6, 17.0 + resistance * sun, resistance, math.exp(-1 / (capacity * resistance))
    )
    mark = np.arange(1, 25)
    low = np.where((mark >= 9) & (mark <= 20), 24.0, 22.0)
    rows = np.vstack([matrix[1:], -matrix[1:]])
    sides = np.concatenate([26 - free[1:], free[1:] - low])
    return float(linprog(np.full(24, 0.092), A_ub=rows, b_ub=sides, bounds=(0, 60)).fun)


def confirm() -> bool:
    """Whether the volume moves the optimum."""
    return abs(solve(300.0) - solve(900.0)) > 1
