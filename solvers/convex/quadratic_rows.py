r"""Rows with products as second-order cones.

A row whose quadratic form is convex on its side, :math:`x^T Q x = |F x|^2`, gets a column w above
the form and stays linear in w:

.. math:: |F x|^2 \le w \iff |(2 F x, w - 1)| \le w + 1

A row whose form has one negative eigenvalue once the right-hand side and the linear terms are
taken in, :math:`|F (x, 1)|^2 \le (v^T (x, 1))^2`, is a cone where the bounds say on which side of
zero :math:`v^T (x, 1)` lies, as in :math:`x^2 \le y z` with y and z at least 0.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Products, Program
from engiagent.formulations.values import Floats, Form, Ints, Term, constant
from engiagent.solvers.convex.curvature import ROUNDING, factor, hessian
from engiagent.solvers.convex.reduction import Reduction
from engiagent.solvers.validate import place_of


@dataclass(frozen=True, eq=False)
class Head:
    """A row that became a cone as a whole.

    Attributes
    ----------
    row, cone
        Its number, and the number of its second-order cone.
    height
        The head of the cone, a form of size 1.
    side
        -1 when the upper bound of the row counts, 1 when the lower one does.
    """

    row: int
    cone: int
    height: Form
    side: float


def reduce_quadratic_rows(program: Program, reduction: Reduction) -> tuple[Form, tuple[Head, ...]]:
    """Turn the products of the rows into cones.

    Returns
    -------
    What takes the products' place in the rows (size m), and the rows that became cones.

    Raises
    ------
    EngiagentError
        When a row is neither convex nor a cone, naming it.
    """
    total = constant(0.0, program.row_count)
    products = program.products.of_rows()
    heads: list[Head] = []
    squares, mixed = _split(program, products)
    for side, rows in squares.items():
        if len(rows):
            total = total + _squares(program, products, rows, side, reduction)
    for row in mixed.tolist():
        found = _general(program, products, row, reduction)
        if isinstance(found, Head):
            heads.append(found)
        else:
            total = total + found
    return total, tuple(heads)


def _split(program: Program, products: Products) -> tuple[dict[float, Ints], Ints]:
    """Tell rows of squares, by the side they are convex on, from those that need a look each."""
    m = program.row_count
    plain = products.first == products.second
    has = np.bincount(products.rows, minlength=m) > 0
    cross = np.bincount(products.rows, ~plain, m) > 0
    falls = np.bincount(products.rows, products.values < 0, m) > 0
    rises = np.bincount(products.rows, products.values > 0, m) > 0
    no_lower, no_upper = np.isinf(program.row_lower), np.isinf(program.row_upper)
    above = has & ~cross & ~falls & no_lower
    below = has & ~cross & ~rises & no_upper & ~above
    rest = has & ~above & ~below & ~(no_lower & no_upper)
    return {1.0: np.flatnonzero(above), -1.0: np.flatnonzero(below)}, np.flatnonzero(rest)


def _squares(
    program: Program, products: Products, rows: Ints, side: float, reduction: Reduction
) -> Form:
    """Return ``side * w`` in the rows, with a cone for each: all rows at once."""
    keep = np.isin(products.rows, rows)
    number = np.searchsorted(rows, products.rows[keep])
    weights = np.sqrt(side * products.values[keep])
    order = np.argsort(number, kind="stable")
    inner = Form(
        len(order), np.zeros(()), (Term(None, products.first[keep][order], weights[order]),)
    )
    above = reduction.columns(len(rows), 0.0)
    _add_cones(reduction, above, inner, number[order])
    return (above * side).scatter(rows, program.row_count)


def _add_cones(reduction: Reduction, above: Form, inner: Form, number: Ints) -> None:
    """Demand for each element of ``above`` that it is at least the sum of its squares."""
    count = above.size
    widths = np.bincount(number, minlength=count)
    starts = np.cumsum(widths + 2) - (widths + 2)
    within = np.arange(inner.size) - np.repeat(np.cumsum(widths) - widths, widths)
    size = int((widths + 2).sum())
    full = Form(inner.size, np.broadcast_to(inner.constant, (inner.size,)), inner.terms)
    cones = (
        _dense(above + 1.0).scatter(starts, size)
        + _dense(above - 1.0).scatter(starts + 1, size)
        + (full * 2.0).scatter(starts[number] + 2 + within, size)
    )
    reduction.second_order.append(cones)
    reduction.second_order_sizes.append((widths + 2).astype(np.int64))


def _dense(form: Form) -> Form:
    return Form(form.size, np.broadcast_to(form.constant, (form.size,)), form.terms)


def _general(program: Program, products: Products, row: int, reduction: Reduction) -> Form | Head:
    chosen = products.rows == row
    mine = Products(
        products.rows[chosen],
        products.first[chosen],
        products.second[chosen],
        products.values[chosen],
    )
    matrix = hessian(mine, program.column_count) / 2.0
    for side, other in ((1.0, program.row_lower[row]), (-1.0, program.row_upper[row])):
        if np.isfinite(other):
            continue
        root = factor(side * matrix)
        if root is not None:
            above = reduction.columns(1, 0.0)
            zeros = np.zeros(root.shape[0], dtype=np.int64)
            _add_cones(reduction, above, _as_form(root), zeros)
            return (above * side).scatter(np.array([row]), program.row_count)
        found = _cone(program, mine, row, side, reduction)
        if found is not None:
            return found
    raise EngiagentError(
        f"{reduction.solver} cannot take this program: the row "
        f"{place_of(program, program.rows, row)} has products of variables that are neither convex "
        "there nor a second-order cone; SCIP or IPOPT take it"
    )


def _cone(
    program: Program, products: Products, row: int, side: float, reduction: Reduction
) -> Head | None:
    """Return the row as one cone when its form has one negative eigenvalue and a known sign."""
    found = cone_of_row(program, products, row, side, reduction)
    if found is None:
        return None
    stack = found[0] if found[1].size == 0 else _stacked(*found)
    cone = int(sum(len(sizes) for sizes in reduction.second_order_sizes))
    reduction.second_order.append(stack)
    reduction.second_order_sizes.append(np.array([stack.size], dtype=np.int64))
    return Head(row, cone, found[0], -side)


def cone_of_row(
    program: Program, products: Products, row: int, side: float, reduction: Reduction
) -> tuple[Form, Form] | None:
    """Return affine forms v (size 1) and F with ``|F| <= v`` just where the row holds.

    Parameters
    ----------
    products
        Those of the row.
    side
        1 for its upper bound, -1 for its lower one.

    Returns
    -------
    None when the row is no cone, or the bounds of columns do not tell on which side of zero v is.
    """
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
        if reduction.interval(height)[0][0] >= -ROUNDING * np.sqrt(largest):
            return height, _dense_form(body, columns)
    return None


def _stacked(head: Form, body: Form) -> Form:
    size = 1 + body.size
    below = np.arange(1, size)
    return _dense(head).scatter(np.array([0]), size) + _dense(body).scatter(below, size)


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


def _as_form(matrix: Any) -> Form:
    entries = matrix.tocoo()
    term = Term(entries.row, entries.col, entries.data)
    return Form(matrix.shape[0], np.zeros(matrix.shape[0]), (term,))
