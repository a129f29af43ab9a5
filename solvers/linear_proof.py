r"""Whether the multipliers of a linear program prove the point that came with them.

HiGHS calls a point optimal whose reduced costs are right up to 1e-7. Over the range of a column
that can be the whole objective, so the claim is worked out: the objective is above the bound that
the multipliers prove by

.. math:: \sum_j \max(z_j, 0) (x_j - l_j) + \max(-z_j, 0) (u_j - x_j)

and the same of the rows.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from engiagent.formulations.program import Program
from engiagent.solvers.convex.optimality import examine
from engiagent.solvers.result import Floats, SolverResult

SEEN: Final = 1e-12
"""Reduced costs of the wrong sign up to this are rounding."""
NEGLIGIBLE: Final = 1e-9
"""Distance to the bound, relative to the sum of the objective's terms, that is as good as none."""
ACCEPTED: Final = 1e-6
"""Gap of what is called optimal."""


def is_proven(program: Program, result: SolverResult) -> bool:
    """Return whether point and multipliers of a linear program leave nothing to be gained."""
    if result.x is None or result.row_dual is None or result.column_dual is None:
        return False
    sign = -1.0 if program.sense == "maximize" else 1.0
    x, activity = result.x, program.activity_at(result.x)
    left = _left(sign * result.column_dual, x, program.column_lower, program.column_upper)
    left += _left(sign * result.row_dual, activity, program.row_lower, program.row_upper)
    return left <= NEGLIGIBLE * float(np.abs(program.cost * x).sum())


def _left(dual: Floats, values: Floats, lower: Floats, upper: Floats) -> float:
    room = np.where(dual > 0, values - lower, upper - values)
    some = dual != 0
    return float(np.abs(dual[some] * room[some]).sum())


def with_proof(program: Program, result: SolverResult) -> SolverResult:
    """Return what a solver called optimal with the bound that its multipliers prove."""
    if result.x is None or result.row_dual is None:
        return result
    account = examine(program, result.x, result.row_dual)
    known = replace(result, bound=account.bound, gap=None if account.bound is None else account.gap)
    if account.gap <= ACCEPTED:
        return known
    left = "no bound" if account.bound is None else f"a bound at a gap of {account.gap:.1e} only"
    reason = f"the solver calls it optimal, but its duals prove {left}"
    return replace(known, status="feasible", reason=reason)
