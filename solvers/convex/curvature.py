"""Quadratic forms: whether they are convex, and what they are the sum of squares of."""

from typing import Any

import numpy as np

from engiagent.formulations.program import Products, Program
from engiagent.formulations.values import Floats

ROUNDING = 1e-10
"""How far below zero, relative to the largest, an eigenvalue may lie from rounding."""
DENSE = 400
"""How many columns of a diagonal go together."""


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
    """Return F with ``F' F`` the given symmetric matrix, None when it has negative curvature.

    ``matrix``: sparse, (n, n); it falls into blocks, each factored for itself.

    Returns F by rows, (rank, n); sparse.
    """
    from scipy.sparse import csr_array, vstack

    n = matrix.shape[0]
    pieces = []
    for columns, block in _blocks(matrix):
        rows = _dense_factor(block.toarray())
        if rows is None:
            return None
        piece = csr_array(rows).tocoo()
        place = (piece.row, columns[piece.col])
        pieces.append(csr_array((piece.data, place), shape=(piece.shape[0], n)))
    return vstack(pieces, format="csr") if pieces else csr_array((0, n))


def _blocks(matrix: Any) -> list[tuple[Any, Any]]:
    """Return the columns and the matrix of each part that hangs together."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    used = np.unique(matrix.nonzero()[1])
    if not len(used):
        return []
    inner = csr_array(matrix)[used][:, used]
    count, label = connected_components(inner, directed=False)
    if count == len(used):  # a diagonal: one block, already solved
        return [
            (used[i : i + DENSE], inner[i : i + DENSE][:, i : i + DENSE])
            for i in range(0, len(used), DENSE)
        ]
    order = np.argsort(label, kind="stable")
    groups = np.split(order, np.cumsum(np.bincount(label))[:-1])
    return [(used[group], inner[group][:, group]) for group in groups]


def _dense_factor(block: Floats) -> Floats | None:
    diagonal = np.diagonal(block)
    if np.count_nonzero(block) == np.count_nonzero(diagonal):
        return None if np.any(diagonal < 0) else np.diag(np.sqrt(diagonal))
    eigenvalues, vectors = np.linalg.eigh(block)
    largest = float(np.max(np.abs(eigenvalues)))
    if eigenvalues[0] < -ROUNDING * largest:
        return None
    keep = eigenvalues > ROUNDING * largest
    factored: Floats = np.sqrt(eigenvalues[keep])[:, None] * vectors[:, keep].T
    return factored
