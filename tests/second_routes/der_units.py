"""Second routes to units that are switched: cvxpy with boolean variables."""

import csv
from pathlib import Path

import cvxpy as cp
import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
FOLDER = Path(__file__).parents[2] / "problems" / "der"


def column(problem: str, file: str, name: str) -> Vector:
    """Return a column of numbers of one of a problem's files."""
    with (FOLDER / problem / file).open(encoding="utf-8") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def numbers(text: str) -> Vector:
    """Return the numbers of a text."""
    return np.array(text.split(), dtype=np.float64)


def optimum(goal: cp.Minimize | cp.Maximize, rules: list[cp.Constraint]) -> float:
    """Return the optimum of a mixed-integer programme, without a gap."""
    problem = cp.Problem(goal, rules)
    problem.solve(solver=cp.HIGHS, mip_rel_gap=1e-9)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def island_unit_commitment() -> float:
    """Return the least cost of fuel and starts [EUR]; rows are Alma, Bruno and Cilla."""
    load = numbers("330 390 520 640 700 690 650 600")
    sun = numbers("0 20 90 180 260 310 320 280")
    least, most = numbers("150 90 60")[:, None], numbers("450 300 200")[:, None]
    before = numbers("1 0 0")
    on, start = cp.Variable((3, 8), boolean=True), cp.Variable((3, 8), boolean=True)
    output, used = cp.Variable((3, 8)), cp.Variable(8)
    rules = [
        cp.sum(output, axis=0) + used == load,
        used >= 0,
        used <= sun,
        output >= cp.multiply(np.repeat(least, 8, 1), on),
        output <= cp.multiply(np.repeat(most, 8, 1), on),
        most[:, 0] @ on - cp.sum(output, axis=0) >= 0.12 * load + 0.25 * used,
        start[:, 0] >= on[:, 0] - before,
        start[:, 1:] >= on[:, 1:] - on[:, :-1],
    ]
    for t in range(8):
        window = range(t, min(t + 3, 8))
        rules += [on[g, u] >= start[g, t] for g in (0, 1) for u in window]
    cost = numbers("31 24 15") @ cp.sum(on, axis=1) + numbers("85 50 20") @ cp.sum(start, axis=1)
    cost += numbers("0.198 0.224 0.262") @ cp.sum(output, axis=1)
    return optimum(cp.Minimize(cost), rules)


def district_chp_store() -> float:
    """Return the least net costs [EUR], in MW and MWh."""
    heat = column("district_chp_store", "day.csv", "heat_kw") / 1000
    spot = column("district_chp_store", "day.csv", "spot_eur_mwh")
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


def office_vehicle_to_grid() -> float:
    """Return the least cost of the afternoon [EUR]; rows are the red, blue and grey car."""
    load = numbers("42 44 43 45 47 46 48 52 51 44 36 28")
    has, needs = numbers("41 58 33"), numbers("48 40 33")
    rated, size = numbers("11 22 11")[:, None], numbers("64 77 52")[:, None]
    pay = np.full(12, 0.06)
    pay[6:10] = 0.62
    put, back = cp.Variable((3, 12), nonneg=True), cp.Variable((3, 12), nonneg=True)
    bought, sold = cp.Variable(12, nonneg=True), cp.Variable(12, nonneg=True)
    buying = cp.Variable(12, boolean=True)
    content = has[:, None] + cp.cumsum(0.93 * put - back / 0.93, axis=1) / 2
    cost = 0.29 * cp.sum(bought) - pay @ sold + 0.05 * cp.sum(back)
    return optimum(
        cp.Minimize(cost / 2),
        [
            bought + cp.sum(back, axis=0) == load + sold + cp.sum(put, axis=0),
            bought <= 70 * buying,
            sold <= 70 * (1 - buying),
            put <= np.repeat(rated, 12, 1),
            back <= np.repeat(rated, 12, 1),
            content >= 10,
            content <= np.repeat(size, 12, 1),
            content[:, 11] >= needs,
        ],
    )


def clinic_outage_priorities() -> float:
    """Return the most points; rows are laboratory, kitchen and laundry."""
    wards = numbers("12 12 13 15 16 15 14 14 13 13 12 12")
    sun = numbers("0 0 0 0 3 12 22 27 24 14 5 0")
    blocks = cp.Variable((3, 4), boolean=True)
    runs = blocks @ np.kron(np.eye(4), np.ones((1, 3)))
    put, back, used, motor = (cp.Variable(12, nonneg=True) for _ in range(4))
    content = 95 + cp.cumsum(0.96 * put - back / 0.96)
    return optimum(
        cp.Maximize(cp.sum(numbers("40 32 15") @ runs)),
        [
            used + motor + back == wards + numbers("9 14 11") @ runs + put,
            used <= sun,
            put <= 40,
            back <= 40,
            motor <= 12,
            cp.sum(motor) <= 60,
            blocks[1, 0] == 0,
            content >= 0,
            content <= 120,
            content[11] >= 20,
        ],
    )
