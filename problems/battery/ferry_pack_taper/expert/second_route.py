"""A second route to "Ferry pack that charges slower when full"."""

import cvxpy as cp

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the best trading result [EUR], in MW, MWh and EUR/MWh."""
    price = 1000 * numbers(
        "0.19 0.17 0.16 0.15 0.16 0.20 0.27 0.34 0.33 0.25 0.18 0.12 "
        "0.09 0.08 0.10 0.15 0.26 0.38 0.44 0.43 0.36 0.30 0.25 0.22"
    )
    put, taken = cp.Variable(24, bounds=[0, 1.6]), cp.Variable(24, bounds=[0, 2])
    content = cp.Variable(25, bounds=[0.4, 4])
    before = content[:24]
    rules = [content[0] == 1, content[1:] == before + 0.96 * put - taken / 0.96]
    rules += [put <= 1.6 - (before - 2.4) * 0.8 / 1.2, put <= 0.8 - (before - 3.6) * 0.7 / 0.4]
    return optimum(cp.Maximize(price @ (taken - put)), [*rules, content[24] >= 3.2])
