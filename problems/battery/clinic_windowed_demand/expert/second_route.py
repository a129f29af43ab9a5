"""A second route to "Clinic with two demand charges"."""

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
    """Return the least charges [EUR]; energies of quarters in kWh, powers four times as large."""
    need = column("quarters.csv", "site_kw")
    roof = column("quarters.csv", "roof_kw")
    put, taken, solar, bought, surplus = (cp.Variable(96, nonneg=True) for _ in range(5))
    content = 60 + cp.cumsum(0.94 * put - taken / 0.94) / 4
    return optimum(
        cp.Minimize(
            0.182 * cp.sum(bought) / 4 + 6.4 * cp.max(bought) + 11.8 * cp.max(bought[68:80])
        ),
        [
            bought + solar + taken == need + put + surplus,
            solar <= roof,
            surplus <= 25,
            put <= 45,
            taken <= 45,
            content >= 12,
            content <= 114,
            content[95] == 60,
        ],
    )
