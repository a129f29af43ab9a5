"""Nonlinear programs of the textbooks, and a tank over time."""

from dataclasses import replace

import numpy as np

from engiagent.formulations.program import ColumnBlock, Coordinate, Program
from engiagent.formulations.values import Form
from tests.solvers.convex.programs import affine, column, function, make

INF = np.inf


def power(form: Form, exponent: float) -> Form:
    return function("power", form, numbers=(exponent,))


def product(*forms: Form) -> Form:
    total = forms[0]
    for form in forms[1:]:
        total = function("product", total, form)
    return total


def hs71() -> Program:
    """Hock and Schittkowski, problem 71."""
    x = [column(j) for j in range(4)]
    goal = product(x[0], x[3], x[0] + x[1] + x[2]) + x[2]
    return make(
        [1] * 4,
        [5] * 4,
        goal,
        [(product(*x), 25, INF), (affine([0] * 4), 40, 40)],
        products=[(1, i, i, 1.0) for i in range(4)],
    )


def hs35() -> Program:
    """Hock and Schittkowski, problem 35 (Beale): convex, minimum 1/9."""
    products = [(-1, 0, 0, 2.0), (-1, 1, 1, 2.0), (-1, 2, 2, 1.0), (-1, 1, 0, 2.0), (-1, 2, 0, 2.0)]
    return make(
        [0] * 3,
        [INF] * 3,
        affine([-8, -6, -4], 9.0),
        [(affine([1, 1, 2]), -INF, 3)],
        products=products,
    )


def many_functions() -> Program:
    """A program with every function, nested, in rows and objective."""
    inner = column(0) + column(1) * 2.0
    forms = [
        product(function("exp", column(0)), function("sin", inner)),
        function("quotient", inner + 1.0, function("sqrt", column(2))),
        power(function("log", inner), 3.0) * 2.0 + column(2),
        function("tanh", product(column(0), column(1))),
        function("cos", function("quotient", column(0), column(1))),
    ]
    return make(
        [0.1] * 3,
        [2] * 3,
        forms[0] + forms[1],
        [(form, -INF, 5.0) for form in forms],
        products=[(-1, 1, 0, 2.0), (2, 2, 2, 3.0)],
    )


def tank(periods: int = 10, drag: float = 0.0, scale: float = 2.0) -> Program:
    """A level that leaks, with inflow u: keep it near 1; ``scale`` multiplies the balance."""
    n = periods
    level, inflow = list(range(n + 1)), list(range(n + 1, 2 * n + 1))
    rows, products, goal = [], [], affine(np.zeros(2 * n + 1))
    for k in range(n):
        balance = column(level[k + 1]) - column(level[k]) * 0.9 - column(inflow[k])
        if drag:
            balance = balance + function("sqrt", column(level[k]) + 1.0) * drag
        rows.append((balance * scale, 0.0, 0.0))
        products.append((-1, inflow[k], inflow[k], 0.1))
    rows += [(column(level[k]) + column(inflow[k]), -INF, 0.9) for k in range(n)]
    for k in range(n + 1):
        products.append((-1, level[k], level[k], 1.0))
        goal = goal - column(level[k]) * 2.0
    lower = np.r_[np.full(n + 1, -0.5), np.full(n, -0.3)]
    upper = np.r_[np.full(n + 1, 10.0), np.full(n, 0.3)]
    lower[0] = upper[0] = 0.0
    program = make(lower, upper, goal, rows, products=products)
    return replace(
        program,
        columns=(
            ColumnBlock(name="h", start=0, stop=n + 1, unit="m", sets=("I",), shape=(n + 1,)),
            ColumnBlock(name="u", start=n + 1, stop=2 * n + 1, unit="m", sets=("T",), shape=(n,)),
        ),
        coordinates={
            "I": Coordinate("I", "instants", np.arange(n + 1)),
            "T": Coordinate("T", "time", np.arange(n)),
        },
    )
