"""Second routes to batteries that have to be ready, and to those that cannot be planned."""

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


def hospital_readiness_robust() -> float:
    """Return the best income [EUR]; each hour that may be the high one is a limit of its own."""
    critical = numbers(
        "96 92 90 89 91 98 118 140 158 166 170 172 168 164 160 158 154 148 140 131 122 114 106 100"
    )
    band = numbers("10 10 9 9 9 12 20 26 32 36 40 44 42 38 34 30 28 26 22 20 16 14 12 11")
    price = numbers("58 52 47 45 49 63 92 121 104 73 49 33 26 24 35 56 83 124 151 143 118 94 78 66")
    put, taken, content = (cp.Variable(n, nonneg=True) for n in (24, 24, 25))
    rules = [
        content[0] == 700,
        content[1:] == content[:24] + put - taken / 0.94,
        content >= 80,
        content <= 1200,
        content[24] >= 700,
        put <= 400,
        taken <= 400,
    ]
    for t in range(24):
        ahead = slice(t, min(t + 3, 24))
        for high in band[ahead]:
            rules.append(0.94 * content[t] >= critical[ahead].sum() + high)
    return optimum(cp.Maximize(price @ (taken - put) / 1000), rules)


def market_hall_infeasible() -> float:
    """Return the content [kWh] that the opening would need, backwards from the end.

    Where the load is above the limit, the excess has to come from the content; where it is below,
    the content may rise by what the limit leaves, at most by the charging power.
    """
    load = numbers("22 24 27 33 41 52 63 71 74 66 48 31")
    needed, most = 0.0, 0.0
    for power in load[::-1]:
        if power > 44:
            needed += 1.05 * (power - 44)
        else:
            needed = max(0.0, needed - 0.95 * min(20.0, 44 - power))
        most = max(most, needed)
    return most


def missing_two_prices(price: float = 0.0) -> float:
    """Return the best income [EUR] if the two prices that are withheld were a given one."""
    before = numbers("44 41 39 38 40 47 61 78 72 55 43 36 31 29")
    after = numbers("58 77 93 90 79 66 57 50")
    full = np.concatenate([before, [price, price], after])
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    content = cp.cumsum(0.9 * put - taken / 0.97)
    return optimum(
        cp.Maximize(full @ (taken - put)), [put <= 6, taken <= 6, content >= 0, content <= 12]
    )


def contradictory_capacity(capacity: float = 45.0) -> float:
    """Return the least cost [EUR] with one of the two capacities."""
    load = column("contradictory_capacity", "hall.csv", "load [kW]")
    price = np.full(24, 0.23)
    price[17:20] = 0.41
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    content = 10 + cp.cumsum(0.91 * put - taken)
    bought = load + put - taken
    return optimum(
        cp.Minimize(price @ bought),
        [put <= 20, taken <= 20, bought >= 0, content >= 0, content <= capacity, content[23] >= 10],
    )


def tram_flywheel() -> float:
    """Return the least cost [EUR]; what a step adds decays by the time that is left of it."""
    traction = column("tram_flywheel", "traction.csv", "traction_kw")
    n, step = len(traction), 1 / 12
    fade = np.exp(-0.12 * step)
    worth = (1 - fade) / 0.12
    ages = np.subtract.outer(np.arange(n), np.arange(n))
    spread = np.where(ages >= 0, worth * fade ** np.maximum(ages, 0), 0.0)
    put, taken = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    content = 75 * fade ** np.arange(1, n + 1) + spread @ (0.97 * put - taken / 0.97)
    bought = traction + put - taken
    return optimum(
        cp.Minimize(0.16 * step * cp.sum(bought) + 0.85 * cp.max(bought)),
        [put <= 500, taken <= 500, bought >= 0, content >= 15, content <= 150],
    )
