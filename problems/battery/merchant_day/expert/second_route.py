"""Second route to the merchant day: every choice of direction in the hours with negative prices.

Charging and discharging at once can only pay where the price is below
``-wear * eta / (1 - eta)`` with ``eta`` the round-trip efficiency, hence only in hours with a
negative price. For each assignment of a direction to those hours the rest is a linear programme,
and the largest of these optima is the answer.
"""

import itertools

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import Array, columns, optimum, store

column = columns(__file__)


def best_profit(charges: Array, discharges: Array) -> float:
    """Return the largest profit [EUR], where hours that may charge or discharge are 1."""
    price = column("day_ahead.csv", "price_eur_per_mwh")
    limits = 8.0 * charges, 10.0 * discharges
    put, taken, rules = store(price.size, 6.0, (2.0, 19.0), limits, (0.96, 0.95), end=6.0)
    return optimum(cp.Maximize(price @ (taken - put) - 7.5 * cp.sum(taken)), rules)


def solve() -> float:
    """Return the largest profit of the day [EUR]."""
    price = column("day_ahead.csv", "price_eur_per_mwh")
    negative = np.flatnonzero(price < 0)
    best = -np.inf
    for directions in itertools.product((0.0, 1.0), repeat=len(negative)):
        charges, discharges = np.ones(price.size), np.ones(price.size)
        charges[negative], discharges[negative] = directions, 1.0 - np.array(directions)
        best = max(best, best_profit(charges, discharges))
    return best


def confirm() -> bool:
    """Whether the relaxation burns energy at negative prices; a plan that promises it is wrong."""
    return best_profit(np.ones(24), np.ones(24)) > solve() + 10
