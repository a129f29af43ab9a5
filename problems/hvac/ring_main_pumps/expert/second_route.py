"""A second route to "Which pumps for the ring main"."""

from collections.abc import Callable
from itertools import combinations

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

Vector = npt.NDArray[np.float64]
Split = Callable[[float], Vector]


def solve() -> float:
    """Return the least energy [kWh]: in each hour the best group of pumps, at equal slopes."""
    pumps = ((75.0, 30.0, 0.3), (55.0, 20.0, 0.3), (40.0, 17.5, 0.4))
    total = 0.0
    for need in (38, 64, 97, 131):
        best = float("inf")
        for group in (g for n in (1, 2, 3) for g in combinations(pumps, n)):
            low = np.array([flow * share for flow, _, share in group])
            high = np.array([flow for flow, _, _ in group])
            if not low.sum() <= need <= high.sum():
                continue
            # Slope 3 P x^2/m^3 alike for all that are at no limit: x = sqrt(slope m^3/(3 P)).
            steepness = np.array([3 * power / flow**3 for flow, power, _ in group])

            def split(
                slope: float, low: Vector = low, high: Vector = high, steep: Vector = steepness
            ) -> Vector:
                return np.clip(np.sqrt(slope / steep), low, high)

            def missing(slope: float, need: float = need, split: Split = split) -> float:
                return float(split(slope).sum()) - need

            slope = brentq(missing, 0.0, 10.0, xtol=1e-15, rtol=1e-14)
            powers = np.array([power for _, power, _ in group])
            best = min(best, float(powers @ (0.04 + (split(slope) / high) ** 3)))
        total += best
    return total
