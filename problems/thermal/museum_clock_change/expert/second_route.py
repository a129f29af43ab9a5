"""A second route to "Picture gallery on the night the clocks go back"."""

import math

import cvxpy as cp

from engiagent.problems.reference import columns, response

column = columns(__file__)


def solve() -> float:
    """Return the cost of the 25 hours [EUR], in powers net of cold."""
    outdoor = column("forecast.csv", "outdoor_c")
    visitors = column("forecast.csv", "visitors_kw")
    price = column("market.csv", "price") / 1000
    free, matrix = response(20.4, outdoor + 0.75 * visitors, 0.75, math.exp(-1 / (0.75 * 55)))
    net = cp.Variable(25, bounds=[-35, 40])
    inside = free + matrix @ net
    cost = cp.sum(cp.multiply(price, cp.maximum(net / 3.8, -net / 4.4)))
    limits = [inside >= 19.8, inside <= 21.2]
    limits.append(cp.abs(cp.diff(inside)) <= 0.25)
    return float(cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.HIGHS))
