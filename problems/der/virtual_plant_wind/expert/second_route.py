"""A second route to "Virtual power plant before a windy evening"."""

import csv
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

FOLDER = Path(__file__).parents[1]
CHANCES = {"calm": 0.30, "breezy": 0.45, "stormy": 0.25}


def solve() -> float:
    """Return the best expected margin [EUR].

    Columns: eight bids, then for each scenario eight of wind, biogas, shift, short and long.
    """
    with (FOLDER / "wind.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with (FOLDER / "dayahead.csv").open(encoding="utf-8") as file:
        price = np.array([float(row["price [EUR/MWh]"]) for row in csv.DictReader(file)])
    n, one = len(price), np.eye(len(price))
    cost, limits = [-price], [(0.0, 45.0)] * n
    blocks, sides = [], []
    for k, (name, chance) in enumerate(CHANCES.items()):
        cost += [np.zeros(n), np.full(n, 74 * chance), np.zeros(n)]
        cost += [np.full(n, 210 * chance), np.full(n, -12 * chance)]
        limits += [(0.0, float(row[name])) for row in rows] + [(3.0, 12.0)] * n
        limits += [(-6.0, 6.0)] * n + [(0.0, np.inf)] * 2 * n
        balance = np.zeros((n, n * 16))
        balance[:, :n] = -one
        first = n + 5 * n * k
        balance[:, first : first + 5 * n] = np.hstack([one, one, one, one, -one])
        shift = np.zeros((1, n * 16))
        shift[0, first + 2 * n : first + 3 * n] = 1
        blocks += [balance, shift]
        sides += [np.zeros(n + 1)]
    result = linprog(
        np.concatenate(cost), A_eq=np.vstack(blocks), b_eq=np.concatenate(sides), bounds=limits
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    return -float(result.fun)
