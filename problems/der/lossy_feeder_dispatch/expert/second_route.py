"""A second route to "Losses on a village feeder"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import optimum

BASE_KV, BASE_KW = 10.5, 1000.0


def solve() -> float:
    """Return the least cost of the hour [EUR]; sections and nodes count from the substation."""
    ohm = BASE_KV**2 * 1e6 / (BASE_KW * 1e3)
    ampere = BASE_KW / BASE_KV
    r, x = np.array([0.31, 0.54, 0.77]) / ohm, np.array([0.28, 0.41, 0.52]) / ohm
    current = (np.array([200, 160, 120]) / ampere) ** 2
    load, reactive = np.array([640, 520, 730]) / BASE_KW, np.array([210, 160, 260]) / BASE_KW
    p, q, squared = cp.Variable(3), cp.Variable(3), cp.Variable(3)
    v = cp.Variable(4, bounds=[(9.9 / BASE_KV) ** 2, (10.8 / BASE_KV) ** 2])
    engine, engine_q = cp.Variable(bounds=[0, 0.9]), cp.Variable(bounds=[-0.3, 0.3])
    at = np.array([0.0, 0.0, 1.0])
    on = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])  # what goes on into the next section
    drop = 2 * (cp.multiply(r, p) + cp.multiply(x, q)) - cp.multiply(r**2 + x**2, squared)
    rules = [
        p - cp.multiply(r, squared) + at * engine == load + on @ p,
        q - cp.multiply(x, squared) + at * engine_q == reactive + on @ q,
        *(v[1:] == v[:3] - drop, v[0] == 1, squared <= current, p[0] >= 0),
    ]
    for k in range(3):
        cone = cp.hstack([2 * p[k], 2 * q[k], squared[k] - v[k]])
        rules.append(cp.norm(cone) <= squared[k] + v[k])
    cost = optimum(cp.Minimize(95 * p[0] + 118 * engine), rules, cp.CLARABEL)
    slack = squared.value * v.value[:3] - p.value**2 - q.value**2
    if np.abs(slack).max() > 1e-6:
        raise RuntimeError("the cone is not tight")
    return cost
