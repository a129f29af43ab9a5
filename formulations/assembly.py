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
    pieces = [_interleaved(form) or _sorted(form, column_count) for form in forms]
    counts = [np.broadcast_to(piece[0], (f.size,)) for piece, f in zip(pieces, forms, strict=True)]
    starts = np.zeros(sum(form.size for form in forms) + 1, dtype=np.int32)
    if not pieces:
        return starts, np.zeros(0, dtype=np.int32), np.zeros(0)
    np.cumsum(np.concatenate(counts), out=starts[1:])
    columns, values = (np.concatenate([piece[k] for piece in pieces]) for k in (1, 2))
    return starts, columns, values


def _interleaved(form: Form) -> tuple[Index | int, Index, Floats] | None:
    """Return the rows of a form whose terms have one column in every row, each after the other.

    Almost every form is of this kind, and needs no sorting. The result is how many coefficients
    each row has, their columns and they themselves; None for a form of another kind.
    """
    size, terms = form.size, sorted(form.terms, key=lambda term: int(term.columns[:1].sum()))
    if any(term.rows is not None for term in terms):
        return None
    columns = np.empty((size, len(terms)), dtype=np.int32)
    values = np.empty(columns.shape)
    for place, term in enumerate(terms):
        columns[:, place] = term.columns
        values[:, place] = term.coefficients
        if place and not (columns[:, place - 1] < columns[:, place]).all():
            return None
    if values.all():
        return len(terms), columns.reshape(-1), values.reshape(-1)
    there = values != 0
    return there.sum(axis=1, dtype=np.int32), columns[there], values[there]


def _sorted(form: Form, column_count: int) -> tuple[Index | int, Index, Floats]:
    """Return the rows of any affine form, as :func:`_interleaved` does."""
    from scipy.sparse import coo_array

    rows = np.concatenate([term.row_numbers() for term in form.terms]).astype(np.int32)
    columns = np.concatenate([term.columns for term in form.terms]).astype(np.int32)
    values = np.concatenate(
        [np.broadcast_to(term.coefficients, term.columns.shape) for term in form.terms]
    )
    matrix = coo_array((values, (rows, columns)), shape=(form.size, column_count)).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return np.diff(matrix.indptr), matrix.indices, matrix.data


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
        if not len(term.columns):
            continue
        first = int(term.columns.min())
        weights = np.broadcast_to(term.coefficients, term.columns.shape)
        counted = np.bincount(term.columns - first, weights)
        cost[first : first + len(counted)] += counted
    return cost, float(np.broadcast_to(form.constant, (1,))[0])
