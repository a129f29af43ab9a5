"""A second route to "Chiller order for a hospital"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the least cost of electricity and starts [USD]; rows are CH-1, CH-2, CH-3."""
    load = numbers("310 365 430 520 640 735 790 805 740 610 455 330")
    price = np.repeat([0.118, 0.186], 6)
    on, start = cp.Variable((3, 12), boolean=True), cp.Variable((3, 12), nonneg=True)
    tons = cp.Variable((3, 12))
    before = cp.hstack([np.array([[1.0], [0.0], [0.0]]), on[:, :-1]])
    rules = [cp.sum(tons, axis=0) == load, start >= on - before]
    rules += [tons >= np.diag([150, 150, 60]) @ on, tons <= np.diag([500, 500, 220]) @ on]
    for g in (0, 1):
        for t in range(12):
            rules += [on[g, u] >= on[g, t] - before[g, t] for u in range(t, min(t + 4, 12))]
            rules += [1 - on[g, u] >= before[g, t] - on[g, t] for u in range(t, min(t + 3, 12))]
    power = numbers("0.62 0.66 0.71") @ tons + numbers("38 38 16") @ on
    starts = numbers("25 25 9") @ cp.sum(start, axis=1)
    return optimum(cp.Minimize(price @ power + starts), rules)
