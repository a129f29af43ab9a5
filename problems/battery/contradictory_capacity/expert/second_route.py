"""A second route to "Village hall with two capacities"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve(capacity: float = 45.0) -> float:
    """Return the least cost [EUR] with one of the two capacities."""
    load = column("hall.csv", "load [kW]")
    price = np.full(24, 0.23)
    price[17:20] = 0.41
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    content = 10 + cp.cumsum(0.91 * put - taken)
    bought = load + put - taken
    return optimum(
        cp.Minimize(price @ bought),
        [put <= 20, taken <= 20, bought >= 0, content >= 0, content <= capacity, content[23] >= 10],
    )


def confirm() -> bool:
    """Whether either capacity has an optimum of its own."""
    return abs(solve(capacity=45.0) - solve(capacity=60.0)) > 1
