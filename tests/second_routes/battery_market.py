"""Second routes to batteries that trade: cvxpy over whole vectors, contents as running sums."""

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


def optimum(goal: cp.Minimize | cp.Maximize, rules: list[cp.Constraint]) -> float:
    """Return the optimum of a programme."""
    problem = cp.Problem(goal, rules)
    problem.solve(solver=cp.HIGHS)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def energy_and_reserve() -> float:
    """Return the best income [EUR], in MW and MWh."""
    price = column("energy_and_reserve", "spot.csv", "price [EUR/MWh]")
    up_pays = column("energy_and_reserve", "capacity.csv", "up [EUR/MW]")
    down_pays = column("energy_and_reserve", "capacity.csv", "down [EUR/MW]")
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


def cycle_budget_weekend() -> float:
    """Return the best margin [USD], in MWh and USD/MWh."""
    price = 10 * column("cycle_budget_weekend", "forecast.csv", "ct_per_kwh")
    put, taken = cp.Variable(72, nonneg=True), cp.Variable(72, nonneg=True)
    way = np.sqrt(0.9)
    content = 0.7 + cp.cumsum(way * put - taken / way)
    days = [cp.sum(taken[24 * d : 24 * d + 24]) <= 2 for d in range(3)]
    return optimum(
        cp.Maximize(price @ (taken - put) - 13 * cp.sum(taken)),
        [
            put <= 0.65,
            taken <= 0.65,
            content >= 0.3,
            content <= 2,
            content[71] >= 0.7,
            cp.sum(taken) <= 5,
            *days,
        ],
    )


def solar_park_two_batteries() -> float:
    """Return the best sales less wear [EUR]; row 0 is lithium, row 1 the flow battery."""
    panels = numbers(
        "0 0 0 0 0 0.4 2.1 6.8 12.9 18.4 22.7 24.9 25.6 24.8 22.1 17.9 12.2 6.1 1.7 0.2 0 0 0 0"
    )
    price = numbers("88 84 81 80 82 91 103 98 71 44 22 8 -6 -11 3 27 62 105 142 156 138 119 104 95")
    put, taken = cp.Variable((2, 24), nonneg=True), cp.Variable((2, 24), nonneg=True)
    used = cp.Variable(24, nonneg=True)
    into, out = np.diag([0.97, 0.84]), np.diag([1 / 0.97, 1 / 0.86])
    content = (into @ put - out @ taken) @ np.triu(np.ones((24, 24)))
    sold = used + cp.sum(taken, axis=0) - cp.sum(put, axis=0)
    power = np.outer([9, 5], np.ones(24))
    energy = np.outer([14, 36], np.ones(24))
    return optimum(
        cp.Maximize(price @ sold - cp.sum(np.array([11, 2]) @ taken)),
        [
            put <= power,
            taken <= power,
            content >= 0,
            content <= energy,
            used <= panels,
            sold >= 0,
            sold <= 16,
        ],
    )


def clock_change_day() -> float:
    """Return the best profit [EUR] of the rows of the file, all of them an hour long."""
    price = column("clock_change_day", "fi.csv", "price_eur_mwh")
    n = len(price)
    put, taken = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    content = 3.6 + cp.cumsum(0.95 * put - taken / 0.95)
    return optimum(
        cp.Maximize(price @ taken - (price + 4) @ put),
        [
            put <= 2.4,
            taken <= np.where(price < 20, 0.0, 2.4),
            content >= 0,
            content <= 7.2,
            content[n - 1] >= 3.6,
        ],
    )


def ferry_pack_taper() -> float:
    """Return the best trading result [EUR], in MW, MWh and EUR/MWh."""
    price = 1000 * numbers(
        "0.19 0.17 0.16 0.15 0.16 0.20 0.27 0.34 0.33 0.25 0.18 0.12 "
        "0.09 0.08 0.10 0.15 0.26 0.38 0.44 0.43 0.36 0.30 0.25 0.22"
    )
    put, taken, content = (
        cp.Variable(24, nonneg=True),
        cp.Variable(24, nonneg=True),
        cp.Variable(25),
    )
    before = content[:24]
    return optimum(
        cp.Maximize(price @ (taken - put)),
        [
            content[0] == 1,
            content[1:] == before + 0.96 * put - taken / 0.96,
            content >= 0.4,
            content <= 4,
            content[24] >= 3.2,
            taken <= 2,
            put <= 1.6,
            put <= 1.6 - (before - 2.4) * 0.8 / 1.2,
            put <= 0.8 - (before - 3.6) * 0.7 / 0.4,
        ],
    )


def solar_commitment_cvar() -> float:
    """Return the best mean income [EUR] over the two worst of five courses of the sun."""
    names = ("overcast", "showers", "mixed", "haze", "clear")
    solar = np.array([column("solar_commitment_cvar", "solar.csv", name) for name in names])
    price = column("solar_commitment_cvar", "auction.csv", "price [EUR/MWh]")
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


def hourly_block_delivery() -> float:
    """Return the best sales [EUR]: what is sold is what each of its four quarters delivers."""
    solar = column("hourly_block_delivery", "field.csv", "solar_mw")
    price = column("hourly_block_delivery", "blocks.csv", "price_eur_mwh")
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
