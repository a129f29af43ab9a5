"""Second routes to plants without an answer: what is too little or too much, what is open."""

import numpy as np
from scipy.optimize import linprog


def laboratory_minimum_load() -> float:
    """Return by how much [kBTU] the content at least output exceeds the buffer after six hours."""
    return 90.0 + 6 * (760 - 640) - 400


def heat_wave_district() -> float:
    """Return by how much [MWh] the ice that is needed exceeds the ice that is there."""
    outdoor = np.array([33, 35, 37, 38, 39, 39, 38, 36])
    load = np.array([8.2, 9.1, 9.9, 10.6, 11.1, 11.2, 10.7, 9.6])
    able = 3 * (3.4 - 0.055 * np.maximum(0, outdoor - 30))
    able[4:6] = np.minimum(able[4:6], 3.1 * 2.81)
    return float(np.maximum(load - able, 0).sum() - 7)


def missing_free_cooling_approach(approach: float = 8.0) -> float:
    """Return the least energy [kWh]; it is cold in the morning first, so one change is enough."""
    alone = np.array([21, 25, 30, 36, 41, 44, 46, 43]) + approach <= 54
    # A run of hours with the tower, begun and ended once: the longest that is cold enough.
    longest = run = 0
    for cold in alone:
        run = run + 1 if cold else 0
        longest = max(longest, run)
    return float(14 * longest + 79 * (8 - longest))


def missing_ice_plate(capacity: float = 120.0, night: float = 15.0) -> float:
    """Return the least cost [EUR] of the morning."""
    milk = np.array([0, 0, 0, 0, 52, 78, 85, 60, 24])
    price = np.where(np.arange(9) < 4, night, 28.9) / 270
    total = np.tril(np.ones((9, 9)))
    result = linprog(
        price,
        A_ub=np.vstack([total, -total]),
        b_ub=np.concatenate([capacity + np.cumsum(milk), -np.cumsum(milk)]),
        bounds=(0, 45),
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    return float(result.fun)


def contradictory_supply_air() -> float:
    """Return by how much [K] the coldest that is allowed exceeds the warmest."""
    warmest, coldest = 13.0, 16.0
    return coldest - warmest
