"""A second route to "Cold store that picks its flexibility events"."""

from itertools import product

import numpy as np
from scipy.optimize import linprog

from engiagent.problems.reference import numbers, response, within

FEES = {(7, 9): 310, (11, 13): 180, (17, 19): 420, (18, 21): 560, (20, 22): 260}
POWER = "41 38 36 35 37 44 61 88 96 82 66 51 43 38 40 52 71 104 131 139 117 84 60 48"
HARBOUR = "14 14 13 13 12 13 15 17 20 22 24 26 27 28 28 27 26 24 22 20 18 17 16 15"


def solve() -> float:
    """Return electricity less fees [EUR]: a linear programme for each choice of events."""
    free, warmer = response(-22.5, numbers(HARBOUR) + 260 / 14, 1 / 14, 1 - 14 / 750)
    high = np.append(np.full(24, -20.0), -22.5)
    rows, sides = within(free[1:], -1900 * warmer[1:], np.full(24, -24.0), high[1:])
    best = np.inf
    for taken in product((False, True), repeat=5):
        events = [event for event, is_in in zip(FEES, taken, strict=True) if is_in]
        hours = [hour for event in events for hour in range(*event)]
        if len(hours) > len(set(hours)):
            continue
        limits = [(0, 0.15 if k in hours else 0.62) for k in range(24)]
        found = linprog(numbers(POWER), A_ub=rows, b_ub=sides, bounds=limits)
        if found.success:
            best = min(best, found.fun - sum(FEES[event] for event in events))
    return float(best)
