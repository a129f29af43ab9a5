"""A second route to "Three diesels on an island"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the least cost of fuel and starts [EUR]; rows are Alma, Bruno and Cilla."""
    load = numbers("330 390 520 640 700 690 650 600")
    sun = numbers("0 20 90 180 260 310 320 280")
    least, most = numbers("150 90 60")[:, None], numbers("450 300 200")[:, None]
    before = numbers("1 0 0")
    on, start = cp.Variable((3, 8), boolean=True), cp.Variable((3, 8), boolean=True)
    output, used = cp.Variable((3, 8)), cp.Variable(8)
    rules = [
        cp.sum(output, axis=0) + used == load,
        used >= 0,
        used <= sun,
        output >= cp.multiply(np.repeat(least, 8, 1), on),
        output <= cp.multiply(np.repeat(most, 8, 1), on),
        most[:, 0] @ on - cp.sum(output, axis=0) >= 0.12 * load + 0.25 * used,
        start[:, 0] >= on[:, 0] - before,
        start[:, 1:] >= on[:, 1:] - on[:, :-1],
    ]
    for t in range(8):
        window = range(t, min(t + 3, 8))
        rules += [on[g, u] >= start[g, t] for g in (0, 1) for u in window]
    cost = numbers("31 24 15") @ cp.sum(on, axis=1) + numbers("85 50 20") @ cp.sum(start, axis=1)
    cost += numbers("0.198 0.224 0.262") @ cp.sum(output, axis=1)
    return optimum(cp.Minimize(cost), rules)
