"""A second route to "Spot and balancing capacity from one battery"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum, store

column = columns(__file__)


def solve() -> float:
    """Return the best income [EUR], in MW and MWh."""
    price, blocks = column("spot.csv", "price [EUR/MWh]"), np.kron(np.eye(6), np.ones((4, 1)))
    put, taken, rules = store(24, 27, (0, 54), 30, (0.93, 0.96), end=27)
    up, down = cp.Variable(6, nonneg=True), cp.Variable(6, nonneg=True)
    after = 27 + cp.cumsum(0.93 * put - taken / 0.96)
    rules += [taken - put + blocks @ up <= 30, put - taken + blocks @ down <= 30]
    for content in (cp.hstack([np.array([27.0]), after[:23]]), after):
        rules += [content >= blocks @ up / 0.96, content + 0.93 * (blocks @ down) <= 54]
    capacity = column("capacity.csv", "up [EUR/MW]") @ up
    capacity += column("capacity.csv", "down [EUR/MW]") @ down
    return optimum(cp.Maximize(price @ (taken - put) + 4 * capacity), rules)
