"""A second route to "Condenser water, colder or cheaper"."""

from scipy.optimize import minimize_scalar

from engiagent.problems.reference import numbers


def solve() -> float:
    """Return the least cost [USD]: in each hour the best water temperature [degF]."""
    total = 0.0
    loads = numbers("420 560 690 820 930 980 940 760")
    bulbs = numbers("61.0 63.5 66.0 68.5 70.0 71.5 72.0 70.5")
    for load, bulb in zip(loads, bulbs, strict=True):
        rated = 7.2 * load / 1000

        def power(water: float, load: float = load, bulb: float = bulb) -> float:
            speed = max(0.2, 7.2 * load / 1000 / (water - bulb))
            return float(load * (0.5 + 0.0078 * (water - 65)) + 62 * speed**3)

        ends = (max(74.0, bulb + rated), 85.0)
        best = minimize_scalar(power, bounds=ends, method="bounded", options={"xatol": 1e-9})
        total += 0.142 * min(best.fun, power(ends[0]), power(ends[1]))
    return total
