"""A second route to "Heat and cold of a hotel together"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum


def solve() -> float:
    """Return the least cost [CHF]: heat of the recovery machine and flow into the store decide."""
    hot = numbers("38 30 26 24 31 58 96 124 118 92 70 61 58 55 52 56 68 88 104 112 98 80 62 48")
    cold = numbers(
        "42 40 38 37 38 42 50 62 78 92 108 121 130 136 138 132 124 112 98 84 70 60 52 46"
    )
    price = np.full(24, 19.8)
    price[7:21] = 27.5
    heat, flow = cp.Variable(24, bounds=[0, 110]), cp.Variable(24, bounds=[-60, 60])
    boiler, old = hot + flow - heat, cold - heat * (1 - 1 / 3.6)
    content = 90 + cp.cumsum(flow)
    rules = [boiler >= 0, boiler <= 130, old >= 0, old <= 150]
    rules += [content >= 0, content <= 260, content[23] >= 90]
    cost = price @ (heat / 3.6 + old / 3.3) + 12.4 / 0.93 * cp.sum(boiler)
    return optimum(cp.Minimize(cost / 100), rules)
