"""A second route to "Hourly blocks from a gusty solar field"."""

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
    """Return the best sales [EUR]: what is sold is what each of its four quarters delivers."""
    solar = column("field.csv", "solar_mw")
    price = column("blocks.csv", "price_eur_mwh")
    sold = cp.Variable(12, nonneg=True)
    used, put, taken = (cp.Variable(48, nonneg=True) for _ in range(3))
    content = 5 + cp.cumsum(0.95 * put - taken / 0.95) / 4
    return optimum(
        cp.Maximize(price @ sold),
        [
            used + taken - put == np.kron(np.eye(12), np.ones((4, 1))) @ sold,
            used <= solar,
            put <= 4,
            taken <= 4,
            sold <= 16,
            content >= 0,
            content <= 10,
            content[47] >= 5,
        ],
    )
