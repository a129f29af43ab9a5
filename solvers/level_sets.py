r"""Bounds that a convex objective implies, for a branch and bound that needs some.

Relaxing the whole numbers bounds the objective from below. With a feasible point of value U, every
point as good lies where :math:`\tfrac12 (x - \hat x)^T P (x - \hat x) \le U - f(\hat x)`, with
:math:`\hat x = -P^{-1} c` the minimum of the objective alone, hence

.. math:: |x_j - \hat x_j| \le \sqrt{2 \, (U - f(\hat x)) \, (P^{-1})_{jj}} .
"""

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.program import NO_PRODUCTS, OBJECTIVE, Program
from engiagent.formulations.values import Floats
from engiagent.solvers import linear
from engiagent.solvers.convex.curvature import of_objective
from engiagent.solvers.expressions import curved_rows
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import SolveOptions

LARGEST: Final = 500
"""Columns up to which the curvature is inverted."""
CONDITION: Final = 1e10
ROOM: Final = 1e-6
"""By how much bounds are widened, relative to their size."""


@dataclass(frozen=True, eq=False)
class Confined:
    """A program within bounds that lose no optimum, a bound on its objective, and a point."""

    program: Program
    bound: float | None = None
    start: Floats | None = None


def confined(program: Program, options: SolveOptions) -> Confined:
    """Return a program with the bounds that its convex objective implies.

    Only a convex quadratic objective over linear rows with columns that have no bounds is looked
    at; any other program comes back as it is. Of a convex program with functions in its objective
    and without whole numbers the bound is known: a branch and bound over cones that it does not
    recognise halves boxes for ever.
    """
    if program.nonlinear and not program.is_mip and OBJECTIVE in curved_rows(program):
        return Confined(program, _bound_of_convex(program, options))
    open_ended = np.isinf(program.column_lower) | np.isinf(program.column_upper)
    plain = not (program.nonlinear or program.sos1 or len(program.indicators.rows))
    quadratic = len(program.products.rows) and not len(program.products.of_rows().rows)
    if not (plain and quadratic and open_ended.any()) or adapter("clarabel").missing():
        return Confined(program)
    if classify(linear.relaxation(program)).convexity != "convex":
        return Confined(program)
    given = _share(options)
    try:
        relaxed = adapter("clarabel").solve_here(linear.relaxation(program), given, None)
        if relaxed.status != "optimal":
            return Confined(program)
        start = relaxed.x if not program.is_mip else _any_point(program, given)
    except EngiagentError:
        return Confined(program)
    inside = program if start is None else _within_level_set(program, start)
    return Confined(inside, relaxed.bound, start)


def _share(options: SolveOptions) -> SolveOptions:
    limit = None if options.time_limit is None else 0.2 * options.time_limit
    return SolveOptions(time_limit=limit)


def _bound_of_convex(program: Program, options: SolveOptions) -> float | None:
    """Return the bound that the multipliers of an interior-point method prove, if it is convex."""
    if adapter("clarabel").missing() or classify(program).convexity != "convex":
        return None
    try:
        found = adapter("clarabel").solve_here(program, _share(options), None)
    except EngiagentError:
        return None
    return found.bound if found.status == "optimal" else None


def _any_point(program: Program, options: SolveOptions) -> Floats | None:
    """Return the best point for whole numbers that keep the rows."""
    bare = replace(program, cost=np.zeros_like(program.cost), products=NO_PRODUCTS)
    found = linear.solve_here(bare, options)
    if found.x is None:
        return None
    whole = program.integrality
    fixed = replace(
        linear.relaxation(program),
        column_lower=np.where(whole, found.x, program.column_lower),
        column_upper=np.where(whole, found.x, program.column_upper),
    )
    best = adapter("clarabel").solve_here(fixed, options, None)
    return found.x if best.x is None else np.where(whole, found.x, best.x)


def _within_level_set(program: Program, start: Floats) -> Program:
    if program.column_count > LARGEST:
        return program
    sign = -1.0 if program.sense == "maximize" else 1.0
    curvature = np.asarray(sign * of_objective(program).todense())
    if not np.linalg.cond(curvature) < CONDITION:
        return program
    inverse = np.linalg.inv(curvature)
    centre = -inverse @ (sign * program.cost)
    height = sign * (program.objective_at(start) - program.objective_at(centre))
    height += ROOM * max(1.0, abs(program.objective_at(start)))
    reach = np.sqrt(np.maximum(0.0, 2.0 * height * np.diag(inverse)))
    room = reach + ROOM * np.maximum(1.0, np.abs(centre) + reach)
    if not bool(np.all(np.isfinite(room) & np.isfinite(centre))):
        return program
    lower = np.maximum(program.column_lower, centre - room)
    upper = np.minimum(program.column_upper, centre + room)
    return replace(program, column_lower=lower, column_upper=upper)
