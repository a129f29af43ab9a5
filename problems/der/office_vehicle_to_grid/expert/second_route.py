"""A second route to "Company cars in a demand response event"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum, store


def solve() -> float:
    """Return the least cost of the afternoon [EUR]; cars are the red, the blue and the grey."""
    load = numbers("42 44 43 45 47 46 48 52 51 44 36 28")
    pay = np.full(12, 0.06)
    pay[6:10] = 0.62
    bought, sold = cp.Variable(12, nonneg=True), cp.Variable(12, nonneg=True)
    buying = cp.Variable(12, boolean=True)
    rules, drawn, wear = [bought <= 70 * buying, sold <= 70 * (1 - buying)], 0.0, 0.0
    for has, needs, power, size in ((41, 48, 11, 64), (58, 40, 22, 77), (33, 33, 11, 52)):
        limits: list[cp.Constraint]
        put, back, limits = store(12, has, (10, size), power, (0.93, 0.93), hours=0.5, end=needs)
        rules, drawn, wear = rules + limits, drawn + put - back, wear + 0.05 * cp.sum(back)
    rules += [bought == load + sold + drawn]
    return optimum(cp.Minimize((0.29 * cp.sum(bought) - pay @ sold + wear) / 2), rules)
