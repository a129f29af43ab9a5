r"""Multipliers at a point whose solver hands over none.

At an optimum the objective's slope is held by what is active there: with rows that minimise,

.. math:: \nabla f(x) = J(x)^T y + z, \qquad
    y_i \ge 0 \text{ at a lower}, \; y_i \le 0 \text{ at an upper limit}, \; z \text{ alike} .

A linear program looks for the multipliers that leave the least of the slope; where something is
left, as at a kink, the point has none.
"""

from typing import Any, Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.formulations.values import Floats
from engiagent.solvers.convex.optimality import gradient, jacobian
from engiagent.solvers.feasibility import decided

AT: Final = 1e-6
"""How far from a limit, relative to it and to 1, is at the limit."""
LEFT: Final = 1e-5
"""What may be left of the slope, relative to its largest element and to 1e-5."""
LARGEST: Final = 20_000
"""Rows and columns beyond which nobody waits for multipliers that no solver gave."""
SECONDS: Final = 10.0


def multipliers_at(program: Program, x: Floats) -> tuple[Floats, Floats] | None:
    """Return row multipliers (m,) and reduced costs (n,) at an optimum, None where there are none.

    ``program``: of any class; whole numbers and conditions are taken as they are at the point.
    ``x``: shape (n,).
    """
    from scipy.optimize import linprog
    from scipy.sparse import eye_array, hstack, vstack

    if program.column_count + program.row_count > LARGEST:
        return None
    sign = -1.0 if program.sense == "maximize" else 1.0
    held = decided(program, x)
    with np.errstate(all="ignore"):
        slope, table = sign * gradient(program, x), jacobian(program, x)
        activity = program.activity_at(x)
    if not (np.isfinite(slope).all() and np.isfinite(table.data).all()):
        return None
    low, high = _at(activity, held.row_lower, held.row_upper)
    below, above = _at(x, held.column_lower, held.column_upper)
    below, above = below | program.integrality, above | program.integrality
    rows = np.flatnonzero(low | high)
    active = table[rows].T.tocsr()
    # What is left, in units of the slope's size: at a lower bound only a negative slope is.
    scale = max(float(np.abs(slope).max(initial=0.0)), LEFT)
    some = np.flatnonzero(~(below & above))
    slack = eye_array(program.column_count, format="csr")
    up, down = some[~above[some]], some[~below[some]]
    left: Any = vstack(
        [hstack([-active[down], -slack[down]]), hstack([active[up], -slack[up]])], format="csr"
    )
    right = np.concatenate([-slope[down], slope[up]]) / scale
    bounds = [(0.0 if not high[i] else None, 0.0 if not low[i] else None) for i in rows]
    free = np.zeros(len(rows) + program.column_count)
    free[len(rows) :] = 1.0
    found = linprog(
        free,
        A_ub=left,
        b_ub=right,
        bounds=bounds + [(0.0, None)] * program.column_count,
        options={"time_limit": SECONDS},
    )
    if found.status != 0 or float(np.max(found.x[len(rows) :], initial=0.0)) > LEFT:
        return None
    y = np.zeros(program.row_count)
    y[rows] = scale * found.x[: len(rows)]
    return sign * y + 0.0, sign * (slope - table.T @ y) + 0.0


def _at(values: Floats, lower: Floats, upper: Floats) -> tuple[Any, Any]:
    """Return which values are at their lower and which at their upper limit."""
    room = AT * np.maximum(1.0, np.abs(values))
    return values - lower <= room, upper - values <= room
