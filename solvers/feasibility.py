"""How far a point is from obeying a program, whatever a solver says of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.formulations.program import OBJECTIVE, Block, Bools, Program, row_sums
from engiagent.solvers.result import Floats
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
