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
