"""A second route to "Turbines with valve points"."""

import numpy as np
import numpy.typing as npt


def solve() -> float:
    """Return the least cost of the hour [USD] by a search over both outputs."""

    def cost(upper: npt.NDArray[np.float64], lower: npt.NDArray[np.float64]) -> float:
        """Return the least cost on a grid, and infinity for what the third set cannot fill."""
        first = 310 + 7.8 * upper + 0.0019 * upper**2
        first += 180 * np.abs(np.sin(0.033 * (100 - upper)))
        second = 260 + 8.3 * lower + 0.0024 * lower**2
        second += 140 * np.abs(np.sin(0.042 * (60 - lower)))
        third = 520 - upper[:, None] - lower[None, :]
        total = first[:, None] + second[None, :] + 11.4 * third
        return float(np.where((third >= -1e-9) & (third <= 90 + 1e-9), total, np.inf).min())

    valves = np.array([100 + k * np.pi / 0.033 for k in range(5)])
    others = np.array([60 + k * np.pi / 0.042 for k in range(5)])
    upper = np.concatenate([np.linspace(100, 400, 3001), valves[valves <= 400]])
    lower = np.concatenate([np.linspace(60, 300, 2401), others[others <= 300]])
    edges = np.concatenate([520 - others, 430 - others])
    upper = np.concatenate([upper, edges[(edges >= 100) & (edges <= 400)]])
    ends = np.concatenate([520 - valves, 430 - valves])
    lower = np.concatenate([lower, ends[(ends >= 60) & (ends <= 300)]])
    return cost(upper, lower)
