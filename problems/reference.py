"""What reference solutions share: columns of files, programmes for CVXPY, a room by superposition.

Nothing of the rest of engiagent is imported here, so that a reference solution stays another way.
"""

import csv
from collections.abc import Callable
from pathlib import Path

import cvxpy as cp
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def numbers(text: str) -> Array:
    """Return the numbers of a text."""
    return np.array(text.split(), dtype=np.float64)


def columns(script: str) -> Callable[[str, str], Array]:
    """Return what reads a column of a file in the problem's folder, for a script in ``expert``."""
    folder = Path(script).parents[1]

    def column(file: str, name: str) -> Array:
        with (folder / file).open(encoding="utf-8", newline="") as lines:
            return np.array([float(row[name]) for row in csv.DictReader(lines)])

    return column


def optimum(
    goal: cp.Minimize | cp.Maximize, rules: list[cp.Constraint], solver: str = cp.HIGHS
) -> float:
    """Return the optimum of a programme; of a mixed-integer one without a gap."""
    problem = cp.Problem(goal, rules)
    close = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    problem.solve(solver=solver, **({"mip_rel_gap": 1e-9} if solver == cp.HIGHS else close))
    if problem.status != cp.OPTIMAL:
        raise RuntimeError(problem.status)
    return float(problem.value)


def store(
    count: int,
    start: float,
    room: tuple[float, float],
    power: npt.ArrayLike | tuple[npt.ArrayLike, npt.ArrayLike],
    ways: tuple[float, float] = (1.0, 1.0),
    *,
    hours: float = 1.0,
    end: float | None = None,
) -> tuple[cp.Variable, cp.Variable, list[cp.Constraint]]:
    """Return charge and discharge of a store, and what limits its content.

    ``room`` is the least and the largest content, ``power`` the largest charge and discharge,
    ``ways`` their efficiencies, ``end`` the least content in the end.
    """
    most = power if isinstance(power, tuple) else (power, power)
    put, taken = (cp.Variable(count, bounds=[0, one]) for one in most)
    content = start + hours * cp.cumsum(ways[0] * put - taken / ways[1])
    limits = [content >= room[0], content <= room[1]]
    return put, taken, limits if end is None else [*limits, content[-1] >= end]


def annuity(rate: float, years: int) -> float:
    """Return the share of what is paid once that is paid in a year."""
    return float(1 / sum((1 + rate) ** -year for year in range(1, years + 1)))


def fading(keep: float, count: int) -> Array:
    """Return what is left at the end of each period of what came in each period before."""
    ages = np.subtract.outer(np.arange(count), np.arange(count))
    return np.where(ages >= 0, keep ** np.maximum(ages, 0), 0.0)


def response(start: float, drive: Array, resistance: float, keep: float) -> tuple[Array, Array]:
    """Return the free temperatures of a room at all instants, and the matrix that heat adds.

    ``drive`` is the temperature at which the room would settle without heating or cooling, and
    ``keep`` what is left of a difference after a period.
    """
    count = drive.size
    free = np.full(count + 1, float(start))
    for k in range(count):
        free[k + 1] = drive[k] + keep * (free[k] - drive[k])
    lags = np.subtract.outer(np.arange(count + 1), np.arange(count))
    matrix = np.where(lags > 0, resistance * (1 - keep) * keep ** np.maximum(lags - 1, 0), 0.0)
    return free, matrix


def superpose(run: Callable[[Array], Array], size: int) -> tuple[Array, Array]:
    """Return what an affine simulation gives without inputs, and its change by each of them."""
    free = run(np.zeros(size))
    return free, np.stack([run(row) - free for row in np.eye(size)], axis=-1)


def within(free: Array, matrix: Array, low: Array, high: Array) -> tuple[Array, Array]:
    """Return rows and right sides of ``low <= free + matrix @ x <= high``; infinite ones go."""
    rows, sides = np.vstack([matrix, -matrix]), np.concatenate([high - free, free - low])
    return rows[np.isfinite(sides)], sides[np.isfinite(sides)]
