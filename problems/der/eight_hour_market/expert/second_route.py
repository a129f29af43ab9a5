"""A second route to "Eight hours of a market with wind and storage"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum, store

DEMAND = numbers("310 290 330 390 440 435 420 350")
WIND = numbers("205 240 185 120 55 40 95 160")


def solve(storage: float = 200.0) -> float:
    """Return the least cost [USD], and make sure that the storage never runs both ways."""
    offers, wind = cp.Variable((4, 8), nonneg=True), cp.Variable(8, bounds=[0, WIND])
    put, taken, rules = store(8, 100, (0, 200), storage, (0.85, 0.85))
    rules += [cp.sum(offers, axis=0) + wind + taken == DEMAND + put]
    for unit, most, down, up in ((offers[:2], 120, -180, 200), (offers[2:], 80, -130, 150)):
        step = cp.diff(cp.sum(unit, axis=0))
        rules += [unit <= most, step >= down, step <= up]
    cost = numbers("30 40 50 60") @ cp.sum(offers, axis=1)
    optimum(cp.Minimize(cost + 1e-6 * cp.sum(put + taken)), rules)  # no motion for nothing
    if np.minimum(put.value, taken.value).max() > 1e-6:
        raise RuntimeError("the storage charges and discharges at once")
    return float(cost.value)


def confirm() -> bool:
    """Whether storage makes the eight hours cheaper."""
    return solve(0.0) > solve() + 1000
