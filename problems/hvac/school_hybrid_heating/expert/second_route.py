"""A second route to "Gas boiler or heat pump, quarter by quarter"."""

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
    """Return the optimum of a mixed-integer programme, without a gap."""
    problem = cp.Problem(goal, rules)
    problem.solve(solver=cp.HIGHS, mip_rel_gap=1e-9)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def solve() -> float:
    """Return the least cost of gas and electricity [EUR] of twenty quarter-hours."""
    need, outdoor, price = (
        column("morning.csv", name) for name in ("heat_kw", "outdoor_degC", "price")
    )
    cop = 2.55 + 0.065 * outdoor
    on, heat = cp.Variable(20, boolean=True), cp.Variable(20)
    before = cp.hstack([np.zeros(1), on[:-1]])
    gas = (need - heat) / 0.91
    rules = [
        heat <= 96 * on,
        heat >= 38.4 * on,
        heat <= need,
        need - heat <= 190,
        (0.201 * cp.sum(gas) + 0.34 * cp.sum(heat / cop)) / 4 <= 125,
    ]
    rules += [on[u] >= on[t] - before[t] for t in range(20) for u in range(t, min(t + 4, 20))]
    return optimum(cp.Minimize((price / cop @ heat + 11.8 * cp.sum(gas)) / 400), rules)
