"""A second route to "Which pumps for the ring main"."""

from itertools import combinations

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import optimum

PUMPS = ((75.0, 30.0, 0.3), (55.0, 20.0, 0.3), (40.0, 17.5, 0.4))


def solve() -> float:
    """Return the least energy [kWh]: in each hour the best group of pumps, and its flows."""
    total = 0.0
    for need in (38, 64, 97, 131):
        best = float("inf")
        for group in (g for n in (1, 2, 3) for g in combinations(PUMPS, n)):
            most, power, least = np.array(group).T
            if (most * least).sum() <= need <= most.sum():
                share = cp.Variable(len(group), bounds=[least, np.ones(len(group))])
                energy = power @ (0.04 + cp.power(share, 3))
                rules = [most @ share == need]
                best = min(best, optimum(cp.Minimize(energy), rules, cp.CLARABEL))
        total += best
    return total
