"""A second route to "The day with twenty-five hours"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve() -> float:
    """Return the best profit [EUR] of the rows of the file, all of them an hour long."""
    price = column("fi.csv", "price_eur_mwh")
    n = len(price)
    put, taken = cp.Variable(n, nonneg=True), cp.Variable(n, nonneg=True)
    content = 3.6 + cp.cumsum(0.95 * put - taken / 0.95)
    return optimum(
        cp.Maximize(price @ taken - (price + 4) @ put),
        [
            put <= 2.4,
            taken <= np.where(price < 20, 0.0, 2.4),
            content >= 0,
            content <= 7.2,
            content[n - 1] >= 3.6,
        ],
    )
