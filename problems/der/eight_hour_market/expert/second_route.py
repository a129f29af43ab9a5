"""A second route to "Eight hours of a market with wind and storage"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum

DEMAND = numbers("310 290 330 390 440 435 420 350")
WIND = numbers("205 240 185 120 55 40 95 160")


def solve(storage: float = 200.0) -> float:
    """Return the least cost [USD], and make sure that the storage never runs both ways."""
    offers = cp.Variable((4, 8), nonneg=True)
    wind, put, taken = (cp.Variable(8, nonneg=True) for _ in range(3))
    content = 100 + cp.cumsum(0.85 * put - taken / 0.85)
    units = offers[:2], offers[2:]
    steps = [cp.diff(cp.sum(unit, axis=0)) for unit in units]
    cost = numbers("30 40 50 60") @ cp.sum(offers, axis=1)
    rules = [
        cp.sum(offers, axis=0) + wind + taken == DEMAND + put,
        units[0] <= 120,
        units[1] <= 80,
        wind <= WIND,
        put <= storage,
        taken <= storage,
        content >= 0,
        content <= 200,
        steps[0] <= 200,
        steps[0] >= -180,
        steps[1] <= 150,
        steps[1] >= -130,
    ]
    optimum(cp.Minimize(cost + 1e-6 * cp.sum(put + taken)), rules)  # no motion for nothing
    if np.minimum(put.value, taken.value).max() > 1e-6:
        raise RuntimeError("the storage charges and discharges at once")
    return float(cost.value)


def confirm() -> bool:
    """Whether storage makes the eight hours cheaper."""
    return solve(0.0) > solve() + 1000
