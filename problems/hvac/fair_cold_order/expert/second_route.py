"""A second route to "Cold that is ordered the day before"."""

import cvxpy as cp

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the least expected cost [EUR], one block of variables for each weather."""
    loads = (
        (0.35, "620 740 880 960 1010 990 900 760"),
        (0.40, "790 980 1190 1380 1490 1470 1310 1080"),
        (0.25, "980 1260 1620 1930 2150 2140 1890 1510"),
    )
    order = cp.Variable(8, nonneg=True)
    cost, rules = 41 * cp.sum(order), [order <= 2500]
    for chance, load in loads:
        own, short, put, taken = (cp.Variable(8, nonneg=True) for _ in range(4))
        content = cp.cumsum(0.95 * put - taken)
        cost += chance * (215 / 3.2 * cp.sum(own) + 118 * cp.sum(short))
        rules += [order + own + short + taken - put >= numbers(load), own <= 600, short <= 700]
        rules += [put <= 450, taken <= 450, content >= 0, content <= 1400]
    return optimum(cp.Minimize(cost / 1000), rules)
