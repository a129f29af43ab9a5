"""Second routes to rooms of one heat capacity: cvxpy in the powers, by step responses."""

import csv
import math
from pathlib import Path

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

PROBLEMS = Path(__file__).parents[2] / "problems" / "thermal"
Array = NDArray[np.float64]


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
    accurate = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11}
    return float(cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.CLARABEL, **accurate))


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
