"""A second route to "Cold that is ordered the day before"."""

import cvxpy as cp

from engiagent.problems.reference import numbers, optimum, store

LOADS = {
    0.35: "620 740 880 960 1010 990 900 760",
    0.40: "790 980 1190 1380 1490 1470 1310 1080",
    0.25: "980 1260 1620 1930 2150 2140 1890 1510",
}


def solve() -> float:
    """Return the least expected cost [EUR], one block of variables for each weather."""
    order, rules = cp.Variable(8, bounds=[0, 2500]), list[cp.Constraint]()
    cost = 41 * cp.sum(order)
    for chance, load in LOADS.items():
        own, short = cp.Variable(8, bounds=[0, 600]), cp.Variable(8, bounds=[0, 700])
        put, taken, limits = store(8, 0, (0, 1400), 450, (0.95, 1))
        cost += chance * (215 / 3.2 * cp.sum(own) + 118 * cp.sum(short))
        rules += [*limits, order + own + short + taken - put >= numbers(load)]
    return optimum(cp.Minimize(cost / 1000), rules)
