"""A second route to "Cooling a laboratory on a small connection"."""

import math

import cvxpy as cp

from engiagent.problems.reference import columns, response

column = columns(__file__)


def solve() -> float:
    """Return the cost of the air conditioner [EUR], in its electric powers."""
    outdoor, base, price = (column("day.csv", c) for c in ("outdoor_degC", "base_kw", "price"))
    free, matrix = response(22.5, outdoor + 1.9 * 3.5, 1.9, math.exp(-1 / (1.9 * 6.8)))
    power = cp.Variable(24, bounds=[0, 5])
    inside = free - matrix @ power * 3
    limits = [inside >= 19, inside <= 24, inside[24] <= 22.5, power + base <= 8.5]
    return float(cp.Problem(cp.Minimize(price @ power / 1000), limits).solve(solver=cp.HIGHS))
