"""A programme whose nonlinear parts are pieces, and the bound that multipliers prove of it."""

from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from engiagent.verify.frames import Bools
from engiagent.verify.levels.forms import Form, stacked
from engiagent.verify.levels.minorants import Block, Pieces, pieces_of
from engiagent.verify.values import EPSILON, Floats, Ints


@dataclass(eq=False)
class Relaxation:
    """Objective and rows over columns, with the pieces known so far.

    Attributes
    ----------
    objective
        To be minimised, one row.
    rows, equal
        ``form <= 0`` and, where ``equal``, ``form == 0``.
    lower, upper
        A box that holds every allowed plan; for atoms an interval.
    """

    objective: Form
    rows: Form
    equal: Bools
    blocks: tuple[Block, ...]
    lower: Floats
    upper: Floats
    pieces: list[tuple[Block, Pieces]] = field(default_factory=list)

    def add_pieces(self, needs: Bools, point: Floats | None) -> int:
        """Add pieces on the sides where each atom is needed; returns how many."""
        added = 0
        for block in self.blocks:
            mine = needs[:, block.start : block.start + block.size]
            for side in (1, -1):
                wanted = mine[0 if side == 1 else 1]
                if not wanted.any():
                    continue
                ends = self._ends(block, side) if point is None else ()
                for piece in (*pieces_of(block, side, point), *ends):
                    keep = np.flatnonzero(wanted[piece.rows])
                    if keep.size:
                        part = Pieces(side, piece.rows[keep], piece.form.take(keep))
                        self.pieces.append((block, part))
                        added += keep.size
        return added

    def _ends(self, block: Block, side: int) -> tuple[Pieces, ...]:
        """Return the end of the interval of an atom as a piece that says it."""
        import scipy.sparse as sp

        span = slice(block.start, block.start + block.size)
        end = self.lower[span] if side == 1 else self.upper[span]
        rows = np.flatnonzero(np.isfinite(end))
        blank = sp.csr_matrix((rows.size, self.lower.size))
        return (Pieces(side, rows, Form(blank, end[rows], np.zeros(rows.size))),)


def piece_rows(relaxation: Relaxation) -> tuple[Form, Ints, Ints]:
    """Return all pieces stacked, the column of the atom of each row, and its side."""
    count = relaxation.lower.size
    forms = stacked([piece.form for _, piece in relaxation.pieces], count)
    empty = [np.zeros(0, dtype=np.int64)]
    atoms = np.concatenate([b.start + p.rows for b, p in relaxation.pieces] or empty)
    sides = np.concatenate([np.full(p.rows.size, p.side) for _, p in relaxation.pieces] or empty)
    return forms, atoms, sides


DEARER: Final = (1 + 1e-10, 1 + 1e-9, 1 + 1e-8)
"""What an objective is multiplied by, where a bound of it is lost otherwise."""


def bound_of_better(relaxation: Relaxation, y: Floats, w: Floats, value: float) -> float | None:
    r"""Return a bound for all plans that cost no more than ``value``, itself at most that.

    What has a cost and no limit, as a slack, needs a slope that rounding cannot turn. Of such plans
    it may be said that they cost a little more than they do, by no more than ``value`` would:
    :math:`f \ge (1 + \varepsilon) f - \varepsilon v` wherever :math:`f \le v`.
    """
    found = safe_bound(relaxation, y, w)
    if found is not None or not np.isfinite(value):
        return found
    goal = relaxation.objective
    for weight in DEARER:
        dearer = Form(goal.matrix * weight, goal.constant * weight, goal.error * weight)
        found = safe_bound(replace(relaxation, objective=dearer), y, w)
        if found is not None:
            return min(found - (weight - 1.0) * value - EPSILON * abs(value), value)
    return None


def safe_bound(relaxation: Relaxation, y: Floats, w: Floats) -> float | None:
    """Return the bound that multipliers prove, rounding subtracted; None when it is lost."""
    objective, rows = relaxation.objective, relaxation.rows
    slopes = np.asarray(objective.matrix.toarray()).reshape(-1) + rows.matrix.T @ y
    sizes = np.asarray(abs(objective.matrix).toarray()).reshape(-1) + abs(rows.matrix).T @ np.abs(y)
    constant = float(objective.constant[0]) + float((y * rows.constant).sum())
    doubt = float(objective.error[0]) + float((np.abs(y) * rows.error).sum())
    size = abs(float(objective.constant[0])) + float(np.abs(y * rows.constant).sum())
    pieces, atoms, sides = piece_rows(relaxation)
    for block in reversed(relaxation.blocks):
        span = slice(block.start, block.start + block.size)
        slope = slopes[span].copy()
        own = np.flatnonzero((atoms >= span.start) & (atoms < span.stop))
        own = own[sides[own] * slope[atoms[own] - block.start] > 0]
        share, covered = _shares(w[own], atoms[own] - block.start, block.size)
        factors = share * slope[atoms[own] - block.start]
        slopes += pieces.matrix[own].T @ factors
        sizes += abs(pieces.matrix[own]).T @ np.abs(factors)
        constant += float((factors * pieces.constant[own]).sum())
        size += float(np.abs(factors * pieces.constant[own]).sum())
        rest = np.flatnonzero(~covered & (slope != 0))
        with np.errstate(all="ignore"):
            ends = np.where(slope > 0, relaxation.lower[span], relaxation.upper[span])
            constant += float((slope[rest] * ends[rest]).sum())
            size += float(np.abs(slope[rest] * ends[rest]).sum())
        size += _unsettled(sizes[span], slope, relaxation.lower[span], relaxation.upper[span])
        slopes[span] = 0.0
        sizes[span] = 0.0
    reach = np.maximum(np.abs(relaxation.lower), np.abs(relaxation.upper))
    # Rounding adds up along the columns of the matrices and along sums that numpy takes in pairs.
    terms = 512 + 8 * len(relaxation.blocks) + _tallest(rows) + _tallest(pieces)
    with np.errstate(all="ignore"):
        ends = np.where(slopes > 0, relaxation.lower, relaxation.upper)
        least = np.where(slopes == 0, 0.0, slopes * ends)
        # Where a column has one end only, a slope beyond its rounding points there for certain.
        certain = np.isinf(reach) & (np.abs(slopes) > EPSILON * terms * sizes)
        reach = np.where(certain, np.abs(ends), reach)
        size += float(np.where(sizes > 0, sizes * reach, 0.0).sum())
    bound = constant + float(least.sum()) - doubt - EPSILON * terms * size
    return bound if np.isfinite(bound) else None


def _tallest(form: Form) -> int:
    """Return the largest number of entries in a column."""
    return int(np.bincount(form.matrix.indices).max(initial=0)) if form.matrix.nnz else 0


def _unsettled(sizes: Floats, slope: Floats, lower: Floats, upper: Floats) -> float:
    """Return what the rounding of an atom's slope is to be multiplied by.

    A slope in which nothing cancelled is right relative to itself, as its pieces are; any other may
    be off by its terms' rounding, times whatever the atom can be.
    """
    rows = np.flatnonzero(sizes > 1.5 * np.abs(slope))
    reach = np.maximum(np.abs(lower[rows]), np.abs(upper[rows]))
    return float((sizes[rows] * reach).sum())


def _shares(w: Floats, rows: Ints, size: int) -> tuple[Floats, Bools]:
    """Return weights that add up to one over the pieces of each row, and which rows have any."""
    total = np.bincount(rows, weights=w, minlength=size)
    there = np.bincount(rows, minlength=size)
    even = np.where(total[rows] > 0, 0.0, 1.0 / np.maximum(there[rows], 1))
    share = np.where(total[rows] > 0, w / np.where(total[rows] > 0, total[rows], 1.0), even)
    return share, there > 0
