"""A second route to "Engines and battery of a harbour tug"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import store


def solve() -> float:
    """Return the least fuel [kg]: branch and bound by hand over the states of the gensets.

    A state that is open is relaxed to a share between 0 and 1; rows are the big and the small set.
    """
    load = np.array([310, 1650, 700, 1180]) / 1000
    a, b, c = np.array([34, 13]), np.array([168, 182]), np.array([16, 41])
    low, high = cp.Parameter((2, 4)), cp.Parameter((2, 4))
    on, power = cp.Variable((2, 4)), cp.Variable((2, 4))
    put, back, rules = store(4, 0.3, (0, 0.6), 0.5, (0.95, 1), hours=0.5, end=0.3)
    rules += [on >= low, on <= high, cp.sum(power, axis=0) + back == load + put]
    rules += [power >= np.diag([0.45, 0.18]) @ on, power <= np.diag([1.5, 0.6]) @ on]
    fuel = a @ cp.sum(on, axis=1) + cp.sum(b @ power)
    fuel += cp.sum_squares(np.diag(np.sqrt(c)) @ power)
    problem = cp.Problem(cp.Minimize(fuel / 2), rules)
    best = np.inf
    waiting = [(np.zeros((2, 4)), np.ones((2, 4)))]
    while waiting:
        low.value, high.value = waiting.pop()
        problem.solve(solver=cp.CLARABEL)
        if problem.status != cp.OPTIMAL or problem.value >= best - 1e-7:
            continue
        off = np.abs(on.value - np.round(on.value))
        if off.max() < 1e-6:
            best = float(problem.value)
            continue
        place = np.unravel_index(off.argmax(), off.shape)
        likely = round(float(on.value[place]))
        for state in (1 - likely, likely):  # the likely one is taken from the end, first
            ends = low.value.copy(), high.value.copy()
            ends[0][place] = ends[1][place] = state
            waiting.append(ends)
    return best
