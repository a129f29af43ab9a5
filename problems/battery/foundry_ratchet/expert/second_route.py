"""A second route to "Foundry with a ratcheted demand charge"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import columns, optimum

column = columns(__file__)


def solve() -> float:
    """Return the least energy and demand cost [GBP], in MW and MWh."""
    load = column("load.csv", "load_kw") / 1000
    price = np.full(24, 96.0)
    price[:6] = price[-2:] = 71.0
    put, taken = cp.Variable(24, nonneg=True), cp.Variable(24, nonneg=True)
    content = cp.cumsum(put - taken / 0.83)
    bought = load + put - taken
    billed = cp.maximum(0.8 * 0.98, cp.max(bought))
    return optimum(
        cp.Minimize(price @ bought + 9750 * billed),
        [
            put <= 0.18,
            taken <= 0.18,
            content >= 0,
            content <= 0.6,
            bought >= 0,
            cp.sum(taken) <= 0.5,
        ],
    )
