"""A second route to "Farmhouse that puts its sun into the tank"."""

import csv
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
    """Return the net cost [CHF]; what flows into tank and house adds up by powers of a matrix."""
    outdoor = column("weather.csv", "outdoor_c")
    roof, need = (column("power.csv", c) / 1000 for c in ("roof [W]", "house [W]"))
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
