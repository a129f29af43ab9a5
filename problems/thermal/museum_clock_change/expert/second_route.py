"""A second route to "Picture gallery on the night the clocks go back"."""

import csv
import math
from pathlib import Path

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

FOLDER = Path(__file__).parents[1]
Array = NDArray[np.float64]


def column(file: str, name: str) -> Array:
    """Return one column of a data file."""
    with (FOLDER / file).open(encoding="utf-8", newline="") as lines:
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


def solve() -> float:
    """Return the cost of the 25 hours [EUR], in powers net of cold."""
    outdoor = column("forecast.csv", "outdoor_c")
    visitors = column("forecast.csv", "visitors_kw")
    price = column("market.csv", "price") / 1000
    free, matrix = response(20.4, outdoor + 0.75 * visitors, 0.75, math.exp(-1 / (0.75 * 55)))
    net = cp.Variable(25, bounds=[-35, 40])
    inside = free + matrix @ net
    cost = cp.sum(cp.multiply(price, cp.maximum(net / 3.8, -net / 4.4)))
    limits = [inside >= 19.8, inside <= 21.2]
    limits.append(cp.abs(cp.diff(inside)) <= 0.25)
    return float(cp.Problem(cp.Minimize(cost), limits).solve(solver=cp.HIGHS))
