"""Second routes to machines that switch: HiGHS on rows written by hand."""

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import lil_matrix

Array = NDArray[np.float64]


class Rows:
    """Rows of a mixed-integer programme in the making."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.rows: list[dict[int, float]] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, row: dict[int, float], low: float, high: float) -> None:
        """Add one row."""
        self.rows.append(row)
        self.low.append(low)
        self.high.append(high)

    def solve(self, cost: Array, low: Array, high: Array, whole: Array) -> float:
        """Return the least cost."""
        matrix = lil_matrix((len(self.rows), self.columns))
        for index, row in enumerate(self.rows):
            for key, value in row.items():
                matrix[index, key] += value
        found = milp(
            cost,
            constraints=LinearConstraint(matrix.tocsr(), np.array(self.low), np.array(self.high)),
            bounds=Bounds(low, high),
            integrality=whole,
            options={"mip_rel_gap": 1e-9},
        )
        return float(found.fun)


OUTDOOR = (
    "-6 -6.5 -7 -7.5 -8 -8 -7.5 -7 -6 -5 -4 -3 -2.5 -2 -2 -2.5 -3.5 -4.5 -5 -5.5 -6 -6.5 -7 -7"
)
SPOT = "84 79 77 76 80 95 148 196 172 118 92 81 76 74 83 104 151 203 211 168 127 104 95 88"


def school_part_load() -> float:
    """Return electricity and wear [EUR]; columns are spells of running, heat and temperature."""
    outdoor, price = np.array(OUTDOOR.split(), float), np.array(SPOT.split(), float) / 1000
    spells = [(a, b) for a in range(24) for b in range(min(a + 3, 24), 25)]
    heat, inside = len(spells), len(spells) + 24
    rows = Rows(inside + 24)
    for k in range(24):
        covering = {j: 1.0 for j, (a, b) in enumerate(spells) if a <= k < b}
        # two spells never touch: they would be one, without the second start
        rows.add({j: 1.0 for j, (a, b) in enumerate(spells) if a <= k <= b}, -np.inf, 1)
        rows.add({heat + k: 1.0, **dict.fromkeys(covering, -15.0)}, 0, np.inf)
        rows.add({heat + k: 1.0, **dict.fromkeys(covering, -45.0)}, -np.inf, 0)
        sport = 6.0 if 8 <= k < 16 else 0.0
        row = {inside + k: 42 + 1.25, heat + k: -1.0}
        known = 1.25 * outdoor[k] + sport + (42 * 17.5 if k == 0 else 0)
        if k:
            row[inside + k - 1] = -42.0
        rows.add(row, known, known)
    cost = np.concatenate(
        [[1.8 * price[a:b].sum() + 1.4 for a, b in spells], price / 3.6, np.zeros(24)]
    )
    low = np.array([18.0 if 8 <= k + 1 <= 16 else 15.0 for k in range(24)])
    floor = np.concatenate([np.zeros(inside), low])
    roof = np.concatenate([np.ones(heat), np.full(24, 45.0), np.full(24, 22.0)])
    return rows.solve(cost, floor, roof, np.repeat([1, 0], [heat, 48]))


DRAW = "110 75 40 15 0 0 0 0 0 35 240 390 195"
TARIFF = "35.0 30.4 27.9 25.6 24.1 22.8 22.0 21.7 21.9 24.6 31.2 38.4 35.5"


def hall_of_residence_hot_water() -> float:
    """Return the least cost of the night [EUR]: a linear programme for each of the five marks."""
    draw, price = np.array(DRAW.split(), float), np.array(TARIFF.split(), float) / 100
    capacity = 1.163 * 1.5
    keep = 1 - 0.006 / capacity
    free = np.full(14, 50.0)
    for k in range(13):
        free[k + 1] = free[k] - (0.001163 * 32 * draw[k] + 0.006 * (free[k] - 18)) / capacity
    lags = np.subtract.outer(np.arange(14), np.arange(13))
    matrix = np.where(lags > 0, keep ** np.maximum(lags - 1, 0) / capacity, 0.0)
    both = np.hstack([matrix, matrix])
    cost = np.concatenate([price / 3.1, price])
    bills = []
    for mark in range(5, 10):
        low, high = np.full(14, 45.0), np.full(14, 55.0)
        low[mark], high[mark:12], low[13] = 63.0, 70.0, 50.0
        pump = np.full(13, 12.0)
        pump[mark - 1 : 12] = 0.0
        limits = np.column_stack([np.zeros(26), np.concatenate([pump, np.full(13, 18.0)])])
        rows, sides = np.vstack([both, -both]), np.concatenate([high - free, free - low])
        found = linprog(cost, A_ub=rows[sides != 0], b_ub=sides[sides != 0], bounds=limits)
        bills += [found.fun] if found.success else []
    return float(min(bills))


def greenhouse_pad_stages() -> float:
    """Return the least discomfort and electricity [EUR] over all 65 536 choices of pumps."""
    gains, outside = (16, 24, 31, 35, 34, 28, 19, 11), (24, 27, 29, 31, 32, 31, 29, 26)
    choices = np.array(np.meshgrid(*[range(4)] * 8)).reshape(8, -1)
    inside = np.full(choices.shape[1], 25.0)
    total = 0.28 * 1.3 * choices.sum(axis=0)
    for gain, out, pumps in zip(gains, outside, choices, strict=True):
        inside = inside + (0.48 * (out - inside) + gain - 11 * pumps) / 7.5
        total = total + np.where((inside >= 19) & (inside <= 31), 0.09 * (inside - 25) ** 2, np.inf)
    return float(total.min())


FEES = {(7, 9): 310, (11, 13): 180, (17, 19): 420, (18, 21): 560, (20, 22): 260}
POWER = "41 38 36 35 37 44 61 88 96 82 66 51 43 38 40 52 71 104 131 139 117 84 60 48"
HARBOUR = "14 14 13 13 12 13 15 17 20 22 24 26 27 28 28 27 26 24 22 20 18 17 16 15"


def cold_store_events() -> float:
    """Return electricity less fees [EUR]: a linear programme for each choice of events."""
    outside, price = np.array(HARBOUR.split(), float), np.array(POWER.split(), float)
    keep = 1 - 14 / 750
    free = np.full(25, -22.5)
    for k in range(24):
        free[k + 1] = free[k] + (14 * (outside[k] - free[k]) + 260) / 750
    lags = np.subtract.outer(np.arange(25), np.arange(24))
    colder = np.where(lags > 0, keep ** np.maximum(lags - 1, 0) * 1900 / 750, 0.0)
    high = np.append(np.full(24, -20.0), -22.5)
    rows = np.vstack([-colder, colder])[1:]
    sides = np.concatenate([high - free, free + 24])[1:]
    best = np.inf
    for taken in product((False, True), repeat=5):
        events = [event for event, is_in in zip(FEES, taken, strict=True) if is_in]
        hours = [hour for event in events for hour in range(*event)]
        if len(hours) > len(set(hours)):
            continue
        limits = [(0, 0.15 if k in hours else 0.62) for k in range(24)]
        found = linprog(price, A_ub=rows, b_ub=sides, bounds=limits)
        if found.success:
            best = min(best, found.fun - sum(FEES[event] for event in events))
    return float(best)


def lecture_hall_night_flush() -> float:
    """Return the largest saving [EUR] over all 81 sequences of stages."""
    best = -np.inf
    for stages in product(((0.0, 0.0), (2.6, 1.2), (5.2, 9.6)), repeat=4):
        inside, paid, warm = 27.5, 0.0, True
        for outside, (flow, power) in zip((23.0, 19.0, 16.5, 15.5), stages, strict=True):
            inside -= 2 / 31 * 1.006 * flow * (inside - outside)
            paid += 0.24 * 2 * power
            warm = warm and inside >= 20.5
        if warm:
            best = max(best, 4.2 * (27.5 - inside) - paid)
    return best
