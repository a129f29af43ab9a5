"""Quadratic forms: whether they are convex, and rows that are sums of squares.

A row whose quadratic form is convex on its side is :math:`x^T Q x = |F x|^2`.
"""

from typing import Any

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Products, Program
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


def sums_of_squares(program: Program) -> list[Sums]:
    """Return the rows with products as sums of squares; refuse any other by name."""
    from scipy.sparse import csr_array, vstack

    products = program.products.of_rows()
    found: dict[float, list[tuple[int, Any]]] = {1.0: [], -1.0: []}
    for row in np.unique(products.rows).tolist():
        here = np.flatnonzero(products.rows == row)
        side = 1.0 if np.isinf(program.row_lower[row]) else -1.0
        pairs = np.stack([products.first[here], products.second[here]])
        columns, (first, second) = np.unique(pairs, return_inverse=True)
        inner = Products(products.rows[here], first, second, products.values[here])
        root = factor(side * hessian(inner, len(columns)) / 2)
        if root is None:
            raise EngiagentError(
                f"CVXPY cannot take this program: the row {place_of(program, program.rows, row)} "
                "has products of variables that are not convex there; SCIP or IPOPT take it"
            )
        entries = root.tocoo()
        shape = (root.shape[0], program.column_count)
        places = (entries.row, columns[entries.col])
        found[side].append((row, csr_array((entries.data, places), shape=shape)))
    sums = []
    for side, members in found.items():
        if members:
            roots = [root for _, root in members]
            number = np.repeat(np.arange(len(roots)), [root.shape[0] for root in roots])
            rows = np.array([row for row, _ in members])
            sums.append((rows, side, csr_array(vstack(roots, format="csr")), number))
    return sums
