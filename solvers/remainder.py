"""What a branch and bound leaves inexact: the continuous part of a curved program.

A branch and bound lets curved rows be broken by its tolerance, and where feasible points touch
them without room, the objective is off by the root of that. So the whole numbers and conditions
are fixed where they are, and the rest is solved again by a method that is exact to rounding.
"""

from dataclasses import replace
from typing import Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.program import OBJECTIVE, Products, Program
from engiagent.solvers import linear
from engiagent.solvers.expressions import curved_rows
from engiagent.solvers.feasibility import worst_violation
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import Floats, SolveOptions, SolverResult
from engiagent.solvers.rounding import decided
from engiagent.solvers.selection import refusals

EXACT: Final = 1e-11
"""Violation that is rounding, and needs no second look."""
KEPT: Final = 1e-9
"""Largest violation of a point that replaces the branch and bound's."""
CONVEX: Final = ("piqp", "clarabel", "ipopt")
LOCAL: Final = ("ipopt",)
SHARE: Final = 0.1
LEAST: Final = 2.0
"""Of the time limit, and seconds, for the rest."""


def is_curved(program: Program) -> bool:
    """Whether a program has rows or an objective that are not linear."""
    return bool(len(program.products.rows) or program.nonlinear)


def exact_rest(program: Program, options: SolveOptions, x: Floats) -> SolverResult | None:
    """Return a point that keeps all rows, near one that only does so within a tolerance.

    ``program``: a curved program. ``options``: of which the time limit counts. ``x``: the branch
    and bound's point, shape (n,), its whole numbers exactly whole.

    Returns the result of the rest; ``optimal`` is meant with the whole numbers as they are. None
    when x is exact already, or when no method finds a point that keeps the rows. A point that keeps
    them may still be off where the objective is curved, or not be the best of a program without
    whole numbers, whatever its solver says: then a convex rest is solved.
    """
    broken = worst_violation(program, x).amount
    inside = broken <= EXACT
    if inside and program.is_mip and OBJECTIVE not in curved_rows(program):
        return None
    if not (program.column_lower < program.column_upper).any():
        return None
    whole = program.integrality
    if bool(whole.all()):
        return None
    fixed = linear.relaxation(decided(program, x))
    fixed = replace(
        fixed,
        column_lower=np.where(whole, x, fixed.column_lower),
        column_upper=np.where(whole, x, fixed.column_upper),
    )
    fixed = _with_fixed_factors(fixed)
    limit = None if options.time_limit is None else max(LEAST, SHARE * options.time_limit)
    given = SolveOptions(time_limit=limit, seed=options.seed)
    found = classify(fixed)
    if inside and found.convexity != "convex":
        return None
    for backend in CONVEX if found.convexity == "convex" else LOCAL:
        solver = adapter(backend)
        if solver.missing() or refusals(solver, fixed, found):
            continue
        start = np.clip(x, fixed.column_lower, fixed.column_upper)
        wanted = replace(given, start=start) if "start" in solver.options else given
        try:
            result = solver.solve_here(fixed, wanted, None)
        except EngiagentError:
            continue
        if result.x is None:
            continue
        point = np.where(whole, x, result.x)
        if inside and _is_worse(program, point, x):
            continue
        if worst_violation(program, point).amount <= max(EXACT, min(KEPT, broken)):
            return replace(result, x=point, objective=program.objective_at(point))
    return None


def _is_worse(program: Program, point: Floats, x: Floats) -> bool:
    sign = -1.0 if program.sense == "maximize" else 1.0
    best = program.objective_at(x)
    return not sign * (program.objective_at(point) - best) <= KEPT * max(1.0, abs(best))


def _with_fixed_factors(program: Program) -> Program:
    """Return the program with products of columns that are fixed multiplied out.

    What was a product of a switch and a flow is linear then, and the rest perhaps convex.
    """
    from scipy.sparse import csr_array

    given = program.products
    first = program.column_lower[given.first] == program.column_upper[given.first]
    second = program.column_lower[given.second] == program.column_upper[given.second]
    done = first | second
    if not done.any():
        return program
    x = program.column_lower
    factor = np.where(first, given.first, given.second)[done]
    other = np.where(first, given.second, given.first)[done]
    rows, weights = given.rows[done], given.values[done] * x[factor]
    inside = rows >= 0
    shape = (program.row_count, program.column_count)
    matrix = csr_array((program.row_values, program.row_columns, program.row_starts), shape=shape)
    added = csr_array((weights[inside], (rows[inside], other[inside])), shape=shape)
    total = csr_array(matrix + added)
    total.sort_indices()
    total.eliminate_zeros()
    cost = program.cost.copy()
    np.add.at(cost, other[~inside], weights[~inside])
    left = ~done
    return replace(
        program,
        cost=cost,
        row_starts=total.indptr.astype(program.row_starts.dtype),
        row_columns=total.indices.astype(program.row_columns.dtype),
        row_values=total.data,
        products=Products(
            given.rows[left], given.first[left], given.second[left], given.values[left]
        ),
    )
