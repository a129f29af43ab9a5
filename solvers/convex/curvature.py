r"""Quadratic forms: whether they are convex, as sums of squares and as second-order cones.

A row whose quadratic form is convex on its side is :math:`x^T Q x = |F x|^2`. A row whose form has
one negative eigenvalue once the right-hand side and the linear terms are taken in,
:math:`|F (x, 1)|^2 \le (v^T (x, 1))^2`, is a cone where the bounds say on which side of zero
:math:`v^T (x, 1)` lies, as in :math:`x^2 \le y z` with y and z at least 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Products, Program
from engiagent.formulations.values import Floats, Form, Ints, Term
from engiagent.solvers.convex.derivatives import affine_matrix
from engiagent.solvers.validate import place_of

ROUNDING = 1e-10
"""How far below zero, relative to the largest, an eigenvalue may lie from rounding."""


def hessian(products: Products, count: int) -> Any:
    """Return the symmetric matrix P with ``x' P x / 2`` the sum of the products, (count, count)."""
    from scipy.sparse import coo_array

    half = coo_array((products.values, (products.first, products.second)), shape=(count, count))
    matrix = (half + half.T).tocsr()
    matrix.eliminate_zeros()
    return matrix


def of_objective(program: Program) -> Any:
    """Return the Hessian of the objective's products, in its own sense, (n, n)."""
    return hessian(program.products.of_objective(), program.column_count)


def factor(matrix: Any) -> Any | None:
    """Return F with ``F' F`` the given symmetric matrix, None when it has negative curvature."""
    from scipy.sparse import csr_array, diags_array

    diagonal = matrix.diagonal()
    if matrix.count_nonzero() == np.count_nonzero(diagonal):
        return None if np.any(diagonal < 0) else csr_array(diags_array(np.sqrt(diagonal)))
    eigenvalues, vectors = np.linalg.eigh(matrix.toarray())
    largest = float(np.max(np.abs(eigenvalues)))
    if eigenvalues[0] < -ROUNDING * largest:
        return None
    keep = eigenvalues > ROUNDING * largest
    return csr_array(np.sqrt(eigenvalues[keep])[:, None] * vectors[:, keep].T)


Sums = tuple[Any, float, Any, Any]
"""Rows, the side on which they are convex, F of all of them and the place of each row of F."""


@dataclass(frozen=True, eq=False)
class Cone:
    """A row that holds where ``|body| <= height``; ``side`` is -1 when its lower bound counts."""

    row: int
    side: float
    height: Form
    body: Form


def quadratic_rows(program: Program, solver: str) -> tuple[list[Sums], list[Cone]]:
    """Return the rows that are sums of squares, and those that are cones; refuse any other."""
    from scipy.sparse import csr_array, vstack

    products = program.products.of_rows()
    order = np.argsort(products.rows, kind="stable")
    rows, starts = np.unique(products.rows[order], return_index=True)
    found: dict[float, list[tuple[int, Any]]] = {1.0: [], -1.0: []}
    cones: list[Cone] = []
    for row, places in zip(rows.tolist(), np.split(order, starts)[1:], strict=True):
        names = ("rows", "first", "second", "values")
        mine = Products(*(getattr(products, name)[places] for name in names))
        root, side = _squares(program, mine, row)
        if root is not None:
            found[side].append((row, root))
            continue
        cone = None
        if np.isinf(program.row_lower[row]) or np.isinf(program.row_upper[row]):
            cone = _cone_of_row(program, mine, row, side)
        if cone is None:
            raise EngiagentError(
                f"{solver} cannot take this program: the row "
                f"{place_of(program, program.rows, row)} has products of variables that are "
                "neither convex there nor a second-order cone; SCIP or IPOPT take it"
            )
        cones.append(Cone(row, side, *cone))
    sums = []
    for side, members in found.items():
        if members:
            roots = [root for _, root in members]
            number = np.repeat(np.arange(len(roots)), [root.shape[0] for root in roots])
            numbers = np.array([row for row, _ in members])
            sums.append((numbers, side, csr_array(vstack(roots, format="csr")), number))
    return sums, cones


def _squares(program: Program, products: Products, row: int) -> tuple[Any | None, float]:
    """Return F of a row's products over all columns, None when they are not convex; its side."""
    from scipy.sparse import csr_array

    side = 1.0 if np.isinf(program.row_lower[row]) else -1.0
    columns, local = np.unique(
        np.concatenate([products.first, products.second]), return_inverse=True
    )
    first, second = np.split(local, 2)
    inner = Products(products.rows, first, second, products.values)
    root = factor(side * hessian(inner, len(columns)) / 2)
    if root is None:
        return None, side
    entries = root.tocoo()
    shape = (root.shape[0], program.column_count)
    return csr_array((entries.data, (entries.row, columns[entries.col])), shape=shape), side


def interval(form: Form, program: Program) -> tuple[Floats, Floats]:
    """Return what bounds of columns say about an affine form; (size,) each."""
    matrix = affine_matrix(form, program.column_count)
    up, down = matrix.maximum(0), matrix.minimum(0)
    lower, upper = program.column_lower, program.column_upper
    low = _times(up, lower) + _times(down, upper) + form.constant
    high = _times(up, upper) + _times(down, lower) + form.constant
    return low, high


def _times(matrix: Any, bounds: Floats) -> Floats:
    """Return a matrix product in which a zero coefficient ignores an infinite bound."""
    entries = matrix.tocoo()
    used = entries.data != 0
    values = entries.data[used] * bounds[entries.col[used]]
    return np.bincount(entries.row[used], values, entries.shape[0]).astype(np.float64)


def _cone_of_row(
    program: Program, products: Products, row: int, side: float
) -> tuple[Form, Form] | None:
    """Return v (size 1) and F with ``|F| <= v`` just where the row holds; None for no cone."""
    if any(np.any(part.row_numbers() == row) for part in program.nonlinear):
        return None
    limit = program.row_upper[row] if side > 0 else program.row_lower[row]
    form, columns = _homogeneous(program, products, row, side, limit)
    eigenvalues, vectors = np.linalg.eigh(form)
    largest = float(np.max(np.abs(eigenvalues)))
    negative = eigenvalues < -ROUNDING * largest
    if np.count_nonzero(negative) != 1:
        return None
    axis = np.sqrt(-eigenvalues[0]) * vectors[:, 0]
    positive = eigenvalues > ROUNDING * largest
    body = np.sqrt(eigenvalues[positive])[:, None] * vectors[:, positive].T
    # Coefficients of pure rounding would meet infinite bounds.
    axis[np.abs(axis) <= 1e-12 * np.max(np.abs(axis))] = 0.0
    for direction in (1.0, -1.0):
        height = _dense_form(direction * axis[None, :], columns)
        if interval(height, program)[0][0] >= -ROUNDING * np.sqrt(largest):
            return height, _dense_form(body, columns)
    return None


def _homogeneous(
    program: Program, products: Products, row: int, side: float, limit: float
) -> tuple[Floats, Ints]:
    """Return ``side (x'Qx + q'x - limit)`` as a matrix over the columns used and 1."""
    entries = slice(program.row_starts[row], program.row_starts[row + 1])
    linear = program.row_columns[entries]
    used = np.concatenate([products.first, products.second, linear])
    columns: Ints = np.unique(used).astype(np.int64)
    size = len(columns) + 1
    form = np.zeros((size, size))
    first, second = (np.searchsorted(columns, c) for c in (products.first, products.second))
    np.add.at(form, (first, second), products.values / 2)
    np.add.at(form, (second, first), products.values / 2)
    places = np.searchsorted(columns, linear)
    form[places, -1] += program.row_values[entries] / 2
    form[-1, places] += program.row_values[entries] / 2
    form[-1, -1] = -limit
    return side * form, columns


def _dense_form(rows: Floats, columns: Ints) -> Form:
    count, width = rows.shape
    numbers = np.repeat(np.arange(count), width - 1)
    places: Ints = np.tile(columns, count).astype(np.int64)
    term = Term(numbers, places, rows[:, :-1].ravel())
    return Form(count, rows[:, -1].copy(), (term,))
