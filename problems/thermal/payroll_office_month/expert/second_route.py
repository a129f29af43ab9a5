"""A second route to "A month of heating an office on a tiered rate"."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

FOLDER = Path(__file__).parents[1]
Array = NDArray[np.float64]


def column(file: str, name: str) -> Array:
    """Return one column of a data file."""
    with (FOLDER / file).open(encoding="utf-8", newline="") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def solve() -> float:
    """Return bill and complaints [USD]; columns are heat, temperatures, complaints, tiers, peak."""
    hours = 672
    outdoor, gains, staffed = (
        column("february.csv", c) for c in ("outdoor [degF]", "gains [kBTU/h]", "staffed")
    )
    known = (0.3 * outdoor + gains * 1.05505585262 / 3.6) / 15
    known[0] += (1 - 0.3 / 15) * 66
    unit, void = sparse.eye_array(hours), sparse.coo_array((hours, hours))
    steps = unit - (1 - 0.3 / 15) * sparse.eye_array(hours, k=-1)
    tiers = sparse.coo_array(-np.array([[1.0, 1.0, 0.0]]))
    sums = sparse.hstack([np.ones((1, hours)), sparse.coo_array((1, 2 * hours)), tiers])
    equal = sparse.vstack(
        [sparse.hstack([-unit / 15, steps, void, sparse.coo_array((hours, 3))]), sums]
    )
    wish = sparse.hstack([void, -unit, -unit, sparse.coo_array((hours, 3))]).tocsr()[staffed > 0]
    peak = np.zeros((hours, 3))
    peak[:, 2] = -1
    rows = sparse.vstack([wish, sparse.hstack([unit, void, void, peak])])
    found = linprog(
        np.concatenate([np.zeros(2 * hours), np.full(hours, 1.3), [0.094, 0.161, 9.6]]),
        A_ub=rows,
        b_ub=np.concatenate([np.full(wish.shape[0], -69.0), np.zeros(hours)]),
        A_eq=equal,
        b_eq=np.append(known, 0.0),
        bounds=[(0, 32)] * hours
        + [(55, 78)] * hours
        + [(0, None)] * hours
        + [(0, 2600), (0, None), (0, None)],
        method="highs",
    )
    return float(found.fun)
