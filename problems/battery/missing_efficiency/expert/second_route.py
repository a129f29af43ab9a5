"""A second route to the incomplete problem: the answer depends on what is missing.

The best income is computed for two round-trip efficiencies that real batteries have. They differ
by far more than any tolerance, so no single number can be called the answer.
"""

import cvxpy as cp

from engiagent.problems.reference import columns, optimum, store

column = columns(__file__)


def income(round_trip: float) -> float:
    """Return the best income of the day [EUR] at a round-trip efficiency, split by square root."""
    price, eta = column("spot.csv", "spot_price"), round_trip**0.5
    put, taken, rules = store(price.size, 0, (0, 1.2), 0.5, (eta, eta))
    return optimum(cp.Maximize(price @ (taken - put)), rules)


def confirm() -> bool:
    """Whether the efficiency moves the income."""
    return income(0.95) > 1.25 * income(0.80)
