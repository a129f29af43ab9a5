r"""Proofs that a convex program has no feasible point, by tangents.

A convex row :math:`g(x) \le b` lies above each of its tangents, so a linear program of tangents
holds every feasible point. When it has none, neither has the program. Tangents are added at the
point that the linear program proposes (J. E. Kelley 1960) until it has none or proposes a feasible
one.
"""

from dataclasses import replace
from typing import Any, Final

import numpy as np

from engiagent.formulations.classify import Classification
from engiagent.formulations.program import NO_PRODUCTS, OBJECTIVE, Program, row_sums
from engiagent.formulations.values import Floats
from engiagent.solvers import linear
from engiagent.solvers.convex.derivatives import jacobian
from engiagent.solvers.convex.optimality import violation_of
from engiagent.solvers.convex.polish import Places
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.validate import LARGEST_COEFFICIENT

TINY: Final = 1e-11
"""Coefficients up to here are left out of tangents; a little below, HiGHS drops them itself."""
ROUNDS: Final = 30
MARGIN: Final = 1e-7
"""By how much tangents are loosened, relative to their numbers, so that rounding proves nothing."""


def has_no_point(program: Program, known: Classification, x: Floats, options: SolveOptions) -> bool:
    """Return whether tangents prove that a convex program has no feasible point.

    ``program``: known to be convex. ``known``: what is known of it; rows with products that are
    cones without being convex functions are left out, which proves less but nothing false. ``x``: a
    first point to take tangents at, as that of least violation.
    """
    curved = _curved_rows(program, known)
    outer = _linear_part(program)
    point = np.clip(x, program.column_lower, program.column_upper)
    for _ in range(ROUNDS):
        with np.errstate(all="ignore"):
            activity, slopes = program.activity_at(point), jacobian(program, point)[curved]
        values = activity[curved]
        if not (np.isfinite(values).all() and np.isfinite(slopes.data).all()):
            return False
        if violation_of(activity, program.row_lower, program.row_upper) <= MARGIN:
            return False
        outer = _with_tangents(program, outer, curved, slopes, values - slopes @ point)
        found = linear.solve_here(outer, replace(options, start=None, log=None))
        if found.status == "infeasible":
            return True
        if found.x is None:
            return False
        point = found.x
    return False


def _curved_rows(program: Program, known: Classification) -> Places:
    """Return the numbers of the rows that are convex (or concave) functions, not linear."""
    curved = np.zeros(program.row_count, dtype=bool)
    for part in program.nonlinear:
        rows = part.row_numbers()
        curved[rows[rows != OBJECTIVE]] = True
    quadratic = known.quadratic
    if quadratic is not None:
        inside = quadratic.rows != OBJECTIVE
        rows = quadratic.rows[inside]
        curved[rows] = True
        function = np.where(
            np.isinf(program.row_lower[rows]), quadratic.convex[inside], quadratic.concave[inside]
        )
        curved[rows[~function]] = False
    return np.flatnonzero(curved)


def _linear_part(program: Program) -> Program:
    """Return the program with its linear rows only, the others set free, and no objective."""
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    bent = np.zeros(program.row_count, dtype=bool)
    bent[program.products.of_rows().rows] = True
    for part in program.nonlinear:
        rows = part.row_numbers()
        bent[rows[rows != OBJECTIVE]] = True
    lower[bent], upper[bent] = -np.inf, np.inf
    return replace(
        program,
        cost=np.zeros_like(program.cost),
        offset=0.0,
        row_lower=lower,
        row_upper=upper,
        products=NO_PRODUCTS,
        nonlinear=(),
    )


def _with_tangents(
    program: Program, outer: Program, curved: Places, slopes: object, shifts: Floats
) -> Program:
    """Return the linear program with one more tangent ``slopes x + shifts`` for each row."""
    from scipy.sparse import csr_array

    rows = csr_array(slopes)
    room = MARGIN * np.maximum(1.0, np.abs(shifts)) + _unsayable(program, rows, shifts)
    rows.eliminate_zeros()
    return replace(
        outer,
        row_starts=np.concatenate([outer.row_starts, outer.row_starts[-1] + rows.indptr[1:]]),
        row_columns=np.concatenate([outer.row_columns, rows.indices]),
        row_values=np.concatenate([outer.row_values, rows.data]),
        row_lower=np.concatenate([outer.row_lower, program.row_lower[curved] - shifts - room]),
        row_upper=np.concatenate([outer.row_upper, program.row_upper[curved] - shifts + room]),
    )


def _unsayable(program: Program, rows: Any, shifts: Floats) -> Floats:
    """Take numbers out of tangents that no solver can be given; return what that loosens, (m,).

    A tiny coefficient, as rounding leaves one, moves its row by no more than its column can; where
    the column has no bound, or a number is too large, the tangent is given up.
    """
    reach = np.maximum(np.abs(program.column_lower), np.abs(program.column_upper))
    size = np.abs(rows.data)
    tiny, large = (size > 0) & (size <= TINY), size >= LARGEST_COEFFICIENT
    lost = np.zeros_like(size)
    lost[tiny] = size[tiny] * reach[rows.indices[tiny]]
    lost[large] = np.inf
    rows.data[tiny | large] = 0.0
    room = row_sums(rows.indptr, lost)
    room[np.abs(shifts) >= LARGEST_COEFFICIENT] = np.inf
    return room
