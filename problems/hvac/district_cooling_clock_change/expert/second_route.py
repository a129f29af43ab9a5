"""A second route to "District cooling on the night of the clocks"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve() -> float:
    """Return the least cost [EUR] of 25 hours, in MW and MWh."""
    cold = column("network.csv", "cold_mw")
    steam, spot = (column("supply.csv", series) for series in ("steam_mw", "spot"))
    on, start = cp.Variable(25, boolean=True), cp.Variable(25, nonneg=True)
    absorbed, new, old = cp.Variable(25), *(cp.Variable(25, bounds=[0, 4.5]) for _ in range(2))
    before = cp.hstack([np.zeros(1), on[:-1]])
    flow = absorbed + new + old - cold
    content = 5 + cp.cumsum(flow)
    rules = [absorbed >= 1.2 * on, absorbed <= 4 * on, absorbed <= 0.72 * steam]
    rules += [cp.abs(flow) <= 3, content >= 0, content <= 12, content[24] >= 5]
    rules += [on[u] >= on[t] - before[t] for t in range(25) for u in range(t, min(t + 5, 25))]
    power = 0.11 * on + new / 5.4 + old / 4.3
    cost = 9 / 0.72 * cp.sum(absorbed) + (spot + 31) @ power + 160 * cp.sum(start)
    return optimum(cp.Minimize(cost), [*rules, start >= on - before])
