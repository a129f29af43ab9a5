"""A second route to "Day-ahead promise under five weather scenarios"."""

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
    """Return the best mean income [EUR] over the two worst of five courses of the sun."""
    names = ("overcast", "showers", "mixed", "haze", "clear")
    solar = np.array([column("solar.csv", name) for name in names])
    price = column("auction.csv", "price [EUR/MWh]")
    promise, put, taken = (cp.Variable(24, nonneg=True) for _ in range(3))
    content = 4 + cp.cumsum(0.92 * put - taken)
    incomes = []
    for course in solar:
        excess = course + taken - put - promise
        settled = cp.minimum(15 * excess, 190 * excess)  # the smaller, since 15 < 190
        incomes.append(price @ promise + cp.sum(settled))
    return optimum(
        cp.Maximize(cp.sum_smallest(cp.hstack(incomes), 2) / 2),
        [promise <= 12, put <= 5, taken <= 5, content >= 0, content <= 20, content[23] >= 4],
    )
