"""A second route to "Open-air pool of unknown size"."""

import math

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import numbers, response, within

SUN = "0 0 0 0 0 0 2 9 18 27 34 38 39 36 30 22 13 5 0 0 0 0 0 0"


def solve(capacity: float = 600.0) -> float:
    """Return the least cost of heat [EUR] for a heat capacity [kWh/K]."""
    keep, mark = math.exp(-1.9 / capacity), np.arange(1, 25)
    free, matrix = response(23.6, 17.0 + numbers(SUN) / 1.9, 1 / 1.9, keep)
    low = np.where((mark >= 9) & (mark <= 20), 24.0, 22.0)
    rows, sides = within(free[1:], matrix[1:], low, np.full(24, 26.0))
    return float(linprog(np.full(24, 0.092), A_ub=rows, b_ub=sides, bounds=(0, 60)).fun)


def confirm() -> bool:
    """Whether the volume moves the optimum."""
    return abs(solve(300.0) - solve(900.0)) > 1
