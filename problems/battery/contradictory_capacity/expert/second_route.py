"""A second route to "Village hall with two capacities"."""

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


def solve(capacity: float = 45.0) -> float:
    """Return the least cost [EUR] with one of the two capacities."""
    load = column("hall.csv", "load [kW]")
    price = np.full(24, 0.23)
    price[17:20] = 0.41
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    content = 10 + cp.cumsum(0.91 * put - taken)
    bought = load + put - taken
    return optimum(
        cp.Minimize(price @ bought),
        [put <= 20, taken <= 20, bought >= 0, content >= 0, content <= capacity, content[23] >= 10],
    )


def confirm() -> bool:
    """Whether either capacity has an optimum of its own."""
    return abs(solve(capacity=45.0) - solve(capacity=60.0)) > 1
