"""A second route to "Ice for the concert hall"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the least bill [EUR], the ice as a running sum."""
    hall = numbers(
        "150 40 0 0 0 0 0 0 60 110 160 205 250 290 330 350 365 370 420 455 470 430 310 220"
    )
    price = numbers(
        "14.1 12.6 10.9 10.2 9.8 9.9 10.6 12.9 17.4 19.8 20.5 20.1 19.7 20.4 22.3 24.9 27.2 29.8"
        " 33.1 34.0 31.2 26.5 21.7 17.2"
    )
    share = cp.Variable(24, nonneg=True)  # of the hour
    melt = cp.Variable(24, bounds=[0, np.minimum(hall, 400)])  # kW
    ice = cp.hstack([np.array([120.0]), 120 + cp.cumsum(280 * share - melt)])
    electric = (hall - melt) / 4.4 + 280 * share / 3.2
    rules = [melt <= 400 / (0.35 * 1800) * ice[:-1], (hall - melt) / 420 + share <= 1]
    rules += [ice >= 0, ice <= 1800, ice[24] >= 120]
    return optimum(cp.Minimize(price @ electric / 100 + 0.21 * cp.max(electric[9:])), rules)
