"""Points: how far they are from obeying a program, and made whole."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engiagent.formulations.program import NO_INDICATORS, OBJECTIVE, Block, Bools, Program, row_sums
from engiagent.solvers import linear
from engiagent.solvers.result import Floats, SolveOptions
from engiagent.solvers.validate import place_of

ACCEPTED = 1e-5
"""Largest violation, relative to the size of a row's terms and to 1, that is still called a point:
ten times what solvers are asked for. Verdicts are the checker's business, with its tolerances;
this only keeps a solver's broken point from being called optimal."""


@dataclass(frozen=True)
class Violation:
    """The worst place of a point: its name and the amount, relative to the size of its terms."""

    place: str
    amount: float


def worst_violation(program: Program, x: Floats) -> Violation:
    """Return the worst violation of a point of shape (n,); NaN counts as infinite."""
    worst = Violation("", 0.0)
    for side in (program.column_lower - x, x - program.column_upper):
        relative = side / np.maximum(1.0, np.abs(x))
        worst = _worse(worst, program, program.columns, relative)
    fraction = np.abs(x - np.round(x)) * program.integrality
    worst = _worse(worst, program, program.columns, fraction)
    activity = program.activity_at(x)
    size = _term_sizes(program, x)
    held = _held(program, x)
    for side in (program.row_lower - activity, activity - program.row_upper):
        relative = np.where(held, side, 0.0) / np.maximum(1.0, np.maximum(size, np.abs(activity)))
        worst = _worse(worst, program, program.rows, relative)
    for group in program.sos1:
        second = float(np.sort(np.abs(x[group]))[-2]) if len(group) > 1 else 0.0
        if not second <= worst.amount:
            worst = Violation(place_of(program, program.columns, int(group[0])), second)
    return worst


def _term_sizes(program: Program, x: Floats) -> Floats:
    """Return the sum of the sizes of each row's terms, curved ones too; shape (m,).

    Squares of large numbers that all but cancel, as pressures along a pipe, leave rounding of
    their own size and not of that of their difference.
    """
    sizes = row_sums(program.row_starts, np.abs(program.row_values * x[program.row_columns]))
    if len(program.products.rows):
        inside = program.products.of_rows()
        sizes = sizes + np.bincount(inside.rows, np.abs(inside.at(x)), program.row_count)
    for part in program.nonlinear:
        rows = part.row_numbers()
        values = np.abs(np.broadcast_to(part.coefficients * part.atom.at(x), rows.shape))
        keep = rows != OBJECTIVE
        sizes = sizes + np.bincount(rows[keep], values[keep], program.row_count)
    return sizes


def _held(program: Program, x: Floats) -> Bools:
    """Return whether each row has to hold at the point: its condition is met, if it has one."""
    held = np.ones(program.row_count, dtype=bool)
    given = program.indicators
    held[given.rows] = np.round(x[given.columns]) == given.active
    return held


def _worse(
    worst: Violation, program: Program, blocks: Sequence[Block], amounts: Floats
) -> Violation:
    amounts = np.where(np.isnan(amounts), np.inf, amounts)
    if not len(amounts):
        return worst
    place = int(np.argmax(amounts))
    if amounts[place] <= worst.amount:
        return worst
    return Violation(place_of(program, blocks, place), float(amounts[place]))


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
    """Return a point with the whole numbers rounded, and the rest solved again where needed."""
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
