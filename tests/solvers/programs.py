"""Programs that keep a solver busy."""

import numpy as np

from engiagent.formulations.program import OBJECTIVE, ColumnBlock, Products, Program


def _program(cost, matrix, row_lower, row_upper, upper=1.0) -> Program:  # type: ignore[no-untyped-def]
    m, n = matrix.shape
    return Program(
        sense="minimize",
        cost=cost.astype(float),
        column_lower=np.zeros(n),
        column_upper=np.full(n, upper),
        integrality=np.ones(n, dtype=bool),
        row_starts=np.arange(m + 1) * n,
        row_columns=np.tile(np.arange(n), m),
        row_values=matrix.astype(float).ravel(),
        row_lower=row_lower.astype(float),
        row_upper=row_upper.astype(float),
        columns=(ColumnBlock(name="x", start=0, stop=n, unit="1", sets=("J",), shape=(n,)),),
    )


def knapsack(n: int = 200, m: int = 10) -> Program:
    """Return a knapsack with many limits: points come at once, the proof takes hours."""
    random = np.random.default_rng(0)
    matrix = random.integers(1, 1000, (m, n))
    worth = matrix.mean(axis=0) + random.integers(0, 100, n)
    return _program(-worth, matrix, np.full(m, -np.inf), matrix.sum(axis=1) / 2)


def market_split(m: int = 6) -> Program:
    """Return a market split: whole numbers meet every equation almost never, and late."""
    n = 10 * (m - 1)
    matrix = np.random.default_rng(1).integers(0, 100, (m, n))
    half = matrix.sum(axis=1) // 2
    return _program(np.zeros(n), matrix, half, half)


def dense_linear(n: int = 1500) -> Program:
    """Return a dense linear program that takes a simplex method many seconds."""
    random = np.random.default_rng(2)
    matrix = random.uniform(0, 1, (n, n))
    from dataclasses import replace

    program = _program(
        -random.uniform(1, 2, n), matrix, np.full(n, -np.inf), matrix.sum(axis=1) / 2, upper=10.0
    )
    return replace(program, integrality=np.zeros(n, dtype=bool))


def dense_quadratic(n: int) -> Program:
    """Return a strictly convex quadratic program with dense rows."""
    random = np.random.default_rng(3)
    matrix = random.normal(size=(n, n))
    from dataclasses import replace

    program = _program(np.ones(n), matrix, np.full(n, -np.inf), np.full(n, 5.0), upper=5.0)
    places = np.arange(n)
    squares = Products(np.full(n, OBJECTIVE), places, places, np.ones(n))
    return replace(program, integrality=np.zeros(n, dtype=bool), products=squares)
