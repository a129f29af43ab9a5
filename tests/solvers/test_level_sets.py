"""Branch and bound over columns without bounds: the convex objective implies some."""

import numpy as np
import pytest

from engiagent.formulations.program import Program
from engiagent.solvers.level_sets import confined
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from tests.solvers.conformance.cases import FREE, INF, make
from tests.solvers.conformance.test_agreement import CLASSES, Draw


def open_quadratic(seed: int, *, singular: bool = False, whole: bool = True) -> Program:
    """Return a convex quadratic program whose columns have no bounds."""
    random = np.random.default_rng(seed)
    n = 4
    factor = random.integers(-2, 3, (n, 2 if singular else n))
    q = factor @ factor.T + (0 if singular else 1) * np.eye(n)
    squares = [
        (-1, i, j, float(q[i, j] * (1 if i == j else 2)))
        for i in range(n)
        for j in range(i + 1)
        if q[i, j]
    ]
    rows = [(np.ones(n), 1, INF)]
    cost = q @ random.normal(size=n)
    chosen = [0, 1] if whole else []
    return make(cost, rows, bounds=[FREE] * n, squares=squares, whole=chosen)


@pytest.mark.parametrize("singular", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_quadratic_program_without_bounds_is_closed(seed: int, singular: bool) -> None:
    program = open_quadratic(seed, singular=singular, whole=False)
    by_scip = solve(program, SolveOptions(backend="scip", time_limit=20), isolate=False)
    sure = solve(program, SolveOptions(backend="clarabel"), isolate=False)
    assert by_scip.status == sure.status == "optimal"
    assert by_scip.objective == pytest.approx(sure.objective, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_one_with_whole_numbers_is_the_best_of_a_wide_box(seed: int) -> None:
    program = open_quadratic(seed)
    result = solve(program, SolveOptions(backend="scip", time_limit=20), isolate=False)
    assert result.status == "optimal", result.reason
    boxed = make([0] * 4, bounds=[(-30, 30)] * 4)
    from dataclasses import replace

    inside = replace(program, column_lower=boxed.column_lower, column_upper=boxed.column_upper)
    same = solve(inside, SolveOptions(backend="scip", time_limit=20), isolate=False)
    assert result.objective == pytest.approx(same.objective, abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_that_are_implied_cut_off_no_better_point(seed: int) -> None:
    program = open_quadratic(seed)
    found = confined(program, SolveOptions())
    assert found.start is not None
    assert np.isfinite(found.program.column_lower).all()
    reached = program.objective_at(found.start)
    random = np.random.default_rng(seed)
    for _ in range(2000):
        x = found.start + random.normal(size=4) * random.uniform(0, 3)
        if program.objective_at(x) <= reached:
            assert np.all(x >= found.program.column_lower)
            assert np.all(x <= found.program.column_upper)


def test_a_flat_direction_leaves_an_honest_bound() -> None:
    """No level set is bounded then, so that the end may not be reached; the bound is still told."""
    program = open_quadratic(1, singular=True)
    result = solve(program, SolveOptions(backend="scip", time_limit=1), isolate=False)
    assert result.status in ("optimal", "feasible")
    assert result.objective is not None
    assert result.bound is not None
    assert np.isfinite(result.bound)
    assert result.bound <= result.objective + 1e-6


def test_a_cone_that_scip_does_not_recognise_is_closed_by_the_bound_of_a_convex_method() -> None:
    # Its own bound was 12 % off after 20 000 nodes.
    program = CLASSES["NLP"](Draw(5005))
    result = solve(program, SolveOptions(backend="scip", time_limit=20.0), isolate=False)
    assert result.status == "optimal", result.reason
    assert result.objective == pytest.approx(solve(program, isolate=False).objective, rel=1e-6)
