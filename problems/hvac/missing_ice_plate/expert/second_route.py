"""A second route to "Second-hand ice tank without a plate"."""

import numpy as np
from scipy.optimize import linprog


def solve(capacity: float = 120.0, night: float = 15.0) -> float:
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


def confirm() -> bool:
    """Whether capacity and night tariff move the optimum, and the ice has a least size."""
    least = solve(capacity=95.1) > solve(capacity=200)
    try:
        solve(capacity=94.9)
    except RuntimeError:
        moved = abs(solve(capacity=96) - solve(capacity=180)) > 3
        return least and moved and abs(solve(night=12) - solve(night=24)) > 3
    return False
