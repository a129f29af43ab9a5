"""Second routes to problems without an answer: what is too little, what is open."""

import numpy as np
from scipy.optimize import linprog


def ferry_dock_infeasible() -> float:
    """Return the content [kWh] after the seventh crossing at full charging power.

    More charging never lowers a later content, and the battery cannot hold more than it holds.
    """
    content = 800.0
    for crossing in range(1, 8):
        content -= 190
        if crossing in (2, 4, 6):
            content = min(1100.0, content + 1800 / 6)
    return content


def island_reserve_infeasible() -> float:
    """Return by how much [kW] the load exceeds what is left when the worst engine trips."""
    most = (900, 600, 450)
    return 1090 - min(sum(most) - one for one in most)


def missing_fuel_price(diesel: float = 9.0) -> float:
    """Return the least cost [NOK]: hour by hour the cheaper source first."""
    load = (95, 140, 165, 170, 160, 90, 150, 155)
    sun = (8, 15, 22, 28, 31, 32, 29, 24)
    sources = sorted([(1.32, 60.0), (0.27 * diesel, 150.0)])
    cost = 0.0
    for need, gives in zip(load, sun, strict=True):
        left = float(need - gives)
        for price, most in sources:
            cost += price * min(left, most)
            left -= min(left, most)
    return cost


def missing_trip_energy(bella: float = 25.0) -> float:
    """Return the least cost [EUR] when Bella needs a given content."""
    price = np.repeat([0.44, 0.44, 0.30, 0.30], 2)  # Anna and Bella take turns
    shared = np.kron(np.eye(4), np.ones((1, 2)))
    each = np.kron(np.ones((1, 4)), np.eye(2))
    has = np.array([18.0, 25.0])
    result = linprog(
        price,
        A_ub=np.vstack([shared, -each, each]),
        b_ub=np.concatenate([np.full(4, 22.0), has - np.array([45.0, bella]), 60 - has]),
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    return float(result.fun)


def contradictory_export() -> float:
    """Return by how much [kWh] the feed-in that must be exceeds the feed-in that may be."""
    may_be, must_be = 6 * 0.0, 60.0
    return must_be - may_be
