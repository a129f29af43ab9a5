"""A second route to "Terrace of flats on a 70 kVA fuse"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, response

ACCURATE = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


FLATS = "14 13 12 12 13 17 26 35 30 24 22 24 27 25 22 23 28 38 45 47 42 33 24 18"
FLATS_REACTIVE = "5 5 4 4 5 6 9 12 10 8 8 9 10 9 8 8 10 14 17 18 16 12 8 6"
ROOF = "0 0 0 0 0 0 0 1 6 14 22 27 29 27 21 12 4 0 0 0 0 0 0 0"
WINTER = "-1 -1 -2 -2 -3 -3 -3 -2 -1 0 2 3 4 4 3 2 1 0 0 -1 -1 -2 -2 -2"


def solve() -> float:
    """Return the cost of power [EUR], with norms."""
    flats, reactive, roof, outdoor = (
        numbers(text) for text in (FLATS, FLATS_REACTIVE, ROOF, WINTER)
    )
    keep = 1 - 1 / (95 * 0.27)
    free, matrix = response(21, outdoor, 0.27, keep)
    pumps, sun, given = (cp.Variable(24, nonneg=True) for _ in range(3))
    inside = free + matrix @ pumps * 3.1
    power = flats + pumps + 0.04 * given - sun
    both = cp.vstack([power, reactive + 0.45 * pumps - given])
    hour = np.arange(24)
    price = np.where((hour >= 16) & (hour < 21), 0.31, 0.23)
    limits = [
        cp.norm(both, axis=0) <= 70,
        cp.norm(cp.vstack([sun, given]), axis=0) <= 32,
        pumps <= 38,
        sun <= roof,
        power >= 0,
        inside[1:] >= 20,
        inside[1:] <= 23,
        inside[24] >= 21,
    ]
    problem = cp.Problem(cp.Minimize(price @ power), limits)
    return float(problem.solve(solver=cp.CLARABEL, **ACCURATE))
