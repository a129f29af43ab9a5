r"""Quadratic forms: which are convex, and which rows are second-order cones.

Which quadratic forms are convex: many symmetric matrices at once.

The forms :math:`q_g(x) = \sum_k v_k x_{i_k} x_{j_k}` are one large sparse matrix with a block for
each connected group of columns. A congruence with the diagonal (which keeps the signs of the
eigenvalues) makes the test independent of units; then

* a missing or negative diagonal decides at once,
* small blocks are tested together by their eigenvalues,
* large blocks by diagonal dominance, by a banded Cholesky factorisation, or by a sparse one.

So 100 000 columns of a diagonal or tridiagonal form cost some milliseconds.

Rows with products that are second-order cones although their form is not convex.

.. math::

    p(x) \le \gamma\, t^2,\; t \ge 0 \qquad\text{and}\qquad
    p(x) \le \gamma\, u v,\; u, v \ge 0

with a convex form p without linear terms and a bound that is not positive are convex sets. Rows
the other way round (``>=`` with all signs turned) are recognised too.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engiagent.formulations.program import OBJECTIVE, Products, Program
from engiagent.formulations.values import Floats, Ints

Bools = npt.NDArray[np.bool_]

ROUNDING = 1e-10
"""How negative an eigenvalue may be, for a matrix with ones on its diagonal: far above what
rounding does to a matrix that was computed as a product, far below what a modeller means."""
SMALL = 40
NARROW = 100


def positive_semidefinite(
    groups: Ints, first: Ints, second: Ints, values: Floats, count: int
) -> Bools:
    """Return for each of ``count`` quadratic forms whether it is convex.

    ``groups``: to which form each entry belongs, shape (k,). ``first``, ``second``, ``values``:
    columns and coefficient of each entry ``values * x[first] * x[second]``, shape (k,); no pair
    twice in one form. ``count``: how many forms there are; one without entries is convex.
    """
    result = np.ones(count, dtype=bool)
    present = values != 0
    groups, first, second, values = (v[present] for v in (groups, first, second, values))
    if not len(groups):
        return result
    width = int(max(first.max(), second.max())) + 1
    keys = np.concatenate([groups * width + first, groups * width + second])
    names, nodes = np.unique(keys, return_inverse=True)
    owner = names // width
    left, right = nodes[: len(groups)], nodes[len(groups) :]
    square = left == right
    diagonal = np.bincount(left[square], values[square], len(names))
    result[owner[diagonal < 0]] = False
    # A product of two columns needs the squares of both.
    mixed = ~square
    lonely = (diagonal[left] <= 0) | (diagonal[right] <= 0)
    result[groups[mixed & lonely]] = False
    live = mixed & result[groups]
    left, right, values, groups = left[live], right[live], values[live], groups[live]
    if not len(left):
        return result
    scale = np.sqrt(np.maximum(diagonal, 0.0))
    correlation = values / (2 * scale[left] * scale[right])
    bad = _blocks_that_fail(left, right, correlation, len(names))
    result[owner[bad]] = False
    return result


def _blocks_that_fail(left: Ints, right: Ints, values: Floats, count: int) -> Ints:
    """Return one node of every block of a matrix with unit diagonal that has an eigenvalue < 0."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((values, (left, right)), shape=(count, count))
    _, label = connected_components(graph, directed=False)
    weight = np.bincount(left, np.abs(values), count) + np.bincount(right, np.abs(values), count)
    dominant = np.ones(label.max() + 1, dtype=bool)
    dominant[label[weight > 1]] = False
    open_ = ~dominant[label[left]]
    left, right, values = left[open_], right[open_], values[open_]
    nodes: Ints = np.flatnonzero(~dominant[label])
    if not len(nodes):
        return nodes
    # Number the nodes of each open block from 0.
    order = nodes[np.argsort(label[nodes], kind="stable")]
    starts = np.flatnonzero(np.diff(label[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    block = np.zeros(count, np.int64)
    block[order] = np.repeat(np.arange(len(sizes)), sizes)
    place = np.zeros(count, np.int64)
    place[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    entries = block[left], place[left], place[right], values
    return order[starts[_failing(entries, sizes)]]


def _failing(entries: tuple[Ints, Ints, Ints, Floats], sizes: Ints) -> Bools:
    block, row, column, values = entries
    failing = np.zeros(len(sizes), dtype=bool)
    order = np.argsort(block, kind="stable")
    ends = np.searchsorted(block[order], np.arange(len(sizes) + 1))
    for size in np.unique(sizes[sizes <= SMALL]):
        chosen = np.flatnonzero(sizes == size)
        index = np.full(len(sizes), -1)
        index[chosen] = np.arange(len(chosen))
        mine = index[block] >= 0
        dense = np.tile(np.eye(size), (len(chosen), 1, 1))
        dense[index[block[mine]], row[mine], column[mine]] = values[mine]
        dense[index[block[mine]], column[mine], row[mine]] = values[mine]
        failing[chosen] = np.linalg.eigvalsh(dense)[:, 0] < -ROUNDING
    for large in np.flatnonzero(sizes > SMALL):
        part = order[ends[large] : ends[large + 1]]
        size = int(sizes[large])
        failing[large] = not _factors(row[part], column[part], values[part], size)
    return failing


def _factors(row: Ints, column: Ints, values: Floats, size: int) -> bool:
    """Whether a matrix with unit diagonal, lifted by the rounding, has a Cholesky factor."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import reverse_cuthill_mckee

    lower, upper = np.maximum(row, column), np.minimum(row, column)
    pattern = csr_array((values, (lower, upper)), shape=(size, size))
    if int((lower - upper).max()) > NARROW:
        order = reverse_cuthill_mckee(csr_array(pattern + pattern.T), symmetric_mode=True)
        place = np.empty(size, np.int64)
        place[order] = np.arange(size)
        lower, upper = (
            np.maximum(place[row], place[column]),
            np.minimum(place[row], place[column]),
        )
    width = int((lower - upper).max())
    if width <= NARROW or width > size // 4:
        return _factors_as_band(lower, upper, values, size, width)
    return _factors_sparsely(pattern, size)


def _factors_as_band(lower: Ints, upper: Ints, values: Floats, size: int, width: int) -> bool:
    from scipy.linalg import LinAlgError, cholesky_banded

    band = np.zeros((width + 1, size))
    band[0] = 1.0 + ROUNDING
    band[lower - upper, upper] = values
    try:
        cholesky_banded(band, lower=True, overwrite_ab=True, check_finite=False)
    except LinAlgError:
        return False
    return True


def _factors_sparsely(pattern: object, size: int) -> bool:
    """Factorise without exchanging pivots; all of them are positive for a positive matrix."""
    from scipy.sparse import csc_array, eye_array
    from scipy.sparse.linalg import splu

    half = csc_array(pattern)
    matrix = csc_array(half + half.T + (1.0 + ROUNDING) * eye_array(size))
    try:
        factor = splu(
            matrix,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # a pivot is exactly zero
        return False
    kept = bool(np.array_equal(factor.perm_r, factor.perm_c))
    return kept and bool(np.all(factor.U.diagonal() > 0))


@dataclass(frozen=True, eq=False)
class QuadraticRows:
    """What is known of the quadratic forms of the rows that have one, and of the objective's."""

    rows: Ints  # row numbers, ascending, ``OBJECTIVE`` first if it has products; shape (k,)
    # convex, concave: whether the form is, shape (k,)
    convex: Bools
    concave: Bools
    # upper_cone, lower_cone: whether ``form <= row_upper``, or ``form >= row_lower``, is a
    # second-order cone although the form is not convex, or concave; shape (k,)
    upper_cone: Bools
    lower_cone: Bools
    # the entry of ``program.products`` that is the cone's negative one, -1 where there is none
    head: Ints


def quadratic_rows(program: Program) -> QuadraticRows:
    """Return what the quadratic forms of a program are."""
    products = program.products
    names, groups = np.unique(products.rows, return_inverse=True)
    rows = names.astype(np.int64)
    count = len(rows)
    forms = groups, products.first, products.second
    convex = positive_semidefinite(*forms, products.values, count)
    concave = positive_semidefinite(*forms, -products.values, count)
    candidates = _cone_candidates(program, rows)
    head = np.full(count, -1)
    cones = []
    for sign, ready in ((1.0, ~convex), (-1.0, ~concave)):
        ready = ready & candidates & _limited(program, rows, sign)
        found = _heads(program, products, groups, sign, ready)
        rest = found[groups] != np.arange(len(groups))
        mine = rest & (found >= 0)[groups]
        good = positive_semidefinite(
            groups[mine],
            products.first[mine],
            products.second[mine],
            sign * products.values[mine],
            count,
        )
        cone = (found >= 0) & good
        head = np.where(cone, found, head)
        cones.append(cone)
    return QuadraticRows(rows, convex, concave, cones[0], cones[1], head)


def _cone_candidates(program: Program, rows: Ints) -> Bools:
    """Rows of a matrix without linear terms; the objective and rows with functions are none."""
    counts = np.zeros(program.row_count, np.int64)
    entries = np.repeat(np.arange(program.row_count), np.diff(program.row_starts))
    np.add.at(counts, entries[program.row_values != 0], 1)
    for part in program.nonlinear:
        inside = part.row_numbers()
        counts[inside[inside != OBJECTIVE]] += 1
    if not program.row_count:
        return np.zeros(len(rows), dtype=bool)
    return np.asarray((rows != OBJECTIVE) & (counts[np.maximum(rows, 0)] == 0))


def _limited(program: Program, rows: Ints, sign: float) -> Bools:
    """Whether rows are limited on the one side only, and by nothing above zero there."""
    if not program.row_count:
        return np.zeros(len(rows), dtype=bool)
    limit, other = program.row_upper, program.row_lower
    if sign < 0:
        limit, other = -program.row_lower, -program.row_upper
    places = np.maximum(rows, 0)
    return np.asarray((limit[places] <= 0) & np.isinf(other[places]))


def _heads(program: Program, products: Products, groups: Ints, sign: float, ready: Bools) -> Ints:
    """Return for each form its only entry that can be a cone's head, or -1."""
    count = len(ready)
    head = np.full(count, -1)
    if not ready.any():
        return head
    first, second, values = products.first, products.second, sign * products.values
    lonely = _stand_alone(groups, first, second, program.column_count)
    lower, upper = program.column_lower, program.column_upper
    above = (lower[first] >= 0) & (lower[second] >= 0)
    below = (upper[first] <= 0) & (upper[second] <= 0)
    fits = (values < 0) & lonely & (above | below) & ready[groups]
    entries = np.flatnonzero(fits)
    single = np.bincount(groups[entries], minlength=count) == 1
    entries = entries[single[groups[entries]]]
    head[groups[entries]] = entries
    return head


def _stand_alone(groups: Ints, first: Ints, second: Ints, width: int) -> Bools:
    """Whether the columns of an entry stand in no other entry of its form."""
    keys = np.concatenate([groups * width + first, (groups * width + second)[first != second]])
    names, uses = np.unique(keys, return_counts=True)

    def alone(columns: Ints) -> Bools:
        return np.asarray(uses[np.searchsorted(names, groups * width + columns)] == 1)

    return alone(first) & alone(second)
