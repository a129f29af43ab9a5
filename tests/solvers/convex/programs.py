"""Programs made by hand: from forms, and at random with a known feasible point."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy.sparse import csr_array

from engiagent.formulations.program import ColumnBlock, Products, Program, RowBlock
from engiagent.formulations.values import Atom, Form, Part, Term, applied, constant, variables
from engiagent.solvers.convex.optimality import affine_matrix

Sense = Literal["minimize", "maximize"]
Entries = Sequence[tuple[int, int, int, float]]


def column(j: int) -> Form:
    return variables(np.array([j]))


def function(name: str, *args: Form, numbers: tuple[Any, ...] = ()) -> Form:
    values = tuple(np.asarray(value, dtype=np.float64) for value in numbers)
    return applied(Atom(name, args[0].size, args, numbers=values, origin=f"the {name}"))


def stack(*forms: Form) -> Form:
    total = constant(np.zeros(len(forms)), len(forms))
    for place, form in enumerate(forms):
        total = total + form.group_sum(np.array([place]), len(forms))
    return total


def make(
    lower: Any,
    upper: Any,
    objective: Form,
    rows: Sequence[tuple[Form, float, float]] = (),
    *,
    products: Entries = (),
    sense: Sense = "minimize",
    integers: Sequence[int] = (),
) -> Program:
    """Return a program from forms of size 1; products are (row, first, second, value)."""
    lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
    n, m = len(lower), len(rows)
    numbered = [*((i, form) for i, (form, _, _) in enumerate(rows)), (-1, objective)]
    parts = [
        Part(np.full(part.atom.size, i), np.asarray(part.coefficients), part.atom)
        for i, form in numbered
        for part in form.parts
    ]
    matrix = csr_array((m, n)) if not rows else affine_matrix(stack(*(r[0] for r in rows)), n)
    shift = np.array([float(np.ravel(form.constant)[0]) for form, _, _ in rows])
    entries = sorted((r, max(i, j), min(i, j), v) for r, i, j, v in products)
    integrality = np.zeros(n, dtype=bool)
    integrality[list(integers)] = True
    return Program(
        sense=sense,
        cost=affine_matrix(objective, n).toarray()[0],
        offset=float(np.ravel(objective.constant)[0]),
        column_lower=lower,
        column_upper=upper,
        integrality=integrality,
        row_starts=matrix.indptr.astype(np.int64),
        row_columns=matrix.indices.astype(np.int64),
        row_values=matrix.data,
        row_lower=np.array([low for _, low, _ in rows], dtype=float) - shift,
        row_upper=np.array([high for _, _, high in rows], dtype=float) - shift,
        products=Products(
            np.array([e[0] for e in entries], dtype=np.int64),
            np.array([e[1] for e in entries], dtype=np.int64),
            np.array([e[2] for e in entries], dtype=np.int64),
            np.array([e[3] for e in entries], dtype=float),
        ),
        nonlinear=tuple(parts),
        columns=(ColumnBlock(name="x", start=0, stop=n, unit="1", sets=("J",), shape=(n,)),),
        rows=tuple(
            RowBlock(name=f"row {i}", constraint_id=f"C{i}", start=i, stop=i + 1, unit="1")
            for i in range(m)
        ),
    )


def affine(coefficients: Any, shift: float = 0.0) -> Form:
    values = np.asarray(coefficients, dtype=float)
    places = np.zeros(len(values), dtype=np.int64)
    return Form(1, np.array([shift]), (Term(places, np.arange(len(values)), values),))


def random_quadratic(
    seed: int, n: int = 12, m: int = 8, sense: Sense = "minimize", linear: bool = False
) -> Program:
    """Return a feasible convex quadratic program with rows of every kind."""
    random = np.random.default_rng(seed)
    matrix = random.normal(size=(m, n)) * (random.random((m, n)) < 0.6)
    point = random.normal(size=n)
    activity = matrix @ point
    low, high = activity - random.random(m), activity + random.random(m)
    kind = random.integers(0, 4, m)
    low[kind == 0], high[kind == 1] = -np.inf, np.inf
    low[kind == 2] = high[kind == 2] = activity[kind == 2]
    factor = random.normal(size=(5, n))
    curvature = factor.T @ factor
    sign = -1.0 if sense == "maximize" else 1.0
    i, j = np.tril_indices(0 if linear else n)
    rows = csr_array(matrix)
    empty = make(
        point - 2 * random.random(n), point + 2 * random.random(n), affine(random.normal(size=n))
    )
    return replace(
        empty,
        sense=sense,
        offset=3.0,
        row_starts=rows.indptr,
        row_columns=rows.indices,
        row_values=rows.data,
        row_lower=low,
        row_upper=high,
        products=Products(
            np.full(len(i), -1), i, j, sign * np.where(i == j, 0.5, 1.0) * curvature[i, j]
        ),
        rows=(RowBlock(name="C", constraint_id="C", start=0, stop=m, unit="1", shape=(m,)),),
    )


def close(actual: Any, expected: Any, *, rtol: float = 1e-7, atol: float = 0.0) -> None:
    """Compare arrays; what a result lacks is no array and fails."""
    assert actual is not None
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=atol)
