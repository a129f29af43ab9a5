"""A second route to "District cooling in a heat wave"."""

import numpy as np


def confirm() -> bool:
    """Whether the ice that is needed [MWh] exceeds the ice that is there."""
    outdoor = np.array([33, 35, 37, 38, 39, 39, 38, 36])
    load = np.array([8.2, 9.1, 9.9, 10.6, 11.1, 11.2, 10.7, 9.6])
    able = 3 * (3.4 - 0.055 * np.maximum(0, outdoor - 30))
    able[4:6] = np.minimum(able[4:6], 3.1 * 2.81)
    return bool(np.maximum(load - able, 0).sum() > 7)
