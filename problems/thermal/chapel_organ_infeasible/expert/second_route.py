"""A second route to "Chapel that may not warm up quickly"."""

import math


def warmest(organ: bool) -> float:
    """Return the highest temperature at 10:00 [degC], with or without the organ's condition."""
    keep = math.exp(-0.5 / (21 * 0.9))
    inside = 7.8
    for _ in range(10):
        full = 2 + keep * (inside - 2) + 0.9 * (1 - keep) * 80
        inside = min(full, inside + 0.75) if organ else full
    return inside


def confirm() -> bool:
    """Whether the organ and not the heater keeps the chapel cold."""
    return warmest(organ=True) < 16 < warmest(organ=False)
