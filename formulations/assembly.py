"""Stacking forms into the arrays of a program."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from engiagent.formulations.lowering.products import merged, shifted, split
from engiagent.formulations.program import NO_PRODUCTS, OBJECTIVE, Products
from engiagent.formulations.values import Floats, Form, Part, Term

Index = npt.NDArray[np.int32]


def assembled(forms: Sequence[Form], column_count: int) -> tuple[Index, Index, Floats]:
    """Return the CSR arrays of stacked affine forms; a column's terms in one row are added."""
    pieces = [_interleaved(form) or _sorted(form, column_count) for form in forms]
    starts = np.zeros(sum(form.size for form in forms) + 1, dtype=np.int32)
    sizes = [piece.size for piece in pieces]
    columns, values = np.empty(sum(sizes), dtype=np.int32), np.empty(sum(sizes))
    row = place = 0
    for form, piece, size in zip(forms, pieces, sizes, strict=True):
        starts[row + 1 : row + 1 + form.size] = piece.counts
        piece.write(columns[place : place + size], values[place : place + size])
        row, place = row + form.size, place + size
    np.cumsum(starts, out=starts)
    return starts, columns, values


@dataclass(frozen=True, eq=False)
class _Sorted:
    """Rows in full: how many coefficients each row has, their columns and they themselves."""

    counts: Index
    columns: Index
    values: Floats

    @property
    def size(self) -> int:
        return len(self.values)

    def write(self, columns: Index, values: Floats) -> None:
        columns[:], values[:] = self.columns, self.values


@dataclass(frozen=True, eq=False)
class _Interleaved:
    """Rows with one coefficient of each term, in the terms' order; none is zero.

    Almost every form is of this kind. It needs no sorting, and no arrays but the program's own.
    """

    rows: int
    terms: Sequence[Term]

    @property
    def counts(self) -> int:
        return len(self.terms)

    @property
    def size(self) -> int:
        return self.rows * len(self.terms)

    def write(self, columns: Index, values: Floats) -> None:
        for place, term in enumerate(self.terms):
            columns[place :: len(self.terms)] = term.columns
            values[place :: len(self.terms)] = term.coefficients


def _interleaved(form: Form) -> "_Interleaved | _Sorted | None":
    """Return a form whose terms have one column in every row, each after the other, else None."""
    terms = sorted(form.terms, key=lambda term: int(term.columns[:1].sum()))
    if any(term.rows is not None for term in terms):
        return None
    if not all((a.columns < b.columns).all() for a, b in pairwise(terms)):
        return None
    regular = _Interleaved(form.size, terms)
    if all(np.all(term.coefficients) for term in terms):
        return regular
    columns, values = np.empty(regular.size, dtype=np.int32), np.empty(regular.size)
    regular.write(columns, values)
    there = values != 0
    counts = there.reshape(form.size, len(terms)).sum(axis=1, dtype=np.int32)
    return _Sorted(counts, columns[there], values[there])


def _sorted(form: Form, column_count: int) -> _Sorted:
    """Return the rows of any affine form."""
    from scipy.sparse import coo_array

    rows = np.concatenate([term.row_numbers() for term in form.terms]).astype(np.int32)
    columns = np.concatenate([term.columns for term in form.terms]).astype(np.int32)
    values = np.concatenate(
        [np.broadcast_to(term.coefficients, term.columns.shape) for term in form.terms]
    )
    matrix = coo_array((values, (rows, columns)), shape=(form.size, column_count)).tocsr()
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return _Sorted(np.diff(matrix.indptr), matrix.indices, matrix.data)


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
        np.add.at(cost, term.columns, term.coefficients)
    return cost, float(np.broadcast_to(form.constant, (1,))[0])
