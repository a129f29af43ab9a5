"""A second route to "Two hours without a price"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum, store


def solve(price: float = 0.0) -> float:
    """Return the best income [EUR] if the two prices that are withheld were a given one."""
    before = numbers("44 41 39 38 40 47 61 78 72 55 43 36 31 29")
    full = np.concatenate([before, [price, price], numbers("58 77 93 90 79 66 57 50")])
    put, taken, rules = store(24, 0, (0, 12), 6, (0.9, 0.97))
    return optimum(cp.Maximize(full @ (taken - put)), rules)


def confirm() -> bool:
    """Whether the open prices move the optimum."""
    return abs(solve(price=0.0) - solve(price=150.0)) > 200
