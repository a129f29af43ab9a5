"""Quadratic forms: whether they are convex, and what they are the sum of squares of."""

from typing import Any

import numpy as np

from engiagent.formulations.program import Products, Program
from engiagent.formulations.values import Floats

ROUNDING = 1e-10
"""How far below zero, relative to the largest, an eigenvalue may lie from rounding."""
DENSE = 400
"""Largest block whose eigenvalues are computed; larger ones are factored sparsely."""


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

    Parameters
    ----------
    matrix
        Sparse, (n, n); it falls into blocks, each factored for itself.

    Returns
    -------
    F by rows, (rank, n); sparse.
    """
    from scipy.sparse import csr_array, vstack

    n = matrix.shape[0]
    pieces = []
    for columns, block in _blocks(matrix):
        rows = _dense_factor(block.toarray()) if len(columns) <= DENSE else _sparse_factor(block)
        if rows is None:
            return None
        piece = csr_array(rows).tocoo()
        place = (piece.row, columns[piece.col])
        pieces.append(csr_array((piece.data, place), shape=(piece.shape[0], n)))
    return vstack(pieces, format="csr") if pieces else csr_array((0, n))


def is_positive(matrix: Any) -> bool:
    """Return whether a sparse symmetric matrix has no negative curvature."""
    if matrix.nnz == 0:
        return True
    if np.any(matrix.diagonal() < 0):
        return False
    if matrix.nnz == np.count_nonzero(matrix.diagonal()):
        return True
    return factor(matrix) is not None


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


def _sparse_factor(block: Any) -> Any | None:
    """Factor a large block by elimination without row exchanges; singular ones are done densely."""
    from scipy.sparse import csr_array, diags_array
    from scipy.sparse.linalg import splu

    try:
        found = splu(
            block.tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # exactly singular
        return _dense_factor(block.toarray())
    pivots = found.U.diagonal()
    if not np.array_equal(found.perm_r, found.perm_c) or np.any(
        np.abs(pivots) <= 1e-8 * np.max(np.abs(pivots))
    ):
        return _dense_factor(block.toarray())
    if np.any(pivots < 0):
        return None
    back = np.asarray(found.perm_c)
    return csr_array(diags_array(np.sqrt(pivots)) @ found.L.T.tocsr())[:, back]
