"""A second route to "Sports hall with two night temperatures"."""

import math

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import response, within


def solve(lowest: float = 13.0) -> float:
    """Return the least cost of heat [EUR] for a lowest temperature outside training [degC]."""
    outdoor, mark = np.repeat([-4.0, 1.0], 6), 2 * np.arange(1, 13)
    free, matrix = response(14, outdoor, 1 / 2.3, math.exp(-2 * 2.3 / 48))
    low = np.where((mark >= 16) & (mark <= 22), 17.0, lowest)
    rows, sides = within(free[1:], matrix[1:], low, np.full(12, 21.0))
    return float(linprog(np.full(12, 0.083 * 2), A_ub=rows, b_ub=sides, bounds=(0, 95)).fun)


def confirm() -> bool:
    """Whether either minimum has an optimum of its own."""
    return abs(solve(10.0) - solve(13.0)) > 1
