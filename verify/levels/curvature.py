"""Whether a stationary plan is a local optimum: how the Lagrangian curves where rows leave room."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from engiagent.verify.documents import Bench
from engiagent.verify.frames import Bools
from engiagent.verify.levels.local import (
    MOST_ACTIVE,
    SMALL,
    Goal,
    Point,
    active,
    at_bounds,
    flat,
    jacobian,
)
from engiagent.verify.levels.optimality import Row
from engiagent.verify.series import Series
from engiagent.verify.sweeps import gradients
from engiagent.verify.values import Floats, Ints

FLAT: Final = 1e-7
"""A curvature, relative to the largest, that tells nothing."""
MOST_OPEN: Final = 150
"""Directions along which the curvature is worked out, two evaluations each."""
STEP: Final = 1e-4


@dataclass(frozen=True, eq=False)
class Lagrangian:
    """The objective less the rows times their multipliers.

    Attributes
    ----------
    rows
        With their multipliers, at the plan.
    again
        The same rows, in the same order, on another bench; their multipliers do not count.
    """

    bench: Bench
    goal: Goal
    sign: float
    rows: tuple[Row, ...]
    again: Callable[[Bench], Sequence[Row]]
    point: Point

    def slope(self, x: Floats) -> Floats:
        """Return the gradient at a point, without the constant part of affine rows."""
        bench = self.bench
        series: dict[str, Series] = dict(bench.series)
        for name, value in bench.variables.items():
            start, unit = self.point.starts[value.order], value.unit
            data = unit.from_si(x[start : start + value.data.size])
            dims = bench.evaluator.environment.symbol(name).dims
            shaped = data.reshape(tuple(dim.size for dim in dims))
            series[name] = Series(name, shaped, unit, tuple(dim.name for dim in dims))
        there = Bench(bench.declarations, series)
        try:
            starts = {}
            for name, value in bench.variables.items():
                there.evaluator.environment.symbol(name)
                starts[there.variables[name].order] = self.point.starts[value.order]
            seeds = [(self.goal(there), np.full(1, self.sign))]
            for own, row in zip(self.rows, self.again(there), strict=True):
                if row.value.degree > 1 and own.multipliers.any():
                    seeds.append((row.value, -own.multipliers))
            return flat(gradients(seeds), replace(self.point, starts=starts))
        finally:
            there.forget()


def second_order(lagrangian: Lagrangian, rows: Sequence[Row]) -> dict[str, Any]:
    """Return what the curvature says, as JSON.

    Parameters
    ----------
    rows
        All rows, of which those that are active leave less room than those with a multiplier.

    Returns
    -------
    dict
        ``status`` is ``sufficient`` (a strict local optimum), ``fails`` (the plan can be bettered
        nearby), ``inconclusive`` or ``not computed``.
    """
    point = lagrangian.point
    at_low, at_high = at_bounds(point)
    free = np.flatnonzero(point.free & ~at_low & ~at_high)
    weak = jacobian(rows, [active(row) for row in rows], point)[:, free]
    strong = jacobian(lagrangian.rows, [_strong(row) for row in lagrangian.rows], point)[:, free]
    if free.size > MOST_ACTIVE or weak.shape[0] > MOST_ACTIVE:
        return {"status": "not computed", "reason": f"more than {MOST_ACTIVE} active variables"}
    scale = np.maximum(np.abs(point.x[free]), SMALL * float(np.abs(point.x).max(initial=1.0)))
    open_ways, closed_ways = (_null_space(m.toarray() * scale) for m in (strong, weak))
    if open_ways.shape[1] == 0:
        return {"status": "sufficient", "directions": 0}
    if open_ways.shape[1] > MOST_OPEN:
        return {"status": "not computed", "reason": f"more than {MOST_OPEN} open directions"}
    least = _least(lagrangian, free, scale, open_ways)
    if least is None:
        return {"status": "not computed", "reason": "there is no value beside the plan"}
    status = "sufficient" if least > FLAT else "inconclusive"
    if least < -FLAT and closed_ways.shape[1]:
        nearby = _least(lagrangian, free, scale, closed_ways)
        status = "fails" if nearby is not None and nearby < -FLAT else status
    return {"status": status, "directions": int(open_ways.shape[1]), "least_curvature": least}


def _strong(row: Row) -> Bools:
    """Return which rows have a multiplier, or are equations: their directions are closed."""
    if row.kind == "==":
        return np.ones(row.value.data.size, dtype=bool)
    most = float(np.abs(row.multipliers).max(initial=0.0))
    return np.asarray((np.abs(row.multipliers) > SMALL * most) & active(row))


def _null_space(matrix: Floats) -> Floats:
    """Return an orthonormal basis of what a matrix, its rows made equal, takes to nothing."""
    norms = np.linalg.norm(matrix, axis=1)
    rows = matrix[norms > 0] / norms[norms > 0, None]
    if not rows.shape[0]:
        return np.eye(matrix.shape[1])
    _, sizes, right = np.linalg.svd(rows, full_matrices=True)
    rank = int((sizes > 1e-9 * sizes.max(initial=0.0)).sum())
    return np.asarray(right[rank:].T)


def _least(lagrangian: Lagrangian, free: Ints, scale: Floats, ways: Floats) -> float | None:
    """Return the least curvature between directions, relative to the largest; None without any."""
    columns = []
    for way in ways.T:
        slopes = []
        for side in (1.0, -1.0):
            x = lagrangian.point.x.copy()
            x[free] += side * STEP * scale * way
            slopes.append(lagrangian.slope(x)[free] * scale)
        columns.append(ways.T @ (slopes[0] - slopes[1]) / (2 * STEP))
    hessian = np.array(columns)
    if not np.isfinite(hessian).all():
        return None
    eigenvalues = np.linalg.eigvalsh(0.5 * (hessian + hessian.T))
    return float(eigenvalues.min()) / max(float(np.abs(eigenvalues).max()), 1e-300)
