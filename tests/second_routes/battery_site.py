"""Second routes to batteries behind a meter: cvxpy over whole vectors, contents as running sums."""

import csv
from pathlib import Path

import cvxpy as cp
import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
FOLDER = Path(__file__).parents[2] / "problems" / "battery"


def column(problem: str, file: str, name: str) -> Vector:
    """Return a column of numbers of one of a problem's files."""
    with (FOLDER / problem / file).open(encoding="utf-8") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def numbers(text: str) -> Vector:
    """Return the numbers of a text."""
    return np.array(text.split(), dtype=np.float64)


def optimum(
    goal: cp.Minimize | cp.Maximize, rules: list[cp.Constraint], solver: str = cp.HIGHS
) -> float:
    """Return the optimum of a programme."""
    problem = cp.Problem(goal, rules)
    problem.solve(solver=solver)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def brewery_demand_charge() -> float:
    """Return the least cost [USD]: what is stored is counted by what was put in and taken out."""
    load = numbers(
        "210 205 200 205 220 260 340 430 520 560 590 640 680 720 760 790 770 "
        "700 610 520 420 330 270 230"
    )
    price = np.full(24, 0.14)
    price[16:21] = 0.31
    put, taken = cp.Variable(24), cp.Variable(24)
    content = 300 + cp.cumsum(0.88 * put - taken)
    meter = load + put - taken
    return optimum(
        cp.Minimize(price @ meter + 21.5 * cp.max(meter)),
        [
            put >= 0,
            put <= 200,
            taken >= 0,
            taken <= 250,
            content >= 0,
            content <= 900,
            content[23] >= 300,
            meter >= 0,
        ],
    )


def clinic_windowed_demand() -> float:
    """Return the least charges [EUR]; energies of quarters in kWh, powers four times as large."""
    need = column("clinic_windowed_demand", "quarters.csv", "site_kw")
    roof = column("clinic_windowed_demand", "quarters.csv", "roof_kw")
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


def foundry_ratchet() -> float:
    """Return the least energy and demand cost [GBP], in MW and MWh."""
    load = column("foundry_ratchet", "load.csv", "load_kw") / 1000
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


def farm_quadratic_wear() -> float:
    """Return the least bill and wear [EUR] of a convex quadratic programme."""
    net = column("farm_quadratic_wear", "farm.csv", "net_kw")
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
