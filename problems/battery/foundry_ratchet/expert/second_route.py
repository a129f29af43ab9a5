"""A second route to "Foundry with a ratcheted demand charge"."""

import csv
from pathlib import Path

import cvxpy as cp
import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
FOLDER = Path(__file__).parents[1]


def column(file: str, name: str) -> Vector:
    """Return a column of numbers of one of a problem's files."""
    with (FOLDER / file).open(encoding="utf-8") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def optimum(
    goal: cp.Minimize | cp.Maximize, rules: list[cp.Constraint], solver: str = cp.HIGHS
) -> float:
    """Return the optimum of a programme."""
    problem = cp.Problem(goal, rules)
    problem.solve(solver=solver)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def solve() -> float:
    """Return the least energy and demand cost [GBP], in MW and MWh."""
    load = column("load.csv", "load_kw") / 1000
    price = np.full(24, 96.0)
    price[:6] = price[-2:] = 71.0
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    content = cp.cumsum(put - taken / 0.83)
    bought = load + put - taken
    billed = cp.maximum(0.8 * 0.98, cp.max(bought))
    return optimum(
        cp.Minimize(price @ bought + 9750 * billed),
        [
            put <= 0.18,
            taken <= 0.18,
            content >= 0,
            content <= 0.6,
            bought >= 0,
            cp.sum(taken) <= 0.5,
        ],
    )
