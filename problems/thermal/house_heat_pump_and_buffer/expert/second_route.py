"""A second route to "Heat pump and buffer": a linear programme for each size of the pump."""

import math

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import annuity, columns, fading, optimum

column = columns(__file__)
SPELLS, LOSS = 45, 0.015


def of_a_year(size: int) -> float:
    """Return the least cost of a year with a pump of a size [kW], infinite where it is too small.

    What the buffer holds is a sum of what was put in, each share fading since.
    """
    need, cop, price = (
        column("cold_days.csv", name) for name in ("heat_kW", "cop", "price_EUR_per_kWh")
    )
    count = need.size
    blocked = np.isin(np.arange(count) % 24, (11, 12, 17, 18))
    heat = cp.Variable(count, bounds=[0, np.where(blocked, 0.0, float(size))])
    keep, buffer = math.exp(-LOSS), cp.Variable(bounds=[0, 60])
    content = (1 - keep) / LOSS * fading(keep, count) @ (heat - need)
    rules = [content >= 0, content <= buffer, cp.abs(heat - need) <= 20]
    once = annuity(0.03, 20) * (720 * size + 5_500 + 95 * buffer)
    try:
        return optimum(cp.Minimize(SPELLS * (price / cop) @ heat + once), rules)
    except RuntimeError:  # the house cannot be heated
        return math.inf


def solve() -> float:
    """Return the least cost of a year [EUR]."""
    return min(map(of_a_year, range(6, 17, 2)))


def confirm() -> bool:
    """Whether a smaller pump cannot heat the house and a larger one costs more than it saves."""
    costs = [of_a_year(size) for size in (8, 10, 12)]
    return costs[0] == math.inf and costs[1] < costs[2]
