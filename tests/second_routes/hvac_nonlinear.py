"""Second routes to plants with curves: one hour at a time, closed forms, cones."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import cvxpy as cp
import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize_scalar

Vector = npt.NDArray[np.float64]
Split = Callable[[float], Vector]


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

        ends = (max(74.0, bulb + rated), 85.0)
        best = minimize_scalar(power, bounds=ends, method="bounded", options={"xatol": 1e-9})
        total += 0.142 * min(best.fun, power(ends[0]), power(ends[1]))
    return total


def museum_eir_chillers() -> float:
    """Return the least energy [kWh]: in each hour the best of three pairings."""
    loads = numbers("260 410 560 690 740")
    factors = 0.42 + 0.02 * numbers("25 27 29 31 32")
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


def ring_main_pumps() -> float:
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


def vav_supply_air_reset() -> float:
    """Return the least cost [EUR]: in each hour a search over the supply temperature [degC]."""
    needs = np.array([[6.5, 14.0, 19.5], [9.0, 21.0, 28.0], [3.0, 12.5, 8.0], [0.6, 0.9, 1.1]])
    least, most = numbers("0.4 0.6 0.3 0.3"), numbers("2.2 3.2 1.6 0.8")
    total = 0.0
    for need, outdoor in zip(needs.T, (15.0, 19.0, 26.0), strict=True):

        def cost(supply: float, need: Vector = need, outdoor: float = outdoor) -> float:
            flow = np.maximum(least, need / (1.006 * (24 - supply)))
            everything = flow.sum()
            if np.any(flow > most + 1e-9) or everything > 7 + 1e-9:
                return 1e6
            reheat = (1.006 * flow * (24 - supply) - need).sum()
            share = 1.0 if outdoor < 24 else 0.25
            # Cold outdoor air is taken until the mixture is as cold as the supply air.
            if 24 + 0.25 * (outdoor - 24) < supply:
                return 1e6
            coil = max(0.0, 1.006 * everything * (24 - supply + share * (outdoor - 24)))
            return float(6.2 * coil + 9.4 * reheat + 24 * 9.5 * (everything / 7) ** 3) / 100

        grid = np.linspace(12, 18, 1201)
        place = int(np.argmin([cost(x) for x in grid]))
        ends = (grid[max(place - 1, 0)], grid[min(place + 1, 1200)])
        found = minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-10})
        total += min(float(found.fun), cost(float(grid[place])))
    return total


def school_economizer_month() -> float:
    """Return the least cost [USD] by the price of fresh air at which its target is met.

    An hour's cost is convex in its share of outdoor air, with a bend where the mixture is as cold
    as the supply air: its best share is a limit or the bend.
    """
    file = Path(__file__).parents[2] / "problems" / "hvac" / "school_economizer_month" / "april.csv"
    _, out, dew, percent = np.loadtxt(file, delimiter=",", skiprows=1, unpack=True)
    fan = percent / 100
    top = np.where(dew > 55, 0.2, 1.0)
    with np.errstate(divide="ignore"):
        bend = np.where(out < 72, -16 / (out - 72), 1.0)
    shares = np.stack([np.full(out.size, 0.15), np.clip(bend, 0.15, top), top])
    heat = 10.4 * fan * (16 + shares * (out - 72))
    costs = 0.095 * 0.161 * np.maximum(heat, 0) + 1.28 / 100 / 0.8 * np.maximum(-heat, 0)
    need = 0.58 * fan.sum()

    def dual(price: float) -> float:
        return float(-((costs - price * fan * shares).min(axis=0).sum() + price * need))

    # The dual is concave and piecewise linear in the price: its top is the optimum of the primal.
    found = minimize_scalar(dual, bounds=(0, 10), method="bounded", options={"xatol": 1e-12})
    return -float(found.fun)
