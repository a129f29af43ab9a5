"""Second routes to rooms of one heat capacity: cvxpy in the powers, by step responses."""

import csv
import math
from pathlib import Path

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

PROBLEMS = Path(__file__).parents[2] / "problems" / "thermal"
Array = NDArray[np.float64]
ACCURATE = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def column(problem: str, file: str, name: str) -> Array:
    """Return one column of a data file."""
    with (PROBLEMS / problem / file).open(encoding="utf-8", newline="") as lines:
        return np.array([float(row[name]) for row in csv.DictReader(lines)])


def response(start: float, drive: Array, resistance: float, keep: float) -> tuple[Array, Array]:
    """Return the free temperatures at all instants, and the matrix that heat adds to them.

    ``drive`` is the temperature at which the room would settle without heating or cooling.
    """
    count = drive.size
    free = np.full(count + 1, float(start))
    for step in range(count):
        free[step + 1] = drive[step] + keep * (free[step] - drive[step])
    impulse = resistance * (1 - keep) * keep ** np.arange(count)
    matrix = np.zeros((count + 1, count))
    for step in range(count):
        matrix[step + 1 :, step] = impulse[: count - step]
    return free, matrix


OUTSIDE = "78 77 76 75 75 76 79 82 85 88 91 93 95 97 98 98 97 95 92 88 85 83 81 79"
SUN = "0 0 0 0 0 2 8 15 21 25 28 29 30 31 33 34 31 24 14 5 0 0 0 0"


def library_event_precooling() -> float:
    """Return energy cost less credit [USD], in kBTU/h, °F and hours."""
    hour = np.arange(24)
    outside = np.array(OUTSIDE.split(), float)
    gains = np.array(SUN.split(), float) + 31 * ((hour >= 9) & (hour < 20))
    keep = math.exp(-1.15 / 30)
    free, matrix = response(75, outside + gains / 1.15, 1 / 1.15, keep)
    cooling = cp.Variable(24, nonneg=True)
    inside = free - matrix @ cooling
    power = cooling / 10.5
    mark = np.arange(25)
    is_open = (mark >= 9) & (mark <= 20)
    event = (hour >= 16) & (hour < 19)
    rate = np.where((hour >= 14) & (hour < 20), 0.29, 0.11)
    cost = rate @ power - sum(0.55 * (9 - power[int(k)]) for k in np.flatnonzero(event))
    problem = cp.Problem(
        cp.Minimize(cost),
        [
            cooling <= 120,
            power[16:19] <= 4,
            inside >= np.where(is_open, 70, 65),
            inside <= np.where(is_open, 76, 84),
        ],
    )
    return float(problem.solve(solver=cp.HIGHS))


def hotel_quadratic_comfort() -> float:
    """Return price of cooling and of squared discomfort [EUR]."""
    name = "hotel_quadratic_comfort"
    outside, load, price = (
        column(name, "ballroom.csv", c) for c in ("outside", "load_kw", "eur_per_kwh")
    )
    keep = math.exp(-0.25 / (1.6 * 14))
    free, matrix = response(24.5, outside + 1.6 * load, 1.6, keep)
    cooling = cp.Variable(48, nonneg=True)
    inside = free - matrix @ cooling
    cost = price @ cooling / 3.4 * 0.25 + 0.12 * 0.25 * cp.sum_squares(inside[1:] - 23)
    limits = [cooling <= 30, inside >= 20, inside <= 27]
    return float(cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.CLARABEL, **ACCURATE))


def museum_clock_change() -> float:
    """Return the cost of the 25 hours [EUR], in powers net of cold."""
    name = "museum_clock_change"
    outdoor = column(name, "forecast.csv", "outdoor_c")
    visitors = column(name, "forecast.csv", "visitors_kw")
    price = column(name, "market.csv", "price") / 1000
    free, matrix = response(20.4, outdoor + 0.75 * visitors, 0.75, math.exp(-1 / (0.75 * 55)))
    net = cp.Variable(25, bounds=[-35, 40])
    inside = free + matrix @ net
    cost = cp.sum(cp.multiply(price, cp.maximum(net / 3.8, -net / 4.4)))
    limits = [inside >= 19.8, inside <= 21.2]
    limits.append(cp.abs(cp.diff(inside)) <= 0.25)
    return float(cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.HIGHS))


FLATS = "14 13 12 12 13 17 26 35 30 24 22 24 27 25 22 23 28 38 45 47 42 33 24 18"
FLATS_REACTIVE = "5 5 4 4 5 6 9 12 10 8 8 9 10 9 8 8 10 14 17 18 16 12 8 6"
ROOF = "0 0 0 0 0 0 0 1 6 14 22 27 29 27 21 12 4 0 0 0 0 0 0 0"
WINTER = "-1 -1 -2 -2 -3 -3 -3 -2 -1 0 2 3 4 4 3 2 1 0 0 -1 -1 -2 -2 -2"


def terrace_apparent_power() -> float:
    """Return the cost of power [EUR], with norms."""
    flats, reactive, roof, outdoor = (
        np.array(text.split(), float) for text in (FLATS, FLATS_REACTIVE, ROOF, WINTER)
    )
    keep = 1 - 1 / (95 * 0.27)
    free, matrix = response(21, outdoor, 0.27, keep)
    pumps, sun, given = (cp.Variable(24, nonneg=True) for _ in range(3))
    inside = free + matrix @ pumps * 3.1
    power = flats + pumps + 0.04 * given - sun
    both = cp.vstack([power, reactive + 0.45 * pumps - given])
    hour = np.arange(24)
    price = np.where((hour >= 16) & (hour < 21), 0.31, 0.23)
    limits = [
        cp.norm(both, axis=0) <= 70,
        cp.norm(cp.vstack([sun, given]), axis=0) <= 32,
        pumps <= 38,
        sun <= roof,
        power >= 0,
        inside[1:] >= 20,
        inside[1:] <= 23,
        inside[24] >= 21,
    ]
    problem = cp.Problem(cp.Minimize(price @ power), limits)
    return float(problem.solve(solver=cp.CLARABEL, **ACCURATE))


def district_purchase_before_weather() -> float:
    """Return the least expected cost [EUR]."""
    name = "district_purchase_before_weather"
    price = column(name, "dayahead.csv", "price [EUR/MWh]") / 1000
    bought = cp.Variable(12, bounds=[0, 420])
    cost, limits = price @ bought, []
    for course, chance in {"mild": 0.25, "usual": 0.55, "frost": 0.2}.items():
        outdoor = column(name, "weather.csv", course)
        free, matrix = response(20.6, outdoor + 120 / 31, 1 / 31, 1 - 31 / 1900)
        power = cp.Variable(12, bounds=[0, 420])
        inside = free + matrix @ power * 2.8
        limits += [inside >= 20, inside <= 22, inside[12] >= 20.6]
        more = power - bought
        slopes = cp.multiply(price + 0.06, more), cp.multiply(price - 0.045, more)
        cost += chance * cp.sum(cp.maximum(*slopes))
    return float(cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.HIGHS))


def farmhouse_sun_in_the_tank() -> float:
    """Return the net cost [CHF]; what flows into tank and house adds up by powers of a matrix."""
    name = "farmhouse_sun_in_the_tank"
    outdoor = column(name, "weather.csv", "outdoor_c")
    roof, need = (column(name, "power.csv", c) / 1000 for c in ("roof [W]", "house [W]"))
    pump, radiators = cp.Variable(48, bounds=[0, 3.2]), cp.Variable(48, bounds=[0, 9])
    free, matrix = response(20.5, outdoor, 1 / 0.21, 1 - 0.21 / 12)
    inside = free + matrix @ radiators
    left = 0.992 ** np.maximum(np.subtract.outer(np.arange(1, 49), np.arange(1, 49)), 0)
    heat = cp.multiply(0.45 * 321.15 / (48 - outdoor), pump) - radiators
    content = 5 * 0.992 ** np.arange(1, 49) + np.tril(left) @ heat
    mark = np.arange(49) % 24
    low = np.where((mark >= 6) & (mark <= 22), 20.0, 18.5)
    limits = [content >= 0, content <= 14, content[47] >= 5]
    limits += [inside >= low, inside <= 22.5, inside[48] >= 20.5]
    net = pump + need - roof
    cost = cp.sum(cp.maximum(0.284 * net, 0.071 * net))
    return float(cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.HIGHS))


def laboratory_small_connection() -> float:
    """Return the cost of the air conditioner [EUR], in its electric powers."""
    outdoor, base, price = (
        column("laboratory_small_connection", "day.csv", c)
        for c in ("outdoor_degC", "base_kw", "price")
    )
    free, matrix = response(22.5, outdoor + 1.9 * 3.5, 1.9, math.exp(-1 / (1.9 * 6.8)))
    power = cp.Variable(24, bounds=[0, 5])
    inside = free - matrix @ power * 3
    limits = [inside >= 19, inside <= 24, inside[24] <= 22.5, power + base <= 8.5]
    return float(cp.Problem(cp.Minimize(price @ power / 1000), limits).solve(solver=cp.HIGHS))
