"""Weights of pieces from the multipliers that came with a schedule, without solving anything.

At an optimum the slopes of every variable that is not at a bound cancel. Where several pieces of a
kink are sharp at once, as the hours that share a peak, this says how much of it each of them bears.
A guess that is wrong costs sharpness only: the bound is computed from it as from any other.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from engiagent.blueprint.document import Core
from engiagent.errors import EngiagentError
from engiagent.verify.documents import Bench
from engiagent.verify.levels.forms import Columns, Form, stacked, widened
from engiagent.verify.levels.goals import Objective
from engiagent.verify.levels.optimality import rows_of
from engiagent.verify.levels.relaxed import Relaxation, piece_rows, safe_bound
from engiagent.verify.schedule import Multipliers
from engiagent.verify.values import Floats, Ints

NEAR = 1e-7
"""How close to its atom, relative to it, a piece counts as sharp."""


def quick_bound(
    bench: Bench,
    core: Core,
    objective: Objective,
    duals: Mapping[str, Multipliers],
    columns: Columns,
    relaxation: Relaxation,
    point: Floats,
) -> float | None:
    """Return the bound that the schedule's own multipliers give, None when they give none."""
    sign = 1.0 if objective.sense == "minimize" else -1.0
    try:
        rows = list(rows_of(bench, core, duals, objective.node.unit, sign))
    except EngiagentError:
        return None
    count = relaxation.lower.size
    forms = [widened(columns.form(row.value), count) for row in rows]
    own = replace(
        relaxation,
        rows=stacked(forms, count),
        equal=np.ones(sum(form.size for form in forms), dtype=bool),
    )
    y = -np.concatenate([row.multipliers for row in rows] or [np.zeros(0)])
    return safe_bound(own, y, _weights(own, y, point))


def _weights(relaxation: Relaxation, y: Floats, point: Floats) -> Floats:
    """Return weights of all pieces at which the slopes of free variables cancel, where known."""
    pieces, atoms, sides = piece_rows(relaxation)
    slopes = np.asarray(relaxation.objective.matrix.toarray()).reshape(-1)
    slopes = slopes + relaxation.rows.matrix.T @ y
    heights = pieces.at(point)
    weights = np.zeros(atoms.size)
    for block in reversed(relaxation.blocks):
        span = slice(block.start, block.start + block.size)
        mine = (atoms >= span.start) & (atoms < span.stop)
        own = np.flatnonzero(mine & (sides * slopes[atoms] > 0))
        level = point[atoms[own]]
        room = NEAR * (np.abs(level) + np.abs(heights[own])) + 1e-12
        sharp = own[np.abs(heights[own] - level) <= room]
        sharp = sharp[_first_of_constants(pieces, sharp, atoms[sharp])]
        if not sharp.size:
            continue
        share = _shared(pieces, sharp, atoms[sharp] - block.start, slopes, slopes[atoms[sharp]])
        weights[sharp] = share
        slopes += pieces.matrix[sharp].T @ (share * slopes[atoms[sharp]])
    return weights


def _first_of_constants(pieces: Form, sharp: Ints, atoms: Ints) -> Ints:
    """Return which pieces to keep: of those of an atom that are constants one says it all."""
    constant = np.diff(pieces.matrix.indptr)[sharp] == 0
    kept = ~constant
    _, first = np.unique(atoms[constant], return_index=True)
    kept[np.flatnonzero(constant)[first]] = True
    return np.flatnonzero(kept)


def _shared(pieces: Form, sharp: Ints, rows: Ints, slopes: Floats, by: Floats) -> Floats:
    """Return by how much each sharp piece counts; those of one row add up to one."""
    matrix = pieces.matrix[sharp]
    counts = np.diff(matrix.indptr)
    single = counts == 1
    column, factor = np.full(sharp.size, -1), np.zeros(sharp.size)
    column[single] = matrix.indices[matrix.indptr[:-1][single]]
    factor[single] = matrix.data[matrix.indptr[:-1][single]]
    with np.errstate(all="ignore"):
        alone = np.where(single, -slopes[column] / (by * factor), 0.0)
    share = np.clip(np.nan_to_num(alone), 0.0, 1.0)
    order = np.argsort(rows, kind="stable")
    first = np.flatnonzero(np.diff(rows[order], prepend=-1))
    sizes = np.diff(np.append(first, order.size))
    for start in first[sizes == 2]:
        one, two = order[start], order[start + 1]
        together = column[one] == column[two] or -1 in (column[one], column[two])
        if together and factor[one] != factor[two]:
            shared = max(column[one], column[two])
            share[one] = (-slopes[shared] / by[one] - factor[two]) / (factor[one] - factor[two])
            share[one] = min(max(share[one], 0.0), 1.0)
            share[two] = 1.0 - share[one]
    total = np.bincount(rows, weights=share)
    there = np.bincount(rows)
    divisor = np.where(total > 0, total, 1.0)
    return np.where(total[rows] > 0, share / divisor[rows], 1.0 / there[rows])
