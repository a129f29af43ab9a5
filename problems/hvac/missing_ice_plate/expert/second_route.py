"""A second route to "Second-hand ice tank without a plate"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum

MILK = numbers("0 0 0 0 52 78 85 60 24")


def solve(capacity: float = 120.0, night: float = 15.0) -> float:
    """Return the least cost [EUR] of the morning."""
    price = np.where(np.arange(9) < 4, night, 28.9) / 270
    frozen = cp.Variable(9, bounds=[0, 45])
    ice = cp.cumsum(frozen - MILK)
    return optimum(cp.Minimize(price @ frozen), [ice >= 0, ice <= capacity])


def confirm() -> bool:
    """Whether capacity and night tariff move the optimum, and the ice has a least size."""
    least = solve(capacity=95.1) > solve(capacity=200)
    try:
        solve(capacity=94.9)
    except RuntimeError:
        moved = abs(solve(capacity=96) - solve(capacity=180)) > 3
        return least and moved and abs(solve(night=12) - solve(night=24)) > 3
    return False
