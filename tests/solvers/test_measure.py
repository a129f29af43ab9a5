"""Costs of the size of tolerances are costs: money in millions, energy in joules."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from engiagent.formulations.program import Program
from engiagent.solvers.linear import is_proven, with_proof
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from tests.solvers.conformance.cases import ALL, FREE, INF, make, the, why_not


@dataclass(frozen=True)
class Tiny:
    """A program and its best objective, whose smallest part a tolerance of 1e-7 hides."""

    program: Program
    best: float


DISK = [(0, 0, 0, 1), (0, 1, 1, 1)]
TINY = {
    "LP, far bound": Tiny(make([5e-8, 1], bounds=[(0, 1e9), (0, 1)], sense="maximize"), 51),
    "LP, all of it": Tiny(
        make(
            [3e-9, 5e-9],
            [([0, 2], -INF, 12), ([3, 2], -INF, 18)],
            bounds=[(0, 4), (0, INF)],
            sense="maximize",
        ),
        3.6e-8,
    ),
    "QP": Tiny(
        make(
            [-2e-4, 1],
            [([1, 1], -INF, 1e9)],
            bounds=[(0, INF), (0, 1)],
            squares=[(-1, 0, 0, 1e-10)],
        ),
        -100,
    ),
    "SOCP": Tiny(
        make([1e-8, 1e-8], [([0, 0], -INF, 2e12)], bounds=[FREE, FREE], squares=DISK), -2e-2
    ),
    "MILP, far bound": Tiny(
        make([5e-8, 1], bounds=[(0, 1e9), (0, 1)], sense="maximize", whole=[1]), 51
    ),
    "MILP, shared limits": Tiny(
        make(
            [3e-9, 5e-9, 1],
            [([0, 2, 0], -INF, 12e9), ([3, 2, 0], -INF, 18e9)],
            bounds=[(0, 4e9), (0, 10e9), (0, 5)],
            sense="maximize",
            whole=[2],
        ),
        41,
    ),
}
each = pytest.mark.parametrize("name", TINY)


def is_best(result: SolverResult, best: float) -> bool:
    assert result.objective is not None
    return abs(result.objective - best) <= 2e-6 * abs(best)


@each
def test_the_chosen_solver_sees_every_cost(name: str) -> None:
    tiny = TINY[name]
    result = solve(tiny.program, isolate=False)
    assert result.status == "optimal", result.reason
    assert result.x is not None
    assert is_best(result, tiny.best)
    assert result.bound == pytest.approx(tiny.best, rel=1e-5)
    assert result.objective == tiny.program.objective_at(result.x)


@each
@pytest.mark.parametrize("backend", ALL)
def test_nobody_calls_another_point_optimal(backend: str, name: str) -> None:
    tiny = TINY[name]
    if why_not(the(backend), tiny.program) is not None:
        pytest.skip("does not take it")
    if backend == "pyomo:scip_direct" and name in ("QP", "SOCP"):
        pytest.skip("takes half a minute, or another point for optimal by SCIP's own tolerances")
    result = solve(tiny.program, SolveOptions(backend=backend), isolate=False)
    assert result.status in ("optimal", "feasible", "error", "limit"), result.reason
    if result.status == "optimal":
        assert is_best(result, tiny.best)


def test_a_claim_that_its_multipliers_do_not_prove_is_no_optimum() -> None:
    program = TINY["LP, far bound"].program
    claimed = SolverResult(
        status="optimal",
        reason="optimal",
        is_mip=False,
        solver="HiGHS",
        solver_version="1",
        x=np.array([0.0, 1.0]),
        objective=1.0,
        bound=1.0,
        gap=0.0,
        row_dual=np.zeros(0),
        column_dual=np.array([5e-8, 1.0]),
    )
    assert not is_proven(program, claimed)
    honest = with_proof(program, claimed)
    assert honest.status == "feasible"
    assert honest.bound == pytest.approx(51)
    assert "a gap of 5.0e+01" in honest.reason
    best = replace(claimed, x=np.array([1e9, 1.0]), objective=51.0)
    assert is_proven(program, best)
    assert with_proof(program, best).status == "optimal"
