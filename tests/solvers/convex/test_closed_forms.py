"""Convex programs whose answer can be written down, on every solver that takes them."""

from typing import Any

import numpy as np
import pytest

from engiagent.formulations.program import Program
from engiagent.solvers.adapter import Adapter
from engiagent.solvers.registry import adapter
from engiagent.solvers.result import SolveOptions, SolverResult
from tests.solvers.convex.programs import affine, close, make

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
