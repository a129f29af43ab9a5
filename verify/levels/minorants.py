"""Affine functions below and above the nonlinear parts of a programme.

A convex function lies above its tangents, a concave one above its secant, a product above its
McCormick planes, a maximum above each of its arguments. Every such piece holds wherever the
variables are within their bounds; which of them are sharp is another question. Of a table and
the far side of a maximum only the interval is known.
A quadratic objective is written as a sum of squares, a root of squares as a norm.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from engiagent.verify.arithmetic import tail_weights
from engiagent.verify.frames import Bools
from engiagent.verify.functions import ELEMENTARY, Function
from engiagent.verify.levels.forms import Columns, Form, Matrix, stacked, widened
from engiagent.verify.values import EPSILON, Floats, Ints, Value

SAFE = 32.0 * EPSILON
MAX_TOGETHER = 400
"""How many variables may be multiplied with one another for their form to be diagonalised."""


@dataclass(frozen=True, eq=False)
class Block:
    """One atom: a column for each of its rows from ``start`` on.

    ``forms``: the forms of what it is made of. ``ends``: the interval of each of them over the box.
    ``rows``: for groups: the row that each row of the only form belongs to.
    """

    kind: str
    start: int
    size: int
    forms: tuple[Form, ...]
    ends: tuple[tuple[Floats, Floats], ...]
    rows: Ints | None = None
    numbers: tuple[Floats, ...] = ()


@dataclass(frozen=True, eq=False)
class Pieces:
    """``side * (atom - form) >= 0`` for the atom rows that ``rows`` names."""

    side: int
    rows: Ints
    form: Form

    def where(self, wanted: Bools) -> "Pieces | None":
        """Return the pieces of the atom rows that are wanted, None for none."""
        keep = np.flatnonzero(wanted[self.rows])
        return Pieces(self.side, self.rows[keep], self.form.take(keep)) if keep.size else None


def pieces_of(block: Block, side: int, point: Floats | None) -> Iterator[Pieces]:
    """Yield pieces below (``side`` 1) or above (-1) an atom.

    ``point``: None for the pieces that are there once and for all; else all columns, at which
    tangents are taken.
    """
    if block.kind in ("max", "min"):
        yield from _extreme(block, side) if point is None else ()
    elif block.kind == "product":
        yield from _product(block, side) if point is None else ()
    elif block.kind == "tail":
        yield from _tail(block, side, point) if point is not None else ()
    elif block.kind == "norm":
        yield from _norm(block, side, point) if point is not None else ()
    else:
        yield from _curved(block, side, point)


def _moved(form: Form, side: int, room: Floats) -> Form:
    """Return a piece moved away from its atom by what rounding may have done, and its error."""
    return Form(form.matrix, form.constant - side * (room + form.error), np.zeros(form.size))


# --- kinks, products, norms --------------------------------------------------------------------


def _extreme(block: Block, side: int) -> Iterator[Pieces]:
    """Yield the arguments, above each of which a maximum lies; none on the other side."""
    if side != (1 if block.kind == "max" else -1):
        return
    for form in block.forms:
        rows = np.arange(block.size) if block.rows is None else block.rows
        yield Pieces(side, rows, _moved(form, side, np.zeros(form.size)))


def _product(block: Block, side: int) -> Iterator[Pieces]:
    first, second = block.forms
    (a_low, a_high), (b_low, b_high) = block.ends
    choices = (
        ((a_low, b_low), (a_high, b_high)) if side == 1 else ((a_low, b_high), (a_high, b_low))
    )
    for a, b in choices:
        rows = np.flatnonzero(np.isfinite(a) & np.isfinite(b))
        if rows.size:
            p, q = a[rows], b[rows]
            plane = second.take(rows).times(p).plus(first.take(rows).times(q))
            moved = Form(plane.matrix, plane.constant - p * q, plane.error)
            scale = np.abs(p * q) + np.abs(plane.constant)
            yield Pieces(side, rows, _moved(moved, side, SAFE * scale))


def _tail(block: Block, side: int, point: Floats) -> Iterator[Pieces]:
    """Yield the mean by the weights that are the worst at a point."""
    import scipy.sparse as sp

    weights, (share, natural) = block.numbers
    if side != int(natural):
        return
    form = block.forms[0]
    taken = tail_weights(form.at(point), weights, float(share), natural > 0)
    total = form.times(taken)
    summed = sp.csr_matrix(np.ones((1, form.size))) @ total.matrix
    sizes = np.maximum(np.abs(block.ends[0][0]), np.abs(block.ends[0][1]))
    room = SAFE * form.size * float(taken @ np.where(np.isfinite(sizes), sizes, 0.0))
    one = Form(summed.tocsr(), np.array([total.constant.sum()]), np.array([total.error.sum()]))
    yield Pieces(side, np.zeros(1, dtype=np.int64), _moved(one, side, np.array([room])))


def _norm(block: Block, side: int, point: Floats) -> Iterator[Pieces]:
    """Yield the planes that touch the cone of a Euclidean norm in the direction of a point."""
    import scipy.sparse as sp

    if side != 1 or block.rows is None:
        return
    form = block.forms[0]
    here = form.at(point)
    length = np.sqrt(np.bincount(block.rows, weights=here**2, minlength=block.size))
    # A little shorter than one, whatever was rounded: a plane that cuts nothing off.
    direction = here / np.maximum(length, 1e-300)[block.rows] * (1.0 - SAFE * 4)
    direction = np.where(np.isfinite(direction), direction, 0.0)
    along = form.times(direction)
    picks = (np.ones(form.size), (block.rows, np.arange(form.size)))
    into = sp.csr_matrix(picks, shape=(block.size, form.size))
    room = SAFE * (into @ np.abs(along.constant))
    plane = Form((into @ along.matrix).tocsr(), into @ along.constant, into @ along.error)
    yield Pieces(side, np.arange(block.size), _moved(plane, side, room))


# --- curves ------------------------------------------------------------------------------------


def _function_of(block: Block) -> Function | None:
    if block.kind == "power":
        (exponent,) = (float(number[0]) for number in block.numbers)
        return Function(
            lambda z: z**exponent,
            lambda z: exponent * z ** (exponent - 1),
            partial(_bend_of_power, exponent),
            0.0 if exponent % 1 else -np.inf,
        )
    if block.kind == "inverse":
        (top,) = block.numbers
        return Function(
            lambda z: top / z,
            lambda z: -top / z**2,
            lambda low, high: _bend_of_power(-1.0, low, high) * np.sign(top),
        )
    return ELEMENTARY.get(block.kind)


def _bend_of_power(exponent: float, low: Floats, high: Floats) -> Floats:
    """Return 1 where a power is convex over an interval, -1 where concave, 0 for neither."""
    whole = exponent == int(exponent)
    even = whole and int(exponent) % 2 == 0
    right, left = (low >= 0) if exponent > 0 else (low > 0), high <= 0
    if exponent < 0:
        left = high < 0
    bend = 1.0 if exponent > 1 or exponent < 0 else -1.0
    if even and exponent > 0:
        return np.ones_like(low)
    shape = np.where(right, bend, 0.0)
    if whole:
        shape = np.where(left & ~right, bend if even else -bend, shape)
    return shape


def _range_of(block: Block, curve: Function) -> tuple[Floats, Floats]:
    """Return the interval of a function that is monotone but at zero."""
    if curve.bend is None:
        return -np.ones(block.size), np.ones(block.size)
    low, high = (np.maximum(end, curve.least) for end in block.ends[0])
    ends = np.sort(np.stack([curve.value(low), curve.value(high)]), axis=0)
    across = (low <= 0) & (high >= 0)
    exponent = float(block.numbers[0][0]) if block.kind == "power" else 1.0
    if block.kind == "inverse" or exponent < 0:
        return np.where(across, -np.inf, ends[0]), np.where(across, np.inf, ends[1])
    return np.where(across, 0.0, ends[0]) if exponent % 2 == 0 else ends[0], ends[1]


def _clear_of_the_bend(block: Block, side: int, at: Floats) -> Bools:
    """Return where the tangent of an odd power holds over an interval on both sides of zero.

    Below a cube lies its tangent at t > 0 from -2 t on. On the far side of zero the curve bends
    away, so that whether it holds at the far end of the interval says whether it holds throughout.
    """
    low, high = block.ends[0]
    exponent = float(block.numbers[0][0]) if block.kind == "power" else 0.0
    if exponent < 3 or exponent % 2 != 1:
        return np.zeros(at.shape, dtype=bool)
    far = low if side == 1 else high
    line = at**exponent + exponent * at ** (exponent - 1) * (far - at)
    room = SAFE * (np.abs(line) + np.abs(far) ** exponent)
    holds = side * (far**exponent - line) > room
    return np.asarray((low < 0) & (high > 0) & (side * at > 0) & holds & np.isfinite(far))


def _curved(block: Block, side: int, point: Floats | None) -> Iterator[Pieces]:
    """Yield the tangents at a point, else the secants over the interval."""
    curve = _function_of(block)
    if curve is None or curve.bend is None:
        return
    form, shape = block.forms[0], curve.bend(*block.ends[0])
    low, high = (np.maximum(end, curve.least) for end in block.ends[0])
    with np.errstate(all="ignore"):
        if point is not None:
            at = np.clip(form.at(point), low, high)
            height, rise = curve.value(at), curve.slope(at)
            usable = (shape == side) | _clear_of_the_bend(block, side, at)
        else:
            at, height = low, curve.value(low)
            rise = np.where(high > low, (curve.value(high) - height) / (high - low), 0.0)
            usable = shape == -side
        scale = np.abs(height) + np.abs(rise) * (
            np.abs(at)
            + np.where(np.isfinite(low), np.abs(low), 0.0)
            + np.where(np.isfinite(high), np.abs(high), 0.0)
        )
    rows = np.flatnonzero(usable & np.isfinite(height) & np.isfinite(rise) & np.isfinite(at))
    if not rows.size:
        return
    rise, at, height = rise[rows], at[rows], height[rows]
    line = form.take(rows).times(rise)
    moved = Form(line.matrix, line.constant + (height - rise * at), line.error)
    room = SAFE * (scale[rows] + np.abs(line.constant))
    yield Pieces(side, rows, _moved(moved, side, room))


# --- blocks from values ------------------------------------------------------------------------


def blocks_of(
    columns: Columns, atoms: Sequence[Value], goal: Value, rows: Form, limits: Floats
) -> tuple[Form, list[Block], Floats, Floats]:
    """Return the objective, all blocks, the box with intervals of atoms, and the plan's columns.

    ``limits``: the box, shape (2, columns); the intervals of atoms are filled in.
    """
    blocks = bounded_atoms(columns, atoms, limits)
    objective = columns.form(goal)
    used = np.zeros(columns.point.size, dtype=bool)
    used[rows.matrix.indices] = True
    for block in blocks:
        for form in block.forms:
            used[form.matrix.indices] = True
    return _diagonal(objective, blocks, used, limits, columns.point)


def bounded_atoms(columns: Columns, atoms: Sequence[Value], limits: Floats) -> list[Block]:
    """Return a block for each atom, those that others are made of first, and fill in their limits.

    ``limits``: the box of all columns, shape (2, columns).
    """
    by_start: dict[int, Block] = {}
    for value in atoms:
        block = _block(columns, value, limits, by_start)
        by_start[block.start] = block
        limits[:, block.start : block.start + block.size] = _interval(block)
    return list(by_start.values())


def _block(columns: Columns, value: Value, limits: Floats, known: dict[int, Block]) -> Block:
    atom = value.atom
    assert atom is not None
    start, size = columns.starts[value.order], value.data.size
    forms = [columns.form(parent) for parent in atom.parents]
    kind, numbers = atom.kind, atom.numbers
    if kind == "quotient" and forms[0].is_constant:
        top = np.broadcast_to(atom.parents[0].data, (size,))
        kind, forms, numbers = "inverse", forms[1:], (top,)
    elif kind == "product" and _alike(*forms):
        kind, forms, numbers = "power", forms[:1], (np.array([2.0]),)
    elif kind == "sqrt" or (kind == "power" and numbers[0][0] == 0.5):
        parts = _sum_of_squares(forms[0], known)
        if parts is not None:
            return Block("norm", start, size, parts[:1], (forms[0].interval(*limits),), parts[1])
    if atom.rows is None:
        everywhere = np.zeros(size, dtype=np.int64)
        forms = [form if form.size == size else form.take(everywhere) for form in forms]
    ends = [form.interval(*limits) for form in forms]
    return Block(kind, start, size, tuple(forms), tuple(ends), atom.rows, numbers)


def _alike(first: Form, second: Form) -> bool:
    if first.size != second.size or not np.array_equal(first.constant, second.constant):
        return False
    return bool((first.matrix != second.matrix).nnz == 0)


def _sum_of_squares(form: Form, known: dict[int, Block]) -> tuple[Form, Ints] | None:
    """Return the forms whose squares add up to each row, and the rows; None when they do not."""
    import scipy.sparse as sp

    matrix = form.matrix.tocoo()
    if (matrix.data < 0).any() or (form.constant < -form.error).any() or not matrix.nnz:
        return None
    taken, rows = [], []
    for column, row, factor in zip(matrix.col, matrix.row, matrix.data, strict=True):
        block = next((b for s, b in known.items() if s <= column < s + b.size), None)
        if block is None or block.kind != "power" or block.numbers[0][0] != 2.0:
            return None
        inner = block.forms[0].take([int(column) - block.start])
        taken.append(inner.times(np.array([np.sqrt(factor)])))
        rows.append(int(row))
    left = np.flatnonzero(form.constant > form.error)
    for row in left:
        blank = sp.csr_matrix((1, form.matrix.shape[1]))
        kept = np.sqrt(form.constant[row] - form.error[row])
        taken.append(Form(blank, np.array([kept]), np.zeros(1)))
        rows.append(int(row))
    return stacked(taken, form.matrix.shape[1]), np.array(rows, dtype=np.int64)


# --- intervals ---------------------------------------------------------------------------------


def _interval(block: Block) -> Floats:
    with np.errstate(all="ignore"):
        low, high = _ends(block)
        room = 16 * EPSILON
        low = np.where(np.isnan(low), -np.inf, low - room * np.abs(low))
        high = np.where(np.isnan(high), np.inf, high + room * np.abs(high))
    return np.stack([low, high])


def _ends(block: Block) -> tuple[Floats, Floats]:
    low, high = block.ends[0]
    if block.kind in ("max", "min"):
        join = np.maximum if block.kind == "max" else np.minimum
        if block.rows is None:
            lows, highs = zip(*block.ends, strict=True)
            return np.asarray(join.reduce(lows)), np.asarray(join.reduce(highs))
        start = -np.inf if block.kind == "max" else np.inf
        found = np.full((2, block.size), start)
        join.at(found[0], block.rows, low)
        join.at(found[1], block.rows, high)
        return found[0], found[1]
    if block.kind == "tail":
        return np.array([low.min()]), np.array([high.max()])
    if block.kind == "product":
        corners = [a * b for a in block.ends[0] for b in block.ends[1]]
        corners = [np.where(np.isnan(c), 0.0, c) for c in corners]  # zero times infinity
        infinite = ~np.isfinite(np.stack([*block.ends[0], *block.ends[1]])).all(axis=0)
        least, most = np.minimum.reduce(corners), np.maximum.reduce(corners)
        return np.where(infinite, -np.inf, least), np.where(infinite, np.inf, most)
    if block.kind == "piecewise":
        ys = np.broadcast_to(block.numbers[1], (block.size, block.numbers[1].shape[1]))
        return ys.min(axis=1), ys.max(axis=1)
    if block.kind == "norm":
        return np.zeros(block.size), np.sqrt(np.maximum(high, 0.0))
    curve = _function_of(block)
    if curve is None:
        return np.full(block.size, -np.inf), np.full(block.size, np.inf)
    return _range_of(block, curve)


# --- quadratic objectives ----------------------------------------------------------------------


def _diagonal(
    objective: Form, blocks: list[Block], used: Bools, limits: Floats, point: Floats
) -> tuple[Form, list[Block], Floats, Floats]:
    """Write the products of the objective as sums of squares, where variables meet in products.

    ``x' Q x`` with ``Q = V diag(d) V'`` is the sum of ``d (v' x)^2``: convex where d is positive,
    whatever the single products are. What the decomposition misses is subtracted over the box.
    """
    import scipy.sparse as sp

    cost = np.asarray(objective.matrix.toarray()).reshape(-1)
    terms = _quadratic(cost, blocks, used)
    if not any(block.kind == "product" for block, _ in terms):
        return objective, blocks, limits, point
    count = point.size
    factors = [(block.forms[0].take(rows), block.forms[-1].take(rows)) for block, rows in terms]
    first, second = (sp.vstack([pair[k].matrix for pair in factors], format="csr") for k in (0, 1))
    weights = np.concatenate([cost[block.start + rows] for block, rows in terms])
    a, b = (np.concatenate([pair[k].constant for pair in factors]) for k in (0, 1))
    errors = [np.concatenate([pair[k].error for pair in factors]) for k in (0, 1)]
    quadratic = first.T @ sp.diags(weights) @ second
    quadratic = ((quadratic + quadratic.T) * 0.5).tocsr()
    linear = first.T @ (weights * b) + second.T @ (weights * a)
    reach = np.maximum(np.abs(limits[0]), np.abs(limits[1]))
    touched = np.flatnonzero(np.diff(quadratic.indptr))
    if not np.isfinite(reach[touched]).all():
        return objective, blocks, limits, point
    squares = _squares(quadratic, touched)
    if squares is None:
        return objective, blocks, limits, point
    vectors, curvature, residual = squares
    # |x' E x| <= |x|' |E| |x| over the box, and what the constants of the factors may be off.
    lost = float(reach[touched] @ (residual @ reach[touched]))
    sizes = [abs(m) @ np.where(np.isfinite(reach), reach, 0.0) for m in (first, second)]
    lost += float(
        np.abs(weights) @ (errors[0] * (sizes[1] + np.abs(b)) + errors[1] * (sizes[0] + np.abs(a)))
    )
    rounding = (
        256 * EPSILON * float(np.abs(weights) @ ((sizes[0] + np.abs(a)) * (sizes[1] + np.abs(b))))
    )
    kept = cost.copy()
    for block, rows in terms:
        kept[block.start + rows] = 0.0
    kept = kept + linear
    many = curvature.size
    matrix = sp.csr_matrix(np.concatenate([kept, curvature])[None, :])
    wide = count + many
    basis = sp.csr_matrix((many, wide), dtype=np.float64).tolil()
    basis[:, touched] = vectors.T
    form = Form(basis.tocsr(), np.zeros(many), np.zeros(many))
    blocks = [resized(block, wide) for block in blocks]
    limits = np.concatenate([limits, np.zeros((2, many))], axis=1)
    square = Block(
        "power", count, many, (form,), (form.interval(*limits),), None, (np.array([2.0]),)
    )
    limits[:, count:] = _interval(square)
    point = np.concatenate([point, np.asarray(vectors.T @ point[touched]) ** 2])
    constant = objective.constant + float((weights * a * b).sum()) - lost - rounding
    return Form(matrix, constant, objective.error), [*blocks, square], limits, point


def _quadratic(cost: Floats, blocks: Sequence[Block], used: Bools) -> list[tuple[Block, Ints]]:
    """Return the products and squares of affine forms that stand in the objective alone."""
    first_atom = min((block.start for block in blocks), default=0)
    found = []
    for block in blocks:
        square = block.kind == "power" and block.numbers[0][0] == 2.0
        if not (square or block.kind == "product"):
            continue
        if any((form.matrix.indices >= first_atom).any() for form in block.forms):
            continue
        places = np.arange(block.start, block.start + block.size)
        rows = np.flatnonzero((cost[places] != 0) & ~used[places])
        if rows.size:
            found.append((block, rows))
    return found


def _squares(quadratic: Matrix, touched: Ints) -> tuple[Floats, Floats, Floats] | None:
    """Return eigenvectors, eigenvalues and the size of what they miss, by groups of variables."""
    from scipy.sparse.csgraph import connected_components

    inner = quadratic[touched][:, touched]
    count, label = connected_components(inner, directed=False)
    if np.bincount(label, minlength=count).max(initial=0) > MAX_TOGETHER or touched.size > 4000:
        return None
    dense = np.asarray(inner.toarray())
    vectors, curvature = np.zeros_like(dense), np.zeros(touched.size)
    for group in range(count):
        own = np.flatnonzero(label == group)
        part = dense[np.ix_(own, own)]
        d, v = np.linalg.eigh(part)
        vectors[np.ix_(own, own)] = v
        curvature[own] = d
    # Curvature within rounding of zero is none; what that leaves out is in the residual.
    curvature = np.where(
        np.abs(curvature) <= 1e-13 * np.abs(curvature).max(initial=0.0), 0.0, curvature
    )
    residual = np.abs(dense - (vectors * curvature) @ vectors.T)
    residual += (
        8 * touched.size * EPSILON * (np.abs(vectors) * np.abs(curvature)) @ np.abs(vectors.T)
    )
    return vectors, curvature, residual


def resized(block: Block, count: int) -> Block:
    """Return a block whose forms have room for columns that came later."""
    return replace(block, forms=tuple(widened(form, count) for form in block.forms))
