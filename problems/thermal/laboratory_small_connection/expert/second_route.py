"""A second route to "Cooling a laboratory on a small connection"."""

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
    """Return the cost of the air conditioner [EUR], in its electric powers."""
    outdoor, base, price = (column("day.csv", c) for c in ("outdoor_degC", "base_kw", "price"))
    free, matrix = response(22.5, outdoor + 1.9 * 3.5, 1.9, math.exp(-1 / (1.9 * 6.8)))
    power = cp.Variable(24, bounds=[0, 5])
    inside = free - matrix @ power * 3
    limits = [inside >= 19, inside <= 24, inside[24] <= 22.5, power + base <= 8.5]
    return float(cp.Problem(cp.Minimize(price @ power / 1000), limits).solve(solver=cp.HIGHS))
