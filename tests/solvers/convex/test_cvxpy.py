"""Programs as CVXPY problems."""

from typing import Any

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.solvers.convex import cvxpy as adapter
from engiagent.solvers.result import SolveOptions
from tests.solvers.convex.programs import affine, column, function, make

INF = np.inf


def test_an_engineer_can_go_on_with_the_problem() -> None:
    import cvxpy

    rows = [
        (affine([2, 3, 1]), -INF, 5.5),
        (affine([4, 1, 2]), -INF, 11),
        (affine([3, 4, 2]), -INF, 8),
    ]
    program = make([0] * 3, [10] * 3, affine([-5, -4, -3]), rows, integers=[0, 1, 2])
    problem, columns = adapter.to_cvxpy(program)
    assert problem.solve(solver="HIGHS") == pytest.approx(-13)
    assert columns["x"].value == pytest.approx([2, 0, 1])
    further: Any = cvxpy.Problem(problem.objective, [*problem.constraints, columns["x"][0] <= 1])
    assert further.solve(solver="HIGHS") > -13 + 1e-6


def test_what_cvxpy_cannot_say_is_refused() -> None:
    with pytest.raises(EngiagentError, match="function tanh"):
        adapter.to_cvxpy(make([0], [1], function("tanh", column(0))))
    with pytest.raises(EngiagentError, match="not convex"):
        adapter.to_cvxpy(make([0], [1], affine([1]), products=[(-1, 0, 0, -1.0)]))
    program = make([0.1], [9], affine([1]))
    with pytest.raises(EngiagentError, match="finds no solver 'ecos' here; it finds"):
        adapter.member("ecos").solve_here(program, SolveOptions(), None)
