"""Second routes to plants with curves: one hour at a time, closed forms, cones."""

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

Vector = npt.NDArray[np.float64]


def numbers(text: str) -> Vector:
    """Return the numbers of a text."""
    return np.array(text.split(), dtype=np.float64)


def condenser_water_reset() -> float:
    """Return the least cost [USD]: in each hour the best water temperature [degF]."""
    total = 0.0
    loads = numbers("420 560 690 820 930 980 940 760")
    bulbs = numbers("61.0 63.5 66.0 68.5 70.0 71.5 72.0 70.5")
    for load, bulb in zip(loads, bulbs, strict=True):
        rated = 7.2 * load / 1000

        def power(water: float, load: float = load, bulb: float = bulb) -> float:
            speed = max(0.2, 7.2 * load / 1000 / (water - bulb))
            return float(load * (0.5 + 0.0078 * (water - 65)) + 62 * speed**3)

        ends = (max(65.0, bulb + rated), 85.0)
        best = minimize_scalar(power, bounds=ends, method="bounded", options={"xatol": 1e-9})
        total += 0.142 * min(best.fun, power(ends[0]), power(ends[1]))
    return total


def museum_eir_chillers() -> float:
    """Return the least energy [kWh]: in each hour the best of three pairings."""
    loads = numbers("180 260 410 560 690 740")
    factors = 0.42 + 0.02 * numbers("24 25 27 29 31 32")
    # Capacity, full power, the three terms of part load and the least ratio of Atrium and Depot.
    atrium = (500.0, 500 / 5.6, 0.18, 0.24, 0.58, 0.25)
    depot = (320.0, 320 / 5.1, 0.09, 0.46, 0.45, 0.2)

    def power(machine: tuple[float, ...], cooling: float) -> float:
        capacity, full, constant, linear, square, low = machine
        ratio = cooling / capacity
        if not low - 1e-12 <= ratio <= 1 + 1e-12:
            return float("inf")
        return full * (constant + linear * ratio + square * ratio**2)

    def both(load: float) -> float:
        low = max(0.25 * 500, load - 320)
        high = min(500.0, load - 0.2 * 320)
        if low > high:
            return float("inf")
        (a, pa, _, la, sa, _), (d, pd, _, ld, sd, _) = atrium, depot
        # Equal slopes: pa (la/a + 2 sa x/a^2) = pd (ld/d + 2 sd (load - x)/d^2).
        first, second = 2 * pa * sa / a**2, 2 * pd * sd / d**2
        split = (pd * ld / d + second * load - pa * la / a) / (first + second)
        split = min(max(split, low), high)
        return power(atrium, split) + power(depot, load - split)

    return float(
        sum(
            factor * min(power(atrium, load), power(depot, load), both(load))
            for load, factor in zip(loads, factors, strict=True)
        )
    )


def data_halls_chance() -> float:
    """Return the largest nominal power [kW] in four halls."""
    sigma = numbers("0.14 0.06 0.09 0.04")
    placed = cp.Variable(4, nonneg=True)
    problem = cp.Problem(
        cp.Maximize(cp.sum(placed)),
        [
            cp.sum(placed) + 2.326 * cp.norm(cp.multiply(sigma, placed)) <= 1790,
            cp.multiply(1 + 2.326 * sigma, placed) <= numbers("620 480 700 350"),
            numbers("0.21 0.27 0.24 0.34") @ placed <= 395,
        ],
    )
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return float(problem.value)
