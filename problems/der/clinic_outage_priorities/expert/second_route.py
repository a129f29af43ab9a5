"""A second route to "Twelve hours without the grid"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum, store


def solve() -> float:
    """Return the most points; rows are laboratory, kitchen and laundry."""
    wards = numbers("12 12 13 15 16 15 14 14 13 13 12 12")
    used = cp.Variable(12, bounds=[0, numbers("0 0 0 0 3 12 22 27 24 14 5 0")])
    blocks = cp.Variable((3, 4), boolean=True)
    runs = blocks @ np.kron(np.eye(4), np.ones((1, 3)))
    motor = cp.Variable(12, bounds=[0, 12])
    put, back, rules = store(12, 95, (0, 120), 40, (0.96, 0.96), end=20)
    rules += [used + motor + back == wards + numbers("9 14 11") @ runs + put]
    rules += [cp.sum(motor) <= 60, blocks[1, 0] == 0]
    return optimum(cp.Maximize(cp.sum(numbers("40 32 15") @ runs)), rules)
