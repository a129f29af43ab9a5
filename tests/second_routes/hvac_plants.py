"""Second routes to plants of machines that are switched: cvxpy with boolean variables."""

import csv
from pathlib import Path

import cvxpy as cp
import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]
FOLDER = Path(__file__).parents[2] / "problems" / "hvac"


def column(problem: str, file: str, name: str) -> Vector:
    """Return a column of numbers of one of a problem's files."""
    with (FOLDER / problem / file).open(encoding="utf-8") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def numbers(text: str) -> Vector:
    """Return the numbers of a text."""
    return np.array(text.split(), dtype=np.float64)


def optimum(goal: cp.Minimize | cp.Maximize, rules: list[cp.Constraint]) -> float:
    """Return the optimum of a mixed-integer programme, without a gap."""
    problem = cp.Problem(goal, rules)
    problem.solve(solver=cp.HIGHS, mip_rel_gap=1e-9)
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def hospital_chiller_order() -> float:
    """Return the least cost of electricity and starts [USD]; rows are CH-1, CH-2, CH-3."""
    load = numbers("310 365 430 520 640 735 790 805 740 610 455 330")
    price = np.repeat([0.118, 0.186], 6)
    least, most = numbers("150 150 60")[:, None], numbers("500 500 220")[:, None]
    on, start = cp.Variable((3, 12), boolean=True), cp.Variable((3, 12), nonneg=True)
    tons = cp.Variable((3, 12))
    before = cp.hstack([np.array([[1.0], [0.0], [0.0]]), on[:, :-1]])
    rules = [
        cp.sum(tons, axis=0) == load,
        tons >= cp.multiply(np.repeat(least, 12, 1), on),
        tons <= cp.multiply(np.repeat(most, 12, 1), on),
        start >= on - before,
    ]
    for g in (0, 1):
        for t in range(12):
            rules += [on[g, u] >= on[g, t] - before[g, t] for u in range(t, min(t + 4, 12))]
            rules += [1 - on[g, u] >= before[g, t] - on[g, t] for u in range(t, min(t + 3, 12))]
    power = numbers("0.62 0.66 0.71") @ tons + numbers("38 38 16") @ on
    starts = numbers("25 25 9") @ cp.sum(start, axis=1)
    return optimum(cp.Minimize(price @ power + starts), rules)


def school_hybrid_heating() -> float:
    """Return the least cost of gas and electricity [EUR] of twenty quarter-hours."""
    need, outdoor, price = (
        column("school_hybrid_heating", "morning.csv", name)
        for name in ("heat_kw", "outdoor_degC", "price")
    )
    cop = 2.55 + 0.065 * outdoor
    on, heat = cp.Variable(20, boolean=True), cp.Variable(20)
    before = cp.hstack([np.zeros(1), on[:-1]])
    gas = (need - heat) / 0.91
    rules = [
        heat <= 96 * on,
        heat >= 38.4 * on,
        heat <= need,
        need - heat <= 190,
        (0.201 * cp.sum(gas) + 0.34 * cp.sum(heat / cop)) / 4 <= 125,
    ]
    rules += [on[u] >= on[t] - before[t] for t in range(20) for u in range(t, min(t + 4, 20))]
    return optimum(cp.Minimize((price / cop @ heat + 11.8 * cp.sum(gas)) / 400), rules)


def district_cooling_clock_change() -> float:
    """Return the least cost [EUR] of 25 hours, in MW and MWh."""
    name = "district_cooling_clock_change"
    cold = column(name, "network.csv", "cold_mw")
    steam, spot = (column(name, "supply.csv", series) for series in ("steam_mw", "spot"))
    on, start = cp.Variable(25, boolean=True), cp.Variable(25, nonneg=True)
    absorbed, new, old = cp.Variable(25), cp.Variable(25, nonneg=True), cp.Variable(25, nonneg=True)
    before = cp.hstack([np.zeros(1), on[:-1]])
    flow = absorbed + new + old - cold
    content = 5 + cp.cumsum(flow)
    rules = [
        absorbed >= 1.2 * on,
        absorbed <= 4 * on,
        absorbed <= 0.72 * steam,
        new <= 4.5,
        old <= 4.5,
        cp.abs(flow) <= 3,
        content >= 0,
        content <= 12,
        content[24] >= 5,
        start >= on - before,
    ]
    rules += [on[u] >= on[t] - before[t] for t in range(25) for u in range(t, min(t + 5, 25))]
    power = 0.11 * on + new / 5.4 + old / 4.3
    cost = 9 / 0.72 * cp.sum(absorbed) + (spot + 31) @ power + 160 * cp.sum(start)
    return optimum(cp.Minimize(cost), rules)


def data_center_economizer_modes() -> float:
    """Return the least cost [USD], by the mode and the hours already spent in it (3: as many)."""
    name = "data_center_economizer_modes"
    wet = column(name, "weather.csv", "wet_bulb_degF")
    price = column(name, "market.csv", "price")
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


def tower_block_staging() -> float:
    """Return the least cost [SGD], hour by hour over the number of chillers that run."""
    load = numbers(
        "610 580 570 560 575 640 880 1390 1980 2420 2650 2790 2880 2960 3020 3010 2900 2640 2180"
        " 1720 1350 1080 860 700"
    )
    price = numbers(
        "178 171 166 164 165 173 196 228 251 262 268 271 273 281 290 286 279 270 262 255 243 226"
        " 205 190"
    )
    worth = {1: 0.0}
    for hour in range(24):
        reached = {}
        for running in range(1, 4 if hour in (13, 14) else 5):
            if not 200 * running <= load[hour] <= 1050 * running:
                continue
            before = min(cost + 23 * max(0, running - n) for n, cost in worth.items())
            reached[running] = before + price[hour] * (74 * running + 0.205 * load[hour]) / 1000
        worth = reached
    return float(min(worth.values()))
