"""A second route to "Dairy farm with wear that grows with the current"."""

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
    """Return the least bill and wear [EUR] of a convex quadratic programme."""
    net = column("farm.csv", "net_kw")
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    mains = net + put - taken
    content = 24 + cp.cumsum(0.85 * put - taken)
    bill = cp.sum(cp.maximum(0.33 * mains, 0.07 * mains))
    wear = 0.006 * (cp.sum_squares(put) + cp.sum_squares(taken))
    return optimum(
        cp.Minimize(bill + wear),
        [put <= 12, taken <= 12, content >= 14, content <= 48, content[23] >= 24],
        cp.CLARABEL,
    )
