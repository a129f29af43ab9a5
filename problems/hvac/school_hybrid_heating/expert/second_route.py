"""A second route to "Gas boiler or heat pump, quarter by quarter"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve() -> float:
    """Return the least cost of gas and electricity [EUR] of twenty quarter-hours."""
    need, outdoor, price = (
        column("morning.csv", name) for name in ("heat_kw", "outdoor_degC", "price")
    )
    cop = 2.55 + 0.065 * outdoor
    on, heat = cp.Variable(20, boolean=True), cp.Variable(20)
    before = cp.hstack([np.zeros(1), on[:-1]])
    gas = (need - heat) / 0.91
    rules = [
        heat <= 96 * on,
        heat >= 38.4 * on,
        heat <= need,
        need - heat <= 190,
        (0.201 * cp.sum(gas) + 0.34 * cp.sum(heat / cop)) / 4 <= 125,
    ]
    rules += [on[u] >= on[t] - before[t] for t in range(20) for u in range(t, min(t + 4, 20))]
    return optimum(cp.Minimize((price / cop @ heat + 11.8 * cp.sum(gas)) / 400), rules)
