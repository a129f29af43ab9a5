"""Convex programs whose answer can be written down, on every solver that takes them."""

from typing import Any

import numpy as np
import pytest

from engiagent.formulations.program import Program
from engiagent.formulations.values import Form, variables
from engiagent.solvers.adapter import Adapter
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import SolveOptions, SolverResult
from tests.solvers.convex.programs import Sense, affine, close, column, function, make

piqp, clarabel, osqp, scs = (adapter(name) for name in ("piqp", "clarabel", "osqp", "scs"))
INF = np.inf
CONIC = [clarabel, scs]


def solved(solver: Adapter, program: Program) -> Any:
    result: SolverResult = solver.solve_here(program, SolveOptions())
    assert result.status == "optimal", result.reason
    assert result.x is not None
    assert result.objective == pytest.approx(program.objective_at(result.x), rel=1e-12)
    assert result.bound == pytest.approx(result.objective, rel=1e-7, abs=1e-7)
    return result


def total(form: Form) -> Form:
    return form.group_sum(np.zeros(form.size, dtype=np.int64), 1)


@pytest.mark.parametrize("solver", CONIC)
def test_the_smallest_disc_touches_two_points(solver: Adapter) -> None:
    """Facility between (0, 0) and (6, 8): radius 5 at (3, 4); columns x, y, r."""
    rows, products = [], []
    for i, (px, py) in enumerate([(0.0, 0.0), (6.0, 8.0), (3.0, 5.0)]):
        products += [(i, 0, 0, 1.0), (i, 1, 1, 1.0), (i, 2, 2, -1.0)]
        rows.append((affine([-2 * px, -2 * py, 0.0]), -INF, -(px**2 + py**2)))
    program = make([-INF, -INF, 0], [INF] * 3, affine([0, 0, 1]), rows, products=products)
    result = solved(solver, program)
    close(result.x, [3, 4, 5], atol=1e-8)
    # A limit that is 1 tighter moves r by ∂r/∂b: each touching point carries 1/(4 r).
    close(result.row_dual, [-0.05, -0.05, 0.0], atol=1e-8)


@pytest.mark.parametrize("solver", CONIC)
def test_a_linear_function_on_a_ball(solver: Adapter) -> None:
    """max g'x on |x|² <= R is sqrt(R) |g|, and grows by |g| / (2 sqrt(R)) with R."""
    g = np.array([3.0, -4.0, 12.0])
    products = [(0, i, i, 1.0) for i in range(3)]
    program = make(
        [-INF] * 3,
        [INF] * 3,
        affine(g),
        [(affine([0, 0, 0]), -INF, 4.0)],
        products=products,
        sense="maximize",
    )
    result = solved(solver, program)
    assert result.objective == pytest.approx(26.0, rel=1e-9)
    close(result.row_dual, [13.0 / 4.0], rtol=1e-8)


@pytest.mark.parametrize("solver", CONIC)
def test_the_hyperbola_is_a_cone(solver: Adapter) -> None:
    """min x + 4 y with x y >= 9, both at least 0: x = 6, y = 1.5; the price of the 9 is 12/18."""
    program = make(
        [0, 0], [INF] * 2, affine([1, 4]), [(affine([0, 0]), 9.0, INF)], products=[(0, 0, 1, 1.0)]
    )
    result = solved(solver, program)
    close(result.x, [6, 1.5], atol=1e-7)
    close(result.row_dual, [2 / 3], rtol=1e-7)


@pytest.mark.parametrize("solver", CONIC)
def test_entropy_is_largest_where_all_is_equal(solver: Adapter) -> None:
    """min sum x log x with sum x = 1 gives 1/n, and ∂/∂(sum) = 1 - log n."""
    n = 5
    x = variables(np.arange(n))
    objective = total(function("product", x, function("log", x)))
    program = make([0] * n, [INF] * n, objective, [(affine([1] * n), 1.0, 1.0)])
    result = solved(solver, program)
    close(result.x, 1 / n, atol=1e-8)
    assert result.objective == pytest.approx(-np.log(n), rel=1e-9)
    close(result.row_dual, [1 - np.log(n)], atol=1e-7)


@pytest.mark.parametrize("solver", CONIC)
def test_water_fills_channels_to_one_level(solver: Adapter) -> None:
    """max sum log(a + x), sum x = 1: x = max(0, level - a), and the price is 1 / level."""
    a = np.array([0.2, 0.4, 1.5])
    inner = variables(np.arange(3)) + a
    program = make(
        [0] * 3,
        [INF] * 3,
        total(function("log", inner)),
        [(affine([1] * 3), -INF, 1.0)],
        sense="maximize",
    )
    result = solved(solver, program)
    level = (1.0 + 0.2 + 0.4) / 2
    close(result.x, np.maximum(0, level - a), atol=1e-8)
    close(result.row_dual, [1 / level], rtol=1e-7)


@pytest.mark.parametrize("solver", CONIC)
def test_a_geometric_program_after_taking_logarithms(solver: Adapter) -> None:
    """A box of volume 8 with the least surface is a cube; columns are the logarithms of sides."""
    pairs = ((0, 1), (1, 2), (0, 2))
    sums = [column(i) + column(j) for i, j in pairs]
    objective = function("exp", sums[0]) + function("exp", sums[1]) + function("exp", sums[2])
    program = make([-5] * 3, [5] * 3, objective * 2.0, [(affine([1] * 3), np.log(8.0), INF)])
    result = solved(solver, program)
    close(np.exp(np.asarray(result.x)), 2.0, atol=1e-6)
    assert result.objective == pytest.approx(24.0, rel=1e-9)
    close(result.row_dual, [16.0], rtol=1e-6)


POWERS = [
    # exponent, sense, coefficient, optimum x of coefficient x^p - x over x in [0.1, 10]
    (3.0, "minimize", 1.0, 3.0**-0.5),
    (4.0, "minimize", 0.5, 0.5 ** (1 / 3)),
    (1.5, "minimize", 1.0, (2 / 3) ** 2),
    (0.5, "maximize", 4.0, 4.0),
    (-1.0, "minimize", 1.0, 1.0),
    (-0.5, "minimize", 2.0, 1.0),
]


@pytest.mark.parametrize("solver", CONIC)
@pytest.mark.parametrize(("exponent", "sense", "weight", "best"), POWERS)
def test_powers(solver: Adapter, exponent: float, sense: Sense, weight: float, best: float) -> None:
    slope = 1.0 if exponent < 0 else -1.0
    objective = function("power", column(0), numbers=(exponent,)) * weight + affine([slope])
    result = solved(solver, make([0.1], [10], objective, sense=sense))
    close(result.x, [best], atol=1e-6)


@pytest.mark.parametrize("solver", CONIC)
def test_functions_of_functions(solver: Adapter) -> None:
    """min exp((x - 1)²) + 2 sqrt-penalty; rows with sqrt and a quotient."""
    square = function("power", column(0) - 1.0, numbers=(2.0,))
    objective = function("exp", square) + affine([0, 1.0])
    rows = [
        (column(0) - column(1), -INF, 0.0),  # y >= x
        (function("sqrt", column(0) + 3.0), 1.9, INF),
        (
            function("quotient", function("power", column(0), numbers=(2.0,)), column(1) + 1.0),
            -INF,
            5.0,
        ),
    ]
    result = solved(solver, make([-5, 0], [5, 5], objective, rows))
    # d/dx: 2 (x - 1) exp((x - 1)²) + 1 = 0 while y = x.
    from scipy.optimize import brentq

    root = brentq(lambda x: 2 * (x - 1) * np.exp((x - 1) ** 2) + 1, 0.5, 1, xtol=1e-14)
    if np.sqrt(root + 3) < 1.9:
        root = 1.9**2 - 3
    close(result.x, [root, root], atol=1e-6)
