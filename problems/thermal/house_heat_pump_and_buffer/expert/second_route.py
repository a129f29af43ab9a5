"""A second route to "Heat pump and buffer": a linear programme for each size of the pump."""

import math

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import columns

column = columns(__file__)
SPELLS, LIFE, RATE, LOSS = 45, 20, 0.03, 0.015


def of_a_year(size: int) -> float:
    """Return the least cost of a year with a pump of a size [kW], infinite where it is too small.

    Unknown are heat and net charge of every hour, then the buffer; what it holds is a sum of what
    was put in, each share fading since.
    """
    need, cop, price = (
        column("cold_days.csv", name) for name in ("heat_kW", "cop", "price_EUR_per_kWh")
    )
    count = need.size
    hours = np.arange(count)
    since = np.subtract.outer(hours, hours)
    put = np.where(since >= 0, np.exp(-LOSS * np.maximum(since, 0)), 0.0)
    content = put * -math.expm1(-LOSS) / LOSS
    rows = np.vstack(
        [np.hstack([content, -np.ones((count, 1))]), np.hstack([-content, np.zeros((count, 1))])]
    )
    blocked = np.isin(hours % 24, (11, 12, 17, 18))
    most = np.where(blocked, 0.0, float(size))
    low, high = np.maximum(-20.0, -need), np.minimum(20.0, most - need)
    if (low > high).any():
        return math.inf
    share = 1 / sum((1 + RATE) ** -year for year in range(1, LIFE + 1))
    worth = SPELLS * price / cop
    bounds = [*zip(low, high, strict=True), (0.0, 60.0)]
    best = linprog([*worth, share * 95.0], rows, np.zeros(2 * count), bounds=bounds)
    if best.status != 0:
        return math.inf
    return float(best.fun + worth @ need + share * (720.0 * size + 5_500.0))


def solve() -> float:
    """Return the least cost of a year [EUR]."""
    return min(map(of_a_year, range(6, 17, 2)))


def confirm() -> bool:
    """Whether a smaller pump cannot heat the house and a larger one costs more than it saves."""
    costs = [of_a_year(size) for size in (8, 10, 12)]
    return costs[0] == math.inf and costs[1] < costs[2]
