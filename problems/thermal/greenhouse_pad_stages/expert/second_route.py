"""A second route to "Orchids and three pump stages"."""

import numpy as np


def solve() -> float:
    """Return the least discomfort and electricity [EUR] over all 65 536 choices of pumps."""
    gains, outside = (16, 24, 31, 35, 34, 28, 19, 11), (24, 27, 29, 31, 32, 31, 29, 26)
    choices = np.array(np.meshgrid(*[range(4)] * 8)).reshape(8, -1)
    inside = np.full(choices.shape[1], 25.0)
    total = 0.28 * 1.3 * choices.sum(axis=0)
    for gain, out, pumps in zip(gains, outside, choices, strict=True):
        inside = inside + (0.48 * (out - inside) + gain - 11 * pumps) / 7.5
        total = total + np.where((inside >= 19) & (inside <= 31), 0.09 * (inside - 25) ** 2, np.inf)
    return float(total.min())
