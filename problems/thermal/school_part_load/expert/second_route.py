"""A second route to "School heat pump that cannot go below a third"."""

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import Bounds, LinearConstraint, milp
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


def solve() -> float:
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
