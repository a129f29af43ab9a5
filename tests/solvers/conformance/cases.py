"""Small programs whose answers are known on paper, for every solver."""

from dataclasses import dataclass
from importlib.util import find_spec
from math import e, sqrt
from typing import Any

import numpy as np

from engiagent.formulations.program import ColumnBlock, Indicators, Products, Program, RowBlock
from engiagent.formulations.values import Atom, Form, Part, Term
from engiagent.solvers.adapter import Adapter
from engiagent.solvers.registry import BACKENDS, adapter
from engiagent.solvers.selection import refusals

INF = np.inf
SPECIAL = ("chain", "exclusive")
"""Backends that take programs of one structure only, or are made of others."""

ALL = [
    name
    for name, module in BACKENDS.items()
    if name not in SPECIAL and find_spec(module) is not None
] + ["pyomo:highs", "pyomo:scip_direct"]


def make(
    cost: Any,
    rows: Any = (),
    *,
    bounds: Any = None,
    whole: Any = (),
    squares: Any = (),
    **more: Any,
) -> Program:
    """Return a program from rows ``(coefficients, lower, upper)``.

    ``bounds`` are pairs per column (0 and 100 by default), ``whole`` lists columns of whole
    numbers, ``squares`` products as ``(row, column, column, value)``.
    """
    n, m = len(cost), len(rows)
    a = np.array([row[0] for row in rows], dtype=float).reshape(m, n)
    places, columns = np.nonzero(a)
    limits = np.array(bounds if bounds is not None else [(0, 100)] * n, dtype=float).reshape(n, 2)
    entries = sorted((row, max(i, j), min(i, j), value) for row, i, j, value in squares)
    integrality = np.zeros(n, dtype=bool)
    integrality[list(whole)] = True
    values: dict[str, Any] = {
        "sense": "minimize",
        "cost": np.array(cost, dtype=float),
        "column_lower": limits[:, 0].copy(),
        "column_upper": limits[:, 1].copy(),
        "integrality": integrality,
        "row_starts": np.concatenate([[0], np.cumsum(np.bincount(places, minlength=m))]),
        "row_columns": columns,
        "row_values": a[places, columns],
        "row_lower": np.array([row[1] for row in rows], dtype=float),
        "row_upper": np.array([row[2] for row in rows], dtype=float),
        "products": Products(
            np.array([x[0] for x in entries], np.int64),
            np.array([x[1] for x in entries], np.int64),
            np.array([x[2] for x in entries], np.int64),
            np.array([x[3] for x in entries], np.float64),
        ),
        "columns": (ColumnBlock(name="x", start=0, stop=n, unit="1", sets=("J",), shape=(n,)),),
        "rows": (
            RowBlock(
                name="c", constraint_id="C", start=0, stop=m, unit="1", sets=("R",), shape=(m,)
            ),
        ),
    } | more
    return Program(**values)


def affine(coefficients: dict[int, float], constant: float = 0.0) -> Form:
    """Return an affine form of one row."""
    columns, values = list(coefficients), list(coefficients.values())
    terms = Term(np.zeros(len(columns), np.int64), np.array(columns), np.array(values, float))
    return Form(1, np.array(constant), (terms,) if columns else ())


def function(name: str, *arguments: Form, row: int = -1, factor: float = 1.0, **more: Any) -> Part:
    """Return a function of forms of one row, in the objective or in a row."""
    return Part(np.array([row]), np.array([factor]), Atom(name, 1, arguments, **more))


X, Y = affine({0: 1.0}), affine({1: 1.0})
FREE = (-INF, INF)


@dataclass(frozen=True)
class Case:
    """A program and its best objective."""

    name: str
    program: Program
    best: float


CASES = [
    Case(
        "LP: textbook",
        make(
            [3, 5],
            [([1, 0], -INF, 4), ([0, 2], -INF, 12), ([3, 2], -INF, 18)],
            sense="maximize",
            offset=7.0,
        ),
        43,
    ),
    Case("LP: equation and ranged row", make([1, 2], [([1, 1], 3, 3), ([1, -1], -1, 2)]), 3.5),
    Case(
        "LP: free columns",
        make([1, 0], [([1, -1], 0, INF), ([1, 1], 2, INF)], bounds=[FREE, FREE]),
        1,
    ),
    Case("LP: nothing to decide", make([], [([], -1, 1)], offset=4.0), 4),
    Case("LP: rows without terms", make([1], [([0], -1, 1), ([1], 2, INF)]), 2),
    Case(
        "QP: nearest point",
        make([0, 0], [([1, 1], 1, INF)], squares=[(-1, 0, 0, 1), (-1, 1, 1, 1)]),
        0.5,
    ),
    Case(
        "SOCP: disk",
        make(
            [1, 1], [([0, 0], -INF, 2)], bounds=[FREE, FREE], squares=[(0, 0, 0, 1), (0, 1, 1, 1)]
        ),
        -2,
    ),
    Case(
        "SOCP: cone",
        make(
            [0, 0, 1],
            [([1, 1, 0], 2, INF), ([0, 0, 0], -INF, 0)],
            squares=[(1, 0, 0, 1), (1, 1, 1, 1), (1, 2, 2, -1)],
        ),
        sqrt(2),
    ),
    Case(
        "MILP: knapsack",
        make(
            [5, 4, 3],
            [([2, 3, 1], -INF, 5), ([4, 1, 2], -INF, 11)],
            sense="maximize",
            bounds=[(0, 10)] * 3,
            whole=[0, 1, 2],
        ),
        15,
    ),
    Case(
        "MIQP: nearest whole number",
        make([-2.8], squares=[(-1, 0, 0, 1)], whole=[0], offset=1.96),
        0.16,
    ),
    Case(
        "NLP: catenary",
        make(
            [0],
            bounds=[(-3, 3)],
            nonlinear=(function("exp", X), function("exp", affine({0: -1.0}))),
        ),
        2,
    ),
    Case(
        "NLP: norm",
        make(
            [0, 0],
            [([1, 1], 2, INF)],
            nonlinear=(
                function(
                    "sqrt",
                    Form(
                        1,
                        np.array(1.0),
                        (),
                        tuple(
                            function("power", x, row=0, numbers=(np.array(2.0),)) for x in (X, Y)
                        ),
                    ),
                ),
            ),
        ),
        sqrt(3),
    ),
    Case(
        "NLP: convex row",
        make(
            [1, 1],
            [([0, -1], -INF, 0)],
            bounds=[(-2, 2), (0, 9)],
            nonlinear=(function("exp", X, row=0),),
        ),
        -2 + e**-2,
    ),
    Case(
        "NLP: rectangle",
        make([0, 0], [([1, 1], -INF, 2)], sense="maximize", squares=[(-1, 1, 0, 1)]),
        1,
    ),
    Case(
        "NLP: quotient",
        make(
            [1, 0],
            [([0, 0], 2, INF)],
            bounds=[(0.5, 9), (0.5, 4)],
            nonlinear=(function("quotient", X, Y, row=0),),
        ),
        1,
    ),
    Case("NLP: waves", make([0], bounds=[(2, 6)], nonlinear=(function("sin", X),)), -1),
    Case(
        "MINLP: whole number",
        make([-3], bounds=[(0, 5)], whole=[0], nonlinear=(function("exp", X),)),
        e - 3,
    ),
    Case(
        "MILP: condition",
        make(
            [-1, 1.5],
            [([1, 0], -INF, 2), ([0, 1], 1, INF)],
            bounds=[(0, 5), (0, 1)],
            whole=[1],
            indicators=Indicators(np.array([0]), np.array([1]), np.array([1])),
        ),
        -0.5,
    ),
    Case(
        "MILP: one of three",
        make([-1, -2, -3], bounds=[(0, 9), (0, 5), (0, 3)], sos1=(np.array([0, 1, 2]),)),
        -10,
    ),
]

INFEASIBLE = [
    Case("LP", make([1, 1], [([1, 1], 5, INF), ([1, 1], -INF, 4)]), INF),
    Case("LP: bounds", make([1], [([1], 9, INF)], bounds=[(0, 4)]), INF),
    Case("LP: row without terms", make([1, 1], [([1, 1], 1, 2), ([0, 0], 1, INF)]), INF),
    Case("QP", make([0, 0], [([1, 1], 5, 5), ([1, 1], -INF, 4)], squares=[(-1, 0, 0, 1)]), INF),
    Case(
        "SOCP",
        make([1, 1], [([0, 0], -INF, 1), ([1, 1], 3, INF)], squares=[(0, 0, 0, 1), (0, 1, 1, 1)]),
        INF,
    ),
    Case("MILP", make([1, 1], [([2, 2], 3, 3)], whole=[0, 1], bounds=[(0, 5)] * 2), INF),
    Case(
        "MIQP",
        make([1, 1], [([2, 2], 3, 3)], whole=[0, 1], bounds=[(0, 5)] * 2, squares=[(-1, 0, 0, 1)]),
        INF,
    ),
    Case(
        "NLP",
        make([1], [([0], -INF, 1)], bounds=[(1, 2)], nonlinear=(function("exp", X, row=0),)),
        INF,
    ),
]

UNBOUNDED = [
    Case("LP", make([-1, 0], [([1, -1], -INF, 3)], bounds=[(0, INF)] * 2), -INF),
    Case("LP: no rows", make([1], sense="maximize", bounds=[(0, INF)]), INF),
    Case("MILP", make([-1, 0], [([1, -1], -INF, 3)], bounds=[(0, INF)] * 2, whole=[0]), -INF),
    Case(
        "QP",
        make(
            [-1, 0],
            [([1, -1], -INF, 3)],
            bounds=[(0, INF)] * 2,
            squares=[(-1, 0, 0, 1), (-1, 1, 0, -2), (-1, 1, 1, 1)],
        ),
        -INF,
    ),
]


def why_not(solver: Adapter, program: Program) -> str | None:
    """Return why a solver declares that it does not take a program, or None."""
    from engiagent.formulations.classify import classify

    missing = solver.missing()
    if missing:
        return f"{' and '.join(missing)} not installed"
    return next(iter(refusals(solver, program, classify(program))), None)


def the(backend: str) -> Adapter:
    """Return an adapter by its name."""
    return adapter(backend)
