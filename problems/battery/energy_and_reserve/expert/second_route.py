"""A second route to "Spot and balancing capacity from one battery"."""

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
    """Return the best income [EUR], in MW and MWh."""
    price = column("spot.csv", "price [EUR/MWh]")
    up_pays = column("capacity.csv", "up [EUR/MW]")
    down_pays = column("capacity.csv", "down [EUR/MW]")
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    up, down = cp.Variable(6, nonneg=True), cp.Variable(6, nonneg=True)
    hours = np.kron(np.eye(6), np.ones((4, 1)))
    after = 27 + cp.cumsum(0.93 * put - taken / 0.96)
    before = cp.hstack([np.array([27.0]), after[:23]])
    rules = [put <= 30, taken <= 30, after >= 0, after <= 54, after[23] >= 27]
    rules += [taken - put + hours @ up <= 30, put - taken + hours @ down <= 30]
    for content in (before, after):
        rules += [content >= hours @ up / 0.96, content + 0.93 * (hours @ down) <= 54]
    income = price @ (taken - put) + 4 * (up_pays @ up + down_pays @ down)
    return optimum(cp.Maximize(income), rules)
