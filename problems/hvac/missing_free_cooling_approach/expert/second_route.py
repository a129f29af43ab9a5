"""A second route to "When the tower may cool alone"."""

import numpy as np


def solve(approach: float = 8.0) -> float:
    """Return the least energy [kWh]; it is cold in the morning first, so one change is enough."""
    alone = np.array([21, 25, 30, 36, 41, 44, 46, 43]) + approach <= 54
    # A run of hours with the tower, begun and ended once: the longest that is cold enough.
    longest = run = 0
    for cold in alone:
        run = run + 1 if cold else 0
        longest = max(longest, run)
    return float(14 * longest + 79 * (8 - longest))


def confirm() -> bool:
    """Whether the approach moves the optimum."""
    return abs(solve(approach=8) - solve(approach=20)) > 100
