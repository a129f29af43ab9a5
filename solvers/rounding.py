"""Points whose whole numbers are exactly whole, whatever a branch and bound handed over."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from engiagent.formulations.program import NO_INDICATORS, Program
from engiagent.solvers import linear
from engiagent.solvers.feasibility import worst_violation
from engiagent.solvers.result import Floats, SolveOptions

CLOSE = 1e-7
"""Violation up to which a rounded point is taken as it is."""

SolveRest = Callable[[Program], Floats | None]


@dataclass(frozen=True, eq=False)
class Whole:
    """A point (n,), and the multipliers of the rest where the rest is linear."""

    x: Floats
    row_dual: Floats | None = None
    column_dual: Floats | None = None


def made_whole(program: Program, options: SolveOptions, x: Floats, solve_rest: SolveRest) -> Whole:
    """Return a solver's point with the whole numbers rounded and the rest solved again.

    ``program``, ``options``: what was solved, and how. ``x``: the solver's point, shape (n,).
    ``solve_rest``: solves a program whose whole numbers are fixed; only asked where it is not
    linear and rounding broke a row.
    """
    whole = program.integrality
    values = np.clip(np.round(x), np.ceil(program.column_lower), np.floor(program.column_upper))
    rounded = np.where(whole, values, np.clip(x, program.column_lower, program.column_upper))
    if len(program.products.rows) or program.nonlinear:
        return Whole(_refined(program, x, rounded, solve_rest))
    if program.is_linear and not program.is_mip:
        return Whole(rounded)
    result = linear.polish(decided(program, rounded), options, rounded)
    if result is None or result.x is None:
        return Whole(rounded)
    return Whole(result.x, result.row_dual, result.column_dual)


def _refined(program: Program, x: Floats, rounded: Floats, solve_rest: SolveRest) -> Floats:
    whole = program.integrality
    broken = worst_violation(program, rounded).amount
    if not whole.any() or broken <= max(2 * worst_violation(program, x).amount, CLOSE):
        return rounded
    fixed = replace(
        linear.relaxation(program),
        column_lower=np.where(whole, rounded, program.column_lower),
        column_upper=np.where(whole, rounded, program.column_upper),
    )
    again = solve_rest(fixed)
    if again is None:
        return rounded
    again = np.where(whole, rounded, again)
    return again if worst_violation(program, again).amount < broken else rounded


def decided(program: Program, x: Floats) -> Program:
    """Return a linear program with every condition and choice as it is at a point."""
    given = program.indicators
    lower, upper = program.row_lower.copy(), program.row_upper.copy()
    idle = given.rows[np.round(x[given.columns]) != given.active]
    lower[idle], upper[idle] = -np.inf, np.inf
    column_lower, column_upper = program.column_lower.copy(), program.column_upper.copy()
    for group in program.sos1:
        others = np.delete(group, int(np.argmax(np.abs(x[group]))))
        column_lower[others] = column_upper[others] = 0.0
    return replace(
        program,
        row_lower=lower,
        row_upper=upper,
        column_lower=column_lower,
        column_upper=column_upper,
        indicators=NO_INDICATORS,
        sos1=(),
    )
