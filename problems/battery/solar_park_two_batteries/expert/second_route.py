"""A second route to "Two batteries behind one transformer"."""

import cvxpy as cp

from engiagent.problems.reference import numbers, optimum, store


def solve() -> float:
    """Return the best sales less wear [EUR] of lithium and the flow battery."""
    panels = numbers(
        "0 0 0 0 0 0.4 2.1 6.8 12.9 18.4 22.7 24.9 25.6 24.8 22.1 17.9 12.2 6.1 1.7 0.2 0 0 0 0"
    )
    price = numbers("88 84 81 80 82 91 103 98 71 44 22 8 -6 -11 3 27 62 105 142 156 138 119 104 95")
    rules: list[cp.Constraint] = []
    sold, wear = cp.Variable(24, bounds=[0, panels]), 0.0
    for power, energy, ways, each in ((9, 14, (0.97, 0.97), 11), (5, 36, (0.84, 0.86), 2)):
        put, taken, limits = store(24, 0, (0, energy), power, ways)
        sold, wear, rules = sold + taken - put, wear + each * cp.sum(taken), rules + limits
    return optimum(cp.Maximize(price @ sold - wear), [*rules, sold >= 0, sold <= 16])
