"""Atoms as blocks with intervals; quadratic objectives as sums of squares, roots as norms."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engiagent.verify.frames import Bools
from engiagent.verify.levels.forms import Columns, Form, Matrix
from engiagent.verify.levels.minorants import Block
from engiagent.verify.values import EPSILON, Floats, Ints, Value

MAX_TOGETHER = 400
"""How many variables may be multiplied with one another for their form to be diagonalised."""


def blocks_of(
    columns: Columns, atoms: Sequence[Value], goal: Value, rows: Sequence[Value], limits: Floats
) -> tuple[Form, list[Block], Floats, Floats]:
    """Return the objective, all blocks, the box with intervals of atoms, and the plan's columns.

    Parameters
    ----------
    limits
        The box, shape (2, columns); the intervals of atoms are filled in.
    """
    blocks = []
    by_start: dict[int, Block] = {}
    for value in atoms:
        block = _block(columns, value, limits, by_start)
        blocks.append(block)
        by_start[block.start] = block
        span = slice(block.start, block.start + block.size)
        limits[:, span] = _interval(block)
    objective = columns.form(goal)
    used = np.zeros(columns.point.size, dtype=bool)
    for row in rows:
        used[columns.form(row).matrix.indices] = True
    for block in blocks:
        for form in block.forms:
            used[form.matrix.indices] = True
    return _diagonal(objective, blocks, used, limits, columns.point)


def _block(columns: Columns, value: Value, limits: Floats, known: dict[int, Block]) -> Block:
    atom = value.atom
    assert atom is not None
    start, size = columns.starts[value.order], value.data.size
    forms = [columns.form(parent) for parent in atom.parents]
    if atom.kind == "quotient" and forms[0].is_constant:
        return Block(
            "inverse",
            start,
            size,
            (forms[1],),
            (forms[1].interval(*limits),),
            None,
            (np.broadcast_to(atom.parents[0].data, (size,)),),
        )
    if atom.kind == "product" and _alike(*forms):
        return Block(
            "power",
            start,
            size,
            (forms[0],),
            (forms[0].interval(*limits),),
            None,
            (np.array([2.0]),),
        )
    root = atom.kind == "sqrt" or (atom.kind == "power" and atom.numbers[0][0] == 0.5)
    if root:
        parts = _sum_of_squares(forms[0], known)
        if parts is not None:
            return Block("norm", start, size, (parts[0],), (forms[0].interval(*limits),), parts[1])
    forms = [_wide(form, size) for form in forms] if atom.rows is None else forms
    ends = [form.interval(*limits) for form in forms]
    if atom.kind in ("max", "min") and len(forms) == 2:
        ends.append(forms[0].plus(forms[1], -1.0).interval(*limits))
    return Block(atom.kind, start, size, tuple(forms), tuple(ends), atom.rows, atom.numbers)


def _wide(form: Form, size: int) -> Form:
    return form if form.size == size else form.take(np.zeros(size, dtype=np.int64))


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
    stacked = Form(
        sp.vstack([part.matrix for part in taken], format="csr"),
        np.concatenate([part.constant for part in taken]),
        np.concatenate([part.error for part in taken]),
    )
    return stacked, np.array(rows, dtype=np.int64)


# --- intervals ---------------------------------------------------------------------------------


def _interval(block: Block) -> Floats:
    """Return an interval of every row of an atom, rounded outwards."""
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
            pairs = block.ends[: len(block.forms)]
            return (
                np.asarray(join.reduce([p[0] for p in pairs])),
                np.asarray(join.reduce([p[1] for p in pairs])),
            )
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
    if block.kind in ("sin", "cos"):
        return -np.ones(block.size), np.ones(block.size)
    if block.kind == "norm":
        return np.zeros(block.size), np.sqrt(np.maximum(high, 0.0))
    return _monotone(block, low, high)


def _monotone(block: Block, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    if block.kind in ("exp", "tanh"):
        return (np.exp(low), np.exp(high)) if block.kind == "exp" else (np.tanh(low), np.tanh(high))
    if block.kind in ("log", "sqrt"):
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        return (np.log(low), np.log(high)) if block.kind == "log" else (np.sqrt(low), np.sqrt(high))
    if block.kind == "inverse":
        ends = np.sort(np.stack([block.numbers[0] / low, block.numbers[0] / high]), axis=0)
        clear = (low > 0) | (high < 0)
        return np.where(clear, ends[0], -np.inf), np.where(clear, ends[1], np.inf)
    if block.kind != "power":
        return np.full(block.size, -np.inf), np.full(block.size, np.inf)
    exponent = float(block.numbers[0][0])
    if exponent % 1:
        low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
    ends = np.sort(np.stack([low**exponent, high**exponent]), axis=0)
    inside = (low < 0) & (high > 0)
    if exponent > 0:
        even = exponent % 2 == 0
        return (np.where(inside, 0.0, ends[0]) if even else low**exponent), ends[1]
    clear = (low > 0) | (high < 0)
    return np.where(clear, ends[0], -np.inf), np.where(clear, ends[1], np.inf)


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
    forms = []
    for form in block.forms:
        matrix = form.matrix.copy()
        matrix.resize((form.size, count))
        forms.append(Form(matrix, form.constant, form.error))
    return replace(block, forms=tuple(forms))
