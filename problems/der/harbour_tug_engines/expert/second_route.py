"""A second route to "Engines and battery of a harbour tug"."""

import cvxpy as cp
import numpy as np


def solve() -> float:
    """Return the least fuel [kg]: branch and bound by hand over the states of the gensets.

    A state that is open is relaxed to a share between 0 and 1; rows are the big and the small set.
    """
    load = np.array([310, 1650, 700, 1180]) / 1000
    a, b, c = np.array([34, 13]), np.array([168, 182]), np.array([16, 41])
    low, high = cp.Parameter((2, 4)), cp.Parameter((2, 4))
    on, power = cp.Variable((2, 4)), cp.Variable((2, 4))
    put, back = cp.Variable(4), cp.Variable(4)
    content = 0.3 + cp.cumsum(0.95 * put - back) / 2
    fuel = a @ cp.sum(on, axis=1) + cp.sum(b @ power)
    fuel += cp.sum_squares(np.diag(np.sqrt(c)) @ power)
    problem = cp.Problem(
        cp.Minimize(fuel / 2),
        [
            on >= low,
            on <= high,
            power >= np.diag([0.45, 0.18]) @ on,
            power <= np.diag([1.5, 0.6]) @ on,
            cp.sum(power, axis=0) + back == load + put,
            put >= 0,
            put <= 0.5,
            back >= 0,
            back <= 0.5,
            content >= 0,
            content <= 0.6,
            content[3] >= 0.3,
        ],
    )
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
