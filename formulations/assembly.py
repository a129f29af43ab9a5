"""Stacking forms into the arrays of a program."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engiagent.formulations.lowering.products import merged, shifted, split
from engiagent.formulations.program import NO_PRODUCTS, OBJECTIVE, Products
from engiagent.formulations.values import Floats, Form, Part

Index = npt.NDArray[np.int32]


def assembled(forms: Sequence[Form], column_count: int) -> tuple[Index, Index, Floats]:
    """Return the CSR arrays of stacked affine forms; a column's terms in one row are added."""
    from scipy.sparse import coo_array

    rows, columns, coefficients = [], [], []
    start = 0
    for form in forms:
        for term in form.terms:
            rows.append(term.row_numbers() + start)
            columns.append(term.columns)
            coefficients.append(np.broadcast_to(term.coefficients, term.columns.shape))
        start += form.size
    if not rows:
        return np.zeros(start + 1, dtype=np.int32), np.zeros(0, dtype=np.int32), np.zeros(0)
    entries = (np.concatenate(rows).astype(np.int32), np.concatenate(columns).astype(np.int32))
    matrix = coo_array((np.concatenate(coefficients), entries), shape=(start, column_count)).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix.indptr, matrix.indices, matrix.data


def separated(
    forms: Sequence[Form], objective: Form
) -> tuple[list[Form], Form, Products, tuple[Part, ...]]:
    """Take products of two columns and nonlinear parts out of stacked forms and the objective.

    Returns the affine forms, the affine objective, and the products and parts of both with the
    row numbers of the stack.
    """
    products: list[Products] = []
    parts: list[Part] = []
    affine: list[Form] = []
    start = 0
    for form in [*forms, objective]:
        offset = OBJECTIVE if form is objective else start
        if form.parts:
            plain, pairs, rest = split(form)
            if pairs is not None:
                products.append(shifted(pairs, offset))
            parts += [Part(p.row_numbers() + offset, _all(p), p.atom) for p in rest]
            affine.append(plain)
        else:
            affine.append(form)
        start += form.size
    goal = affine.pop()
    return affine, goal, merged(products) if products else NO_PRODUCTS, tuple(parts)


def _all(part: Part) -> Floats:
    return np.array(np.broadcast_to(part.coefficients, (part.atom.size,)), dtype=np.float64)


def costs(form: Form, column_count: int) -> tuple[Floats, float]:
    """Return the coefficients and the constant of an affine form of one row."""
    cost = np.zeros(column_count)
    for term in form.terms:
        weights = np.broadcast_to(term.coefficients, term.columns.shape)
        cost += np.bincount(term.columns, weights, column_count)
    return cost, float(np.broadcast_to(form.constant, (1,))[0])
