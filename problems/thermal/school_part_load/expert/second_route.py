"""A second route to "School heat pump that cannot go below a third"."""

import cvxpy as cp
import numpy as np

from engiagent.problems.reference import numbers, optimum

OUTDOOR = numbers(
    "-6 -6.5 -7 -7.5 -8 -8 -7.5 -7 -6 -5 -4 -3 -2.5 -2 -2 -2.5 -3.5 -4.5 -5 -5.5 -6 -6.5 -7 -7"
)
SPOT = numbers("84 79 77 76 80 95 148 196 172 118 92 81 76 74 83 104 151 203 211 168 127 104 95 88")


def solve() -> float:
    """Return electricity and wear [EUR]; a binary for each spell of running of three hours on."""
    price, hour = SPOT / 1000, np.arange(24)
    spells = [(a, b) for a in range(24) for b in range(min(a + 3, 24), 25)]
    covers = np.array([[a <= k < b for a, b in spells] for k in hour], dtype=float)
    # two spells never touch: they would be one, without the second start
    touches = np.array([[a <= k <= b for a, b in spells] for k in hour], dtype=float)
    chosen = cp.Variable(len(spells), boolean=True)
    low = np.where((hour >= 7) & (hour < 16), 18.0, 15.0)  # at the end of the hour
    heat, inside = cp.Variable(24, nonneg=True), cp.Variable(24, bounds=[low, 22])
    sport = np.where((hour >= 8) & (hour < 16), 6.0, 0.0)
    before = cp.hstack([np.array([17.5]), inside[:-1]])
    rules = [42 * (inside - before) == heat + 1.25 * (OUTDOOR - inside) + sport]
    rules += [touches @ chosen <= 1, heat >= 15 * covers @ chosen, heat <= 45 * covers @ chosen]
    cost = (1.8 * price @ covers + 1.4) @ chosen + price @ heat / 3.6
    return optimum(cp.Minimize(cost), rules)
