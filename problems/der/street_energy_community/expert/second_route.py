"""A second route to "A street that shares its solar power"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum, store

column = columns(__file__)
HOUSES = ("Birch", "Larch", "Maple", "Willow")


def solve() -> float:
    """Return the least sum of the bills [EUR]; rows are houses, the first has the battery."""
    use, sun = (np.array([column(f, house) for house in HOUSES]) for f in ("use.csv", "sun.csv"))
    bought, sold, given, taken = (cp.Variable((4, 24), nonneg=True) for _ in range(4))
    put, back, rules = store(24, 0, (0, 11), 5, (0.94, 1))
    own = cp.vstack([back - put, np.zeros((3, 24))])
    rules += [bought + taken + sun + own == use + sold + given]
    rules += [cp.sum(given, axis=0) == cp.sum(taken, axis=0)]
    rules += [bought + taken <= 14, sold + given <= 14]
    cost = 0.335 * cp.sum(bought) - 0.071 * cp.sum(sold) + 0.058 * cp.sum(taken)
    return optimum(cp.Minimize(cost), rules)
