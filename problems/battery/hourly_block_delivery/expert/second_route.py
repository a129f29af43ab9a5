"""A second route to "Hourly blocks from a gusty solar field"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve() -> float:
    """Return the best sales [EUR]: what is sold is what each of its four quarters delivers."""
    solar = column("field.csv", "solar_mw")
    price = column("blocks.csv", "price_eur_mwh")
    sold = cp.Variable(12, nonneg=True)
    used, put, taken = (cp.Variable(48, nonneg=True) for _ in range(3))
    content = 5 + cp.cumsum(0.95 * put - taken / 0.95) / 4
    return optimum(
        cp.Maximize(price @ sold),
        [
            used + taken - put == np.kron(np.eye(12), np.ones((4, 1))) @ sold,
            used <= solar,
            put <= 4,
            taken <= 4,
            sold <= 16,
            content >= 0,
            content <= 10,
            content[47] >= 5,
        ],
    )
