"""A second route to "Three diesels on an island"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the least cost of fuel and starts [EUR]; rows are Alma, Bruno and Cilla."""
    load = numbers("330 390 520 640 700 690 650 600")
    used = cp.Variable(8, bounds=[0, numbers("0 20 90 180 260 310 320 280")])
    least, most = numbers("150 90 60"), numbers("450 300 200")
    on, start = cp.Variable((3, 8), boolean=True), cp.Variable((3, 8), boolean=True)
    output = cp.Variable((3, 8))
    reserve = most @ on - cp.sum(output, axis=0)
    rules = [cp.sum(output, axis=0) + used == load, reserve >= 0.12 * load + 0.25 * used]
    rules += [output >= np.diag(least) @ on, output <= np.diag(most) @ on]
    rules += [start[:, 0] >= on[:, 0] - numbers("1 0 0"), start[:, 1:] >= on[:, 1:] - on[:, :-1]]
    for t in range(8):
        rules += [on[g, u] >= start[g, t] for g in (0, 1) for u in range(t, min(t + 3, 8))]
    cost = numbers("31 24 15") @ cp.sum(on, axis=1) + numbers("85 50 20") @ cp.sum(start, axis=1)
    cost += numbers("0.198 0.224 0.262") @ cp.sum(output, axis=1)
    return optimum(cp.Minimize(cost), rules)
