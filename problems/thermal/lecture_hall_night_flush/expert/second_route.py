"""A second route to "Flushing a lecture hall with night air"."""

from itertools import product

import numpy as np


def solve() -> float:
    """Return the largest saving [EUR] over all 81 sequences of stages."""
    best = -np.inf
    for stages in product(((0.0, 0.0), (2.6, 1.2), (5.2, 9.6)), repeat=4):
        inside, paid, warm = 27.5, 0.0, True
        for outside, (flow, power) in zip((23.0, 19.0, 16.5, 15.5), stages, strict=True):
            inside -= 2 / 31 * 1.006 * flow * (inside - outside)
            paid += 0.24 * 2 * power
            warm = warm and inside >= 20.5
        if warm:
            best = max(best, 4.2 * (27.5 - inside) - paid)
    return best
