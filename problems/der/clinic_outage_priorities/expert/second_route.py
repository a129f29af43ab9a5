"""A second route to "Twelve hours without the grid"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the most points; rows are laboratory, kitchen and laundry."""
    wards = numbers("12 12 13 15 16 15 14 14 13 13 12 12")
    sun = numbers("0 0 0 0 3 12 22 27 24 14 5 0")
    blocks = cp.Variable((3, 4), boolean=True)
    runs = blocks @ np.kron(np.eye(4), np.ones((1, 3)))
    put, back, used, motor = (cp.Variable(12, nonneg=True) for _ in range(4))
    content = 95 + cp.cumsum(0.96 * put - back / 0.96)
    return optimum(
        cp.Maximize(cp.sum(numbers("40 32 15") @ runs)),
        [
            used + motor + back == wards + numbers("9 14 11") @ runs + put,
            used <= sun,
            put <= 40,
            back <= 40,
            motor <= 12,
            cp.sum(motor) <= 60,
            blocks[1, 0] == 0,
            content >= 0,
            content <= 120,
            content[11] >= 20,
        ],
    )
