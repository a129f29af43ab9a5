"""Second routes to plants whose cost is not linear."""

from itertools import product

import cvxpy as cp
import numpy as np
import numpy.typing as npt

DEMAND = (410, 395, 388, 402, 455, 540, 668, 742, 781, 803, 815, 790)


def mine_quadratic_dispatch() -> float:
    """Return the least cost [USD]; rows are North, Centre and South."""
    a, b, c = np.array([520, 430, 610]), np.array([214, 205, 196]), np.array([0.31, 0.52, 0.66])
    output = cp.Variable((3, 12))
    fuel = 12 * a.sum() + cp.sum(b @ output) + cp.sum_squares(np.diag(np.sqrt(c)) @ output)
    problem = cp.Problem(
        cp.Minimize(0.94 * fuel),
        [
            cp.sum(output, axis=0) == np.array(DEMAND),
            output >= np.array([[60], [50], [50]]),
            output <= np.array([[320], [280], [260]]),
            cp.abs(cp.diff(output, axis=1)) <= 45,
            output[0, 6:] <= 285,
        ],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10, tol_feas=1e-10)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def valve_point_turbines() -> float:
    """Return the least cost of the hour [USD] by a search over both outputs."""

    def cost(upper: npt.NDArray[np.float64], lower: npt.NDArray[np.float64]) -> float:
        """Return the least cost on a grid, and infinity for what the third set cannot fill."""
        first = 310 + 7.8 * upper + 0.0019 * upper**2
        first += 180 * np.abs(np.sin(0.033 * (100 - upper)))
        second = 260 + 8.3 * lower + 0.0024 * lower**2
        second += 140 * np.abs(np.sin(0.042 * (60 - lower)))
        third = 520 - upper[:, None] - lower[None, :]
        total = first[:, None] + second[None, :] + 11.4 * third
        return float(np.where((third >= -1e-9) & (third <= 90 + 1e-9), total, np.inf).min())

    valves = np.array([100 + k * np.pi / 0.033 for k in range(5)])
    others = np.array([60 + k * np.pi / 0.042 for k in range(5)])
    upper = np.concatenate([np.linspace(100, 400, 3001), valves[valves <= 400]])
    lower = np.concatenate([np.linspace(60, 300, 2401), others[others <= 300]])
    edges = np.concatenate([520 - others, 430 - others])
    upper = np.concatenate([upper, edges[(edges >= 100) & (edges <= 400)]])
    ends = np.concatenate([520 - valves, 430 - valves])
    lower = np.concatenate([lower, ends[(ends >= 60) & (ends <= 300)]])
    return cost(upper, lower)


def harbour_tug_engines() -> float:
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


def well_field_speed() -> float:
    """Return the least cost [EUR]: every way to run both pumps in three blocks, and its flows."""
    price = np.tile([0.12, 0.31, 0.18], (2, 1))
    standing, growth = np.array([[21.0], [14]]), np.array([[3.4], [5.9]])
    flow, on = cp.Variable((2, 3)), cp.Parameter((2, 3))
    cost = 4 * cp.sum(cp.multiply(price * standing, on))
    cost += 4 * cp.sum(cp.multiply(price * growth, cp.power(flow, 3)))
    problem = cp.Problem(
        cp.Minimize(cost),
        [
            flow >= np.diag([1.0, 0.8]) @ on,
            flow <= np.diag([2.6, 2.2]) @ on,
            400 * cp.sum(flow) >= 2600,
            400 * cp.sum(flow, axis=0) <= 1500,
        ],
    )
    best = np.inf
    for states in product((0.0, 1.0), repeat=6):
        on.value = np.reshape(states, (2, 3))
        problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-10)
        if problem.status == cp.OPTIMAL:
            best = min(best, float(problem.value))
    return best
