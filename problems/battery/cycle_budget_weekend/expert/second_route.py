"""A second route to "Long weekend on a cycle budget"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve() -> float:
    """Return the best margin [USD], in MWh and USD/MWh."""
    price = 10 * column("forecast.csv", "ct_per_kwh")
    put, taken = cp.Variable(72, nonneg=True), cp.Variable(72, nonneg=True)
    way = np.sqrt(0.9)
    content = 0.7 + cp.cumsum(way * put - taken / way)
    days = [cp.sum(taken[24 * d : 24 * d + 24]) <= 2 for d in range(3)]
    return optimum(
        cp.Maximize(price @ (taken - put) - 13 * cp.sum(taken)),
        [
            put <= 0.65,
            taken <= 0.65,
            content >= 0.3,
            content <= 2,
            content[71] >= 0.7,
            cp.sum(taken) <= 5,
            *days,
        ],
    )
