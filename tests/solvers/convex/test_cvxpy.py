"""Programs as CVXPY problems."""

from typing import Any

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.formulations.values import variables
from engiagent.solvers.convex import clarabel
from engiagent.solvers.convex import cvxpy as adapter
from engiagent.solvers.result import SolveOptions
from tests.solvers.convex.programs import (
    Sense,
    affine,
    column,
    function,
    make,
    random_cones,
    random_quadratic,
)

INF = np.inf


@pytest.mark.parametrize("solver", ["clarabel", "scs"])
@pytest.mark.parametrize("seed", [0, 1])
def test_cvxpy_agrees_and_so_do_its_duals(solver: str, seed: int) -> None:
    sense: Sense = "maximize" if seed % 2 else "minimize"
    for program in (random_quadratic(seed, sense=sense), random_cones(seed)):
        first = adapter.member(solver).solve_here(program, SolveOptions(), None)
        second = clarabel.solve_here(program, SolveOptions())
        assert first.status == "optimal"
        assert first.objective == pytest.approx(second.objective, rel=1e-9)
        assert first.row_dual == pytest.approx(second.row_dual, abs=1e-6)


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


def test_functions_become_atoms() -> None:
    x = variables(np.arange(4))
    entropy = function("product", x, function("log", x))
    goal = entropy.group_sum(np.zeros(4, dtype=np.int64), 1)
    rows = [
        (affine([1] * 4), 1.0, 1.0),
        (function("exp", column(0)), -INF, 1.2),
        (function("abs", column(1) - 0.3), -INF, 0.2),
        (function("power", column(2), numbers=(1.5,)), -INF, 0.1),
    ]
    program = make([0] * 4, [1] * 4, goal, rows)
    first = adapter.member("clarabel").solve_here(program, SolveOptions(), None)
    second = clarabel.solve_here(program, SolveOptions())
    assert first.status == second.status == "optimal"
    assert first.objective == pytest.approx(second.objective, rel=1e-8)


def test_what_cvxpy_cannot_say_is_refused() -> None:
    with pytest.raises(EngiagentError, match="no counterpart of tanh"):
        adapter.to_cvxpy(make([0], [1], function("tanh", column(0))))
    with pytest.raises(EngiagentError, match="not convex"):
        adapter.to_cvxpy(make([0], [1], affine([1]), products=[(-1, 0, 0, -1.0)]))
    program = make([0.1], [9], affine([1]), [(function("log", column(0)), -INF, 1.0)])
    with pytest.raises(EngiagentError, match="DCP"):
        adapter.member("clarabel").solve_here(program, SolveOptions(), None)
    with pytest.raises(EngiagentError, match="not offered"):
        adapter.member("osqp")
