"""Graphs give the values and derivatives that numpy gives."""

from typing import Any

import numpy as np
import pytest

from engiagent.solvers.casadi.codegen import graph
from engiagent.solvers.convex.optimality import gradient, jacobian
from tests.solvers.casadi.problems import many_functions
from tests.solvers.convex.programs import close

POINTS = [np.array([0.7, 1.3, 0.4]), np.array([0.3, 0.2, 1.9]), np.array([1.2, 1.9, 0.11])]


@pytest.mark.parametrize("scalar", [True, False])
@pytest.mark.parametrize("x", POINTS)
def test_a_graph_is_the_program(scalar: bool, x: Any) -> None:
    import casadi

    program = many_functions()
    made = graph(program, scalar)
    slopes = [casadi.gradient(made.objective, made.x), casadi.jacobian(made.rows, made.x)]
    call = casadi.Function("f", [made.x], [made.objective, made.rows, *slopes])
    objective, rows, first, table = (np.array(part) for part in call(x))
    assert float(objective[0, 0]) == pytest.approx(program.objective_at(x), rel=1e-13)
    close(rows[:, 0], program.activity_at(x), rtol=1e-13, atol=1e-14)
    close(first[:, 0], gradient(program, x), rtol=1e-12, atol=1e-13)
    close(table, jacobian(program, x).toarray(), rtol=1e-12, atol=1e-13)
