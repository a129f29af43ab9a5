"""A second route to "Long weekend on a cycle budget"."""

import cvxpy as cp

from engiagent.problems.reference import columns, optimum, store

column = columns(__file__)


def solve() -> float:
    """Return the best margin [USD], in MWh and USD/MWh."""
    price = 10 * column("forecast.csv", "ct_per_kwh")
    put, taken, rules = store(72, 0.7, (0.3, 2), 0.65, (0.9**0.5, 0.9**0.5), end=0.7)
    rules += [cp.sum(taken) <= 5, *(cp.sum(taken[24 * d : 24 * d + 24]) <= 2 for d in range(3))]
    return optimum(cp.Maximize(price @ (taken - put) - 13 * cp.sum(taken)), rules)
