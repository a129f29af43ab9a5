"""A second route to "Losses on a village feeder"."""

import cvxpy as cp
import numpy as np

BASE_KV, BASE_KW = 10.5, 1000.0


def solve() -> float:
    """Return the least cost of the hour [EUR]; sections and nodes count from the substation."""
    ohm = BASE_KV**2 * 1e6 / (BASE_KW * 1e3)
    ampere = BASE_KW / BASE_KV
    r, x = np.array([0.31, 0.54, 0.77]) / ohm, np.array([0.28, 0.41, 0.52]) / ohm
    current = (np.array([200, 160, 120]) / ampere) ** 2
    load, reactive = np.array([640, 520, 730]) / BASE_KW, np.array([210, 160, 260]) / BASE_KW
    p, q, squared, v = cp.Variable(3), cp.Variable(3), cp.Variable(3), cp.Variable(4)
    engine, engine_q = cp.Variable(), cp.Variable()
    at = np.array([0.0, 0.0, 1.0])
    on = np.array([[0.0, 1, 0], [0, 0, 1], [0, 0, 0]])  # what goes on into the next section
    rules = [
        p - cp.multiply(r, squared) + at * engine == load + on @ p,
        q - cp.multiply(x, squared) + at * engine_q == reactive + on @ q,
        v[1:]
        == v[:3] - 2 * (cp.multiply(r, p) + cp.multiply(x, q)) + cp.multiply(r**2 + x**2, squared),
        v[0] == 1,
        v >= (9.9 / BASE_KV) ** 2,
        v <= (10.8 / BASE_KV) ** 2,
        squared <= current,
        engine >= 0,
        engine <= 0.9,
        cp.abs(engine_q) <= 0.3,
        p[0] >= 0,
    ]
    for k in range(3):
        cone = cp.hstack([2 * p[k], 2 * q[k], squared[k] - v[k]])
        rules.append(cp.norm(cone) <= squared[k] + v[k])
    problem = cp.Problem(cp.Minimize(95 * p[0] + 118 * engine), rules)
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    slack = squared.value * v.value[:3] - p.value**2 - q.value**2
    if np.abs(slack).max() > 1e-6:
        raise RuntimeError("the cone is not tight")
    return float(problem.value)
