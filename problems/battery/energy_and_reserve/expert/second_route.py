"""A second route to "Spot and balancing capacity from one battery"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve() -> float:
    """Return the best income [EUR], in MW and MWh."""
    price = column("spot.csv", "price [EUR/MWh]")
    up_pays = column("capacity.csv", "up [EUR/MW]")
    down_pays = column("capacity.csv", "down [EUR/MW]")
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    up, down = cp.Variable(6, nonneg=True), cp.Variable(6, nonneg=True)
    hours = np.kron(np.eye(6), np.ones((4, 1)))
    after = 27 + cp.cumsum(0.93 * put - taken / 0.96)
    before = cp.hstack([np.array([27.0]), after[:23]])
    rules = [put <= 30, taken <= 30, after >= 0, after <= 54, after[23] >= 27]
    rules += [taken - put + hours @ up <= 30, put - taken + hours @ down <= 30]
    for content in (before, after):
        rules += [content >= hours @ up / 0.96, content + 0.93 * (hours @ down) <= 54]
    income = price @ (taken - put) + 4 * (up_pays @ up + down_pays @ down)
    return optimum(cp.Maximize(income), rules)
