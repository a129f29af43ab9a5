"""A second route to "Eight hours of a market with wind and storage"."""

import numpy as np
from scipy.optimize import linprog

DEMAND = (310, 290, 330, 390, 440, 435, 420, 350)
WIND = (205, 240, 185, 120, 55, 40, 95, 160)


def solve(storage: float = 200.0) -> float:
    """Return the least cost [USD], and make sure that the storage never runs both ways.

    Blocks of eight columns: four offers, wind, charging, discharging, contents after the hour.
    """
    n = len(DEMAND)
    one, none, step = np.eye(n), np.zeros((n, n)), np.eye(n) - np.eye(n, k=-1)
    cost = np.repeat([30.0, 40, 50, 60, 0, 1e-6, 1e-6, 0], n)  # no motion for nothing
    balance = np.hstack([one, one, one, one, one, -one, one, none])
    content = np.hstack([none, none, none, none, none, -0.85 * one, one / 0.85, step])
    change = step[1:]
    still = np.zeros((n - 1, n))
    first = np.hstack([change, change, still, still, still, still, still, still])
    second = np.hstack([still, still, change, change, still, still, still, still])
    limits: list[tuple[float, float]] = [(0, 120)] * (2 * n)
    limits += [(0, 80)] * (2 * n)
    limits += [(0, w) for w in WIND]
    limits += [(0, storage)] * 2 * n + [(0, 200)] * n
    start = np.zeros(n)
    start[0] = 100
    result = linprog(
        cost,
        A_ub=np.vstack([first, -first, second, -second]),
        b_ub=np.repeat([200.0, 180, 150, 130], n - 1),
        A_eq=np.vstack([balance, content]),
        b_eq=np.concatenate([np.array(DEMAND, dtype=np.float64), start]),
        bounds=limits,
    )
    if result.status != 0:
        raise RuntimeError(result.message)
    plan = result.x.reshape(8, n)
    if np.minimum(plan[5], plan[6]).max() > 1e-6:
        raise RuntimeError("the storage charges and discharges at once")
    return float(plan[:4].sum(axis=1) @ np.array([30.0, 40, 50, 60]))


def confirm() -> bool:
    """Whether storage makes the eight hours cheaper."""
    return solve(0.0) > solve() + 1000
