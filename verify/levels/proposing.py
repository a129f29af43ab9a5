"""Multipliers that a linear solver proposes for a relaxation; whoever asks recomputes the bound.

A relaxation is asked again and again: with more pieces, with the box of a case, with a few rows
more. What does not change between two questions is scaled once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from engiagent.verify.levels.forms import Form, Matrix
from engiagent.verify.levels.minorants import Block, Pieces
from engiagent.verify.levels.relaxed import Relaxation, proven_bound
from engiagent.verify.values import Floats

ITERATIONS: Final = 200_000
"""How many steps the linear solver may take; seconds would make results depend on the machine."""


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows ``matrix @ x <= limits`` (or ``==``) of scaled columns, and their own factors."""

    matrix: Matrix
    factors: Floats
    limits: Floats


class Proposer:
    """Solves the linear programmes of a relaxation.

    ``relaxation``: its objective and its rows are in every programme. ``point``: a plan; the size
    of its values scales columns without limits.
    """

    def __init__(self, relaxation: Relaxation, point: Floats) -> None:
        self.relaxation = relaxation
        spread = np.maximum(np.abs(relaxation.lower), np.abs(relaxation.upper))
        known = np.isfinite(spread) & (spread > 0)
        self.scale = np.where(known, spread, np.maximum(np.abs(point), 1.0))
        rows = relaxation.rows
        self.loose = self._scaled(rows.take(~relaxation.equal))
        self.exact = self._scaled(rows.take(relaxation.equal))
        cost = np.asarray(relaxation.objective.matrix.toarray()).reshape(-1) * self.scale
        self.weight = float(np.abs(cost).max(initial=0.0)) or 1.0
        self.cost = cost / self.weight
        self._known: dict[int, tuple[Pieces, _Rows]] = {}

    def bounded(
        self, part: Relaxation, further: Sequence[Form] = ()
    ) -> tuple[Floats, float | None] | None:
        """Return the optimum of a part of the relaxation and its safe bound, None without any.

        ``part``: the relaxation, perhaps in another box and with ``further`` rows behind its own.
        """
        solved = self(part.lower, part.upper, part.pieces, further)
        return None if solved is None else (solved[0], proven_bound(part, *solved[1:]))

    def __call__(
        self,
        lower: Floats,
        upper: Floats,
        pieces: Sequence[tuple[Block, Pieces]],
        further: Sequence[Form] = (),
    ) -> tuple[Floats, Floats, Floats] | None:
        """Return an optimum and multipliers, None when the solver finds none.

        ``lower``, ``upper``: the box. ``further``: more rows ``form <= 0``.

        Returns the point; the multipliers of the relaxation's rows with the further ones behind
        them; those of the pieces.
        """
        import scipy.sparse as sp
        from scipy.optimize import linprog

        blocks = [self.loose, *(self._scaled(form) for form in further)]
        blocks += [self._piece(block, piece) for block, piece in pieces]
        over = np.concatenate([block.factors for block in blocks])
        box = np.stack([lower / self.scale, upper / self.scale], axis=1)
        for block in self.relaxation.blocks:
            # What bounds an atom are its pieces, so that all multipliers are theirs.
            box[block.start : block.start + block.size] = -np.inf, np.inf
        result = linprog(
            self.cost,
            A_ub=sp.vstack([b.matrix for b in blocks], format="csr") if over.size else None,
            b_ub=np.concatenate([b.limits for b in blocks]) if over.size else None,
            A_eq=self.exact.matrix if self.exact.factors.size else None,
            b_eq=self.exact.limits if self.exact.factors.size else None,
            bounds=box,
            method="highs",
            options={"maxiter": ITERATIONS},
        )
        if result.status != 0:
            return None
        inequality = -np.asarray(result.ineqlin.marginals) * self.weight * over
        split = self.loose.factors.size
        count = self.relaxation.rows.size
        more = sum(form.size for form in further)
        y = np.zeros(count + more)
        y[:count][~self.relaxation.equal] = inequality[:split]
        y[count:] = inequality[split : split + more]
        y = np.maximum(y, 0.0)
        marginals = -np.asarray(result.eqlin.marginals)
        y[:count][self.relaxation.equal] = marginals * self.weight * self.exact.factors
        return result.x * self.scale, y, np.maximum(inequality[split + more :], 0.0)

    def _scaled(self, form: Form) -> _Rows:
        matrix, factors = row_balanced(scaled(form.matrix, columns=self.scale))
        return _Rows(matrix, factors, -form.constant * factors)

    def _piece(self, block: Block, piece: Pieces) -> _Rows:
        known = self._known.get(id(piece))
        if known is None:
            import scipy.sparse as sp

            size = piece.rows.size
            places = (np.arange(size), block.start + piece.rows)
            picks = sp.csr_matrix((np.ones(size), places), shape=piece.form.matrix.shape)
            form = Form((piece.form.matrix - picks).tocsr(), piece.form.constant, piece.form.error)
            side = float(piece.side)
            under = Form(
                scaled(form.matrix, rows=np.full(size, side)), side * form.constant, form.error
            )
            # The piece is kept beside its rows: its id is its own as long as it lives.
            known = self._known[id(piece)] = (piece, self._scaled(under))
        return known[1]


def scaled(matrix: Matrix, rows: Floats | None = None, columns: Floats | None = None) -> Matrix:
    """Return a compressed row matrix with its rows and columns times factors."""
    data = matrix.data
    if rows is not None:
        data = data * np.repeat(rows, np.diff(matrix.indptr))
    if columns is not None:
        data = data * columns[matrix.indices]
    return type(matrix)((data, matrix.indices, matrix.indptr), shape=matrix.shape)


def row_balanced(matrix: Matrix) -> tuple[Matrix, Floats]:
    """Return a matrix whose rows have a largest entry of one, and by what they were multiplied.

    A row of nothing but subnormal numbers stays as it is: their reciprocals overflow.
    """
    largest = np.zeros(matrix.shape[0])
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if filled.size:
        largest[filled] = np.maximum.reduceat(np.abs(matrix.data), matrix.indptr[filled])
    factors = 1.0 / np.where(largest > np.finfo(np.float64).tiny, largest, 1.0)
    return scaled(matrix, rows=factors), factors
