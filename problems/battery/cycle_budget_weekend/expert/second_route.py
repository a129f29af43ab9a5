"""A second route to "Long weekend on a cycle budget"."""

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


def optimum(goal: cp.Minimize | cp.Maximize, rules: list[cp.Constraint]) -> float:
    """Return the optimum of a programme."""
    problem = cp.Problem(goal, rules)
    problem.solve(solver=cp.HIGHS)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def solve() -> float:
    """Return the best margin [USD], in MWh and USD/MWh."""
    price = 10 * column("forecast.csv", "ct_per_kwh")
    put, taken = cp.Variable(72, nonneg=True), cp.Variable(72, nonneg=True)
    way = np.sqrt(0.9)
    content = 0.7 + cp.cumsum(way * put - taken / way)
    days = [cp.sum(taken[24 * d : 24 * d + 24]) <= 2 for d in range(3)]
    return optimum(
        cp.Maximize(price @ (taken - put) - 13 * cp.sum(taken)),
        [
            put <= 0.65,
            taken <= 0.65,
            content >= 0.3,
            content <= 2,
            content[71] >= 0.7,
            cp.sum(taken) <= 5,
            *days,
        ],
    )
