r"""A programme whose nonlinear parts are affine pieces, and the bound that multipliers prove of it.

For a minimisation over rows :math:`h(x) \le 0` (some :math:`= 0`) within :math:`l \le x \le u`,

.. math:: f(x) \ge f_0 + y^T h_0 + \min_{l \le x \le u} d^T x, \qquad d = \nabla f + A^T y

holds for every allowed :math:`x` and any multipliers of the right sign, whoever proposes them:
wrong ones only make the bound weak. Rounding is subtracted by an a-priori error bound, in the
manner of A. Neumaier and O. Shcherbina, doi:10.1007/s10107-003-0433-3.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from engiagent.units.unit import Unit
from engiagent.verify.frames import Bools, EvaluationError
from engiagent.verify.levels.algebra import Row
from engiagent.verify.levels.forms import Form, Matrix, stacked
from engiagent.verify.levels.minorants import Block, Pieces, pieces_of
from engiagent.verify.schedule import Multipliers
from engiagent.verify.values import EPSILON, Floats, Ints

SUMMED: Final = 512
"""Roundings in a sum that numpy takes in pairs, and in its terms."""
NEGLIGIBLE: Final = 1e-12
"""Of the largest multiplier: below it one is noise, and its bound is no weaker for being zero."""
STEPS: Final = 2_000
"""Of least squares, for the shift of multipliers."""
NEAR: Final = 1e3
"""Times the largest lack of a reduced cost: others within it must not fall while it is shifted."""


@dataclass(eq=False)
class Relaxation:
    """Objective and rows over columns, with the pieces known so far.

    ``objective``: to be minimised, one row. ``rows``, ``equal``: ``form <= 0`` and, where
    ``equal``, ``form == 0``. ``lower``, ``upper``: A box that holds every allowed plan; for atoms
    an interval.
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
                    part = piece.where(wanted)
                    if part is not None:
                        self.pieces.append((block, part))
                        added += part.rows.size
        return added

    def _ends(self, block: Block, side: int) -> tuple[Pieces, ...]:
        """Return the end of the interval of an atom as a piece that says it."""
        import scipy.sparse as sp

        span = slice(block.start, block.start + block.size)
        end = self.lower[span] if side == 1 else self.upper[span]
        rows = np.flatnonzero(np.isfinite(end))
        blank = sp.csr_matrix((rows.size, self.lower.size))
        return (Pieces(side, rows, Form(blank, end[rows], np.zeros(rows.size))),)


def safe_bound(relaxation: Relaxation, y: Floats, w: Floats | None = None) -> float | None:
    """Return the bound that multipliers prove, rounding subtracted; None when it is lost.

    ``y``: of the rows; those on the wrong side count as zero. ``w``: weights of the pieces, by
    which those of one atom are combined; None where there are none.
    """
    objective, rows = relaxation.objective, relaxation.rows
    y = np.where(relaxation.equal, y, np.maximum(y, 0.0))
    w = np.zeros(0) if w is None else w
    slopes = np.asarray(objective.matrix.toarray()).reshape(-1) + rows.matrix.T @ y
    sizes = np.asarray(abs(objective.matrix).toarray()).reshape(-1) + abs(rows.matrix).T @ np.abs(y)
    constant = float(objective.constant[0]) + float((y * rows.constant).sum())
    doubt = float(objective.error[0]) + float((np.abs(y) * rows.error).sum())
    size = abs(float(objective.constant[0])) + float(np.abs(y * rows.constant).sum())
    drift = 0.0
    pieces, atoms, sides = _stacked_pieces(relaxation)
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
        drift += _unsettled(sizes[span], slope, relaxation.lower[span], relaxation.upper[span])
        slopes[span] = 0.0
        sizes[span] = 0.0
    reach = np.maximum(np.abs(relaxation.lower), np.abs(relaxation.upper))
    # Rounding adds up along the columns of the matrices, and along sums that numpy takes in pairs.
    terms = 16 + 8 * len(relaxation.blocks) + _tallest(rows) + _tallest(pieces)
    with np.errstate(all="ignore"):
        ends = np.where(slopes > 0, relaxation.lower, relaxation.upper)
        least = np.where(slopes == 0, 0.0, slopes * ends)
        # Where a column has one end only, a slope beyond its rounding points there for certain.
        certain = np.isinf(reach) & (np.abs(slopes) > EPSILON * terms * sizes)
        reach = np.where(certain, np.abs(ends), reach)
        drift += float(np.where(sizes > 0, sizes * reach, 0.0).sum())
        size += float(np.abs(least).sum())
    bound = constant + float(least.sum()) - doubt - EPSILON * (terms * drift + SUMMED * size)
    return bound if np.isfinite(bound) else None


def proven_bound(relaxation: Relaxation, y: Floats, w: Floats | None = None) -> float | None:
    """Return the bound that multipliers prove, shifted where rounding alone would lose it.

    As :func:`safe_bound`, but a column without an end needs a reduced cost of at least zero, and a
    solver's are zero but for rounding. Multipliers of the right sign are as good as any others.
    """
    found = safe_bound(relaxation, y, w)
    if found is not None or np.isfinite([relaxation.lower, relaxation.upper]).all():
        return found
    w = np.zeros(0) if w is None else w
    return safe_bound(relaxation, *np.split(_shifted(relaxation, y, w), [y.size]))


def _shifted(relaxation: Relaxation, y: Floats, w: Floats) -> Floats:
    """Return multipliers of rows and pieces whose reduced costs are on their right side for sure.

    Noise is set to zero; then the least shift, relative to the multipliers, gives the columns with
    one end a reduced cost beyond its rounding. Slopes of atoms, which pieces take up, stay.
    """
    import scipy.sparse as sp
    from scipy.sparse.linalg import lsqr

    pieces, atoms, sides = _stacked_pieces(relaxation)
    if not w.size:
        pieces, atoms, sides = pieces.take(slice(0)), atoms[:0], sides[:0]
    picks = sp.csr_matrix((np.ones(w.size), (np.arange(w.size), atoms)), pieces.matrix.shape)
    parts = [relaxation.rows.matrix, sp.diags(sides.astype(float)) @ (pieces.matrix - picks)]
    matrix = sp.vstack(parts, format="csc")
    free = np.concatenate([relaxation.equal, np.zeros(w.size, dtype=bool)])
    weights = np.concatenate([y, w])
    weights = np.where(free, weights, np.maximum(weights, 0.0))
    weights[np.abs(weights) <= NEGLIGIBLE * np.abs(weights).max(initial=0.0)] = 0.0
    cost = np.asarray(relaxation.objective.matrix.toarray()).reshape(-1)
    slopes = cost + matrix.T @ weights
    sizes = np.abs(cost) + abs(matrix).T @ np.abs(weights)
    terms = 16 + 8 * len(relaxation.blocks) + _tallest(relaxation.rows) + _tallest(pieces)
    side = np.isinf(relaxation.upper).astype(float) - np.isinf(relaxation.lower)
    lack = np.where((side != 0) & (sizes > 0), 4 * EPSILON * terms * sizes - side * slopes, -np.inf)
    for block in relaxation.blocks:
        span = slice(block.start, block.start + block.size)
        lack[span] = np.where(sizes[span] > 0, 0.0, -np.inf)
    most = float(lack.max(initial=0.0))
    chosen = np.flatnonzero(lack > -NEAR * most)
    carried = np.flatnonzero(weights)
    if most <= 0 or not carried.size:
        return weights
    scale = 1.0 / np.maximum(sizes[chosen], 1e-300)
    system = sp.diags(scale) @ matrix[carried][:, chosen].T @ sp.diags(np.abs(weights[carried]))
    wanted = scale * side[chosen] * np.maximum(lack[chosen], 0.0)
    shift = lsqr(system, wanted, iter_lim=STEPS)[0]
    weights[carried] += shift * np.abs(weights[carried])
    return np.where(free, weights, np.maximum(weights, 0.0))


def _stacked_pieces(relaxation: Relaxation) -> tuple[Form, Ints, Ints]:
    """Return all pieces stacked, the column of the atom of each row, and its side."""
    forms = stacked([piece.form for _, piece in relaxation.pieces], relaxation.lower.size)
    empty = [np.zeros(0, dtype=np.int64)]
    atoms = np.concatenate([b.start + p.rows for b, p in relaxation.pieces] or empty)
    sides = np.concatenate([np.full(p.rows.size, p.side) for _, p in relaxation.pieces] or empty)
    return forms, atoms, sides


def _tallest(form: Form) -> int:
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


# --- multipliers that came with a schedule ------------------------------------------------------


def weights_of(
    rows: Sequence[Row], given: Mapping[str, Multipliers], scale: Unit | None, sign: float
) -> Floats:
    """Return one multiplier for each row ``form <= 0``, zero where none was given.

    ``given``: by constraint id; those of a chain's n-th comparison may be named ``id__n``. A
    positive one belongs to a lower limit. ``scale``: the unit of the objective, None for a ray.
    ``sign``: -1 for a maximisation, whose multipliers have the other sign.
    """
    chains: dict[str, list[Row]] = {}
    for row in rows:
        chains.setdefault(row.rule.id, []).append(row)
    parts = [np.zeros(0)]
    for row in rows:
        chain, whole = chains[row.rule.id], given.get(row.rule.id)
        own = given.get(f"{row.rule.id}__{row.number}")
        middle = len(chain) == 2 and len({one.op for one in chain}) == 1
        if middle and whole is not None and f"{row.rule.id}__2" not in given:
            # ``low <= middle <= high`` has one multiplier, that of the middle: its sign says which.
            y = _fit(whole, row, scale) * sign
            y = np.maximum(y if (row.number == 1) == (row.op != ">=") else -y, 0.0)
        else:
            chosen = own or (whole if row.number == 1 else None)
            y = np.zeros(row.excess.data.size) if chosen is None else _fit(chosen, row, scale)
            y = y * (sign if row.op == ">=" else -sign)
        # Without a statement about all plans a nonlinear row counts for nothing.
        parts.append(np.zeros(y.size) if row.excess.degree > 1 else y)
    return np.concatenate(parts)


def _fit(multipliers: Multipliers, row: Row, scale: Unit | None) -> Floats:
    """Return multipliers for the rows of a frame, in SI; NaN marks rows that do not exist."""
    data, size = multipliers.data, row.excess.data.size
    if data.size != size:
        data = data[~np.isnan(data)]
    if data.size != size:
        raise EvaluationError(f"{multipliers.data.size} multipliers for {size} rows")
    # A multiplier that is no finite number proves nothing; zero is always valid.
    data = np.where(np.isfinite(data), data, 0.0)
    if multipliers.unit is not None:
        return data * multipliers.unit.scale
    unit = row.excess.unit.difference()
    return data * (scale.scale if scale is not None else 1.0) / unit.scale


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
