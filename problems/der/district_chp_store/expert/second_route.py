"""A second route to "Cogeneration with a heat store"."""

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
    """Return the least net costs [EUR], in MW and MWh."""
    heat = column("day.csv", "heat_kw") / 1000
    spot = column("day.csv", "spot_eur_mwh")
    on = cp.Variable(24, boolean=True)
    power, boiler = cp.Variable(24), cp.Variable(24)
    flow = 1.3 * power + boiler - heat
    ages = np.subtract.outer(np.arange(24), np.arange(24))
    kept = np.where(ages >= 0, 0.988 ** np.maximum(ages, 0), 0.0)
    content = 0.4 * 0.988 ** np.arange(1, 25) + kept @ flow
    gas = 2.1 * power + 0.095 * on + boiler / 0.92
    return optimum(
        cp.Minimize(41 * cp.sum(gas) - spot @ power),
        [
            power >= 0.14 * on,
            power <= 0.28 * on,
            boiler >= 0,
            boiler <= 0.35,
            cp.abs(flow) <= 0.3,
            content >= 0,
            content <= 0.9,
            content[23] >= 0.4,
        ],
    )
