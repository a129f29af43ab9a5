"""Second routes to buildings without a plan, and to those whose text leaves something open."""

import math
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

Array = NDArray[np.float64]


def responses(
    start: float, outdoor: Array, gains: Array, hours: float, wall: tuple[float, float]
) -> tuple[Array, Array]:
    """Return free temperatures at all instants and what heat adds; the wall is (kWh/K, K/kW)."""
    capacity, resistance = wall
    keep = math.exp(-hours / (capacity * resistance))
    count = outdoor.size
    free = np.full(count + 1, float(start))
    for k in range(count):
        free[k + 1] = keep * free[k] + (1 - keep) * (outdoor[k] + resistance * gains[k])
    lags = np.subtract.outer(np.arange(count + 1), np.arange(count))
    matrix = np.where(lags > 0, resistance * (1 - keep) * keep ** np.maximum(lags - 1, 0), 0.0)
    return free, matrix


def chapel_organ_infeasible(organ: bool = True) -> float:
    """Return the highest temperature at 10:00 [degC], with or without the organ's condition."""
    keep = math.exp(-0.5 / (21 * 0.9))
    inside = 7.8
    for _ in range(10):
        full = 2 + keep * (inside - 2) + 0.9 * (1 - keep) * 80
        inside = min(full, inside + 0.75) if organ else full
    return inside


def server_room_resting_units() -> int:
    """Return after how many hours every choice of running units has left the band."""
    store = 3.5 / 3.516852842
    rest = (0, 0, 0)
    states: set[tuple[tuple[int, ...], tuple[int, ...], float]] = {(rest, rest, 68.0)}
    for hour in range(12):
        following = set()
        for (a, b, inside), runs in product(states, product((0, 1), repeat=2)):
            if sum(a) + runs[0] > 3 or sum(b) + runs[1] > 3:
                continue
            after = round(inside + (15 - 9 * sum(runs)) / store, 6)
            if 64 <= after <= 80:
                following.add(((*a[1:], runs[0]), (*b[1:], runs[1]), after))
        if not following:
            return hour
        states = following
    return 12


SUN = "0 0 0 0 0 0 2 9 18 27 34 38 39 36 30 22 13 5 0 0 0 0 0 0"


def lido_missing_volume(capacity: float = 600.0) -> float:
    """Return the least cost of heat [EUR] for a heat capacity [kWh/K]."""
    wall = (capacity, 1 / 1.9)
    sun = np.array(SUN.split(), float)
    free, matrix = responses(23.6, np.full(24, 17.0), sun, 1.0, wall)
    mark = np.arange(1, 25)
    low = np.where((mark >= 9) & (mark <= 20), 24.0, 22.0)
    rows = np.vstack([matrix[1:], -matrix[1:]])
    sides = np.concatenate([26 - free[1:], free[1:] - low])
    return float(linprog(np.full(24, 0.092), A_ub=rows, b_ub=sides, bounds=(0, 60)).fun)


OUTDOOR = "1 1 0 0 -1 -1 0 1 2 3 4 5 5 5 4 3 2 2 1 1 0 0 -1 -1"


def care_home_missing_premium(premium: float = 0.2) -> float:
    """Return electricity less premium [EUR] for a premium [EUR/kWh], by heat and what is paid."""
    outdoor = np.array(OUTDOOR.split(), float)
    free, matrix = responses(21.5, outdoor, np.full(24, 5.0), 1.0, (38, 1.15))
    hour = np.arange(24)
    price = np.where((hour >= 6) & (hour < 22), 0.246, 0.189)
    event = [17, 18, 19]
    rows = np.vstack([matrix[1:], -matrix[1:]])
    sides = np.concatenate([24 - free[1:], free[1:] - 21])
    best = math.inf
    for below in product((False, True), repeat=3):  # in which hours of the event it is below
        limits = np.column_stack([np.zeros(24), np.full(24, 34.0)])
        cost = price.copy()
        for k, is_below in zip(event, below, strict=True):
            limits[k] = (0, 24) if is_below else (24, 34)
            cost[k] += premium if is_below else 0
        found = linprog(cost, A_ub=rows, b_ub=sides, bounds=limits)
        if found.success:
            best = min(best, found.fun - premium * 24 * sum(below))
    return float(best)


def sports_hall_two_minimums(lowest: float = 13.0) -> float:
    """Return the least cost of heat [EUR] for a lowest temperature outside training [degC]."""
    outdoor = np.repeat([-4.0, 1.0], 6)
    free, matrix = responses(14, outdoor, np.zeros(12), 2.0, (48, 1 / 2.3))
    mark = 2 * np.arange(1, 13)
    low = np.where((mark >= 16) & (mark <= 22), 17.0, lowest)
    rows = np.vstack([matrix[1:], -matrix[1:]])
    sides = np.concatenate([21 - free[1:], free[1:] - low])
    return float(linprog(np.full(12, 0.083 * 2), A_ub=rows, b_ub=sides, bounds=(0, 95)).fun)
