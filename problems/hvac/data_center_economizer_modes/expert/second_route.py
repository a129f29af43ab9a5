"""A second route to "Three ways to cool a data center"."""

import numpy as np

from engiagent.problems.reference import columns

column = columns(__file__)


def solve() -> float:
    """Return the least cost [USD], by the mode and the hours already spent in it (3: as many)."""
    wet = column("weather.csv", "wet_bulb_degF")
    price = column("market.csv", "price")
    limit, power = (45.5, 54.0, np.inf), (0.31, 0.78, 1.26)
    worth = {(m, 1): 0.0 for m in range(3)}
    worth = {(m, n): price[0] * power[m] for m, n in worth if wet[0] <= limit[m]}
    for hour in range(1, 24):
        reached: dict[tuple[int, int], float] = {}
        for (m, spent), cost in worth.items():
            for new in range(3):
                if wet[hour] > limit[new] or (new != m and spent < 3):
                    continue
                state = (new, 1 if new != m else min(spent + 1, 3))
                paid = cost + price[hour] * power[new] + (18 if new != m else 0)
                reached[state] = min(paid, reached.get(state, np.inf))
        worth = reached
    return float(min(worth.values()))
