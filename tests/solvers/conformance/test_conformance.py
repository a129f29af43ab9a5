"""What every solver must do alike; one skips only what its adapter declares that it cannot."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.program import Program
from engiagent.solvers.farkas import margin
from engiagent.solvers.feasibility import worst_violation
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from tests.solvers.conformance.cases import (
    ALL,
    CASES,
    INFEASIBLE,
    UNBOUNDED,
    Case,
    make,
    the,
    why_not,
)
from tests.solvers.programs import knapsack

CLOSE = 2e-6

each_backend = pytest.mark.parametrize("backend", ALL)


def cases(items: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", items, ids=[item.name for item in items])


def answer(backend: str, program: Program, **options: Any) -> SolverResult:
    reason = why_not(the(backend), program)
    if reason is not None:
        pytest.skip(reason)
    return solve(program, SolveOptions(backend=backend, **options), isolate=False)


@each_backend
@cases(CASES)
def test_a_known_optimum_is_found(backend: str, case: Case) -> None:
    result = answer(backend, case.program)
    program, solver = case.program, the(backend)
    provable = "global" in solver.features or (
        classify(program).convexity == "convex" and not program.is_mip
    )
    assert result.status == ("optimal" if provable else "feasible"), result.reason
    assert result.x is not None
    assert result.objective == program.objective_at(result.x)
    assert worst_violation(program, result.x).amount <= CLOSE
    assert np.array_equal(result.x[program.integrality], np.round(result.x[program.integrality]))
    room = CLOSE * max(1.0, abs(case.best))
    sign = 1.0 if program.sense == "minimize" else -1.0
    assert sign * result.objective >= sign * case.best - room
    if provable:
        assert sign * result.objective <= sign * case.best + room
        assert result.bound is not None
        assert sign * result.bound <= sign * result.objective + room
        assert result.gap is not None
        assert result.gap <= CLOSE
    else:
        assert "local" in result.reason
        assert result.bound is None


@each_backend
@cases(INFEASIBLE)
def test_infeasible_is_said_and_proven_where_promised(backend: str, case: Case) -> None:
    result = answer(backend, case.program)
    if "global" not in the(backend).features and not case.program.is_linear:
        assert result.status in ("infeasible", "error")  # a local method proves nothing
        return
    assert result.status == "infeasible", result.reason
    assert result.x is None
    if case.program.is_linear and not case.program.is_mip and "farkas" in the(backend).features:
        assert result.farkas is not None
        assert margin(case.program, result.farkas) > 0


@each_backend
@cases(UNBOUNDED)
def test_unbounded_is_said(backend: str, case: Case) -> None:
    result = answer(backend, case.program)
    if "global" not in the(backend).features and result.status != "unbounded":
        assert result.status != "optimal"  # a local method proves nothing
        return
    assert result.status == "unbounded", result.reason
    linear = case.program.is_linear and not case.program.is_mip
    if linear and "ray" in the(backend).features:
        assert result.ray is not None
        sign = 1.0 if case.program.sense == "minimize" else -1.0
        assert sign * float(case.program.cost @ result.ray) < 0
        assert float(np.min(result.ray)) >= -1e-9  # every column here is bounded below


# One binding row in each direction, so that multipliers are unique and not zero.
DUALS = [
    Case(
        "LP",
        make(
            [2, 3, 1],
            [([1, 1, 0], 4, INF_ := np.inf), ([1, 0, -1], -3, 1)],
            bounds=[(0, 3), (0, 9), (0, 9)],
        ),
        0,
    ),
    Case(
        "QP",
        make(
            [1, 0],
            [([1, 1], 3, INF_), ([1, -1], -INF_, 0.5)],
            offset=2.0,
            squares=[(-1, 0, 0, 2), (-1, 1, 0, 1), (-1, 1, 1, 1)],
        ),
        0,
    ),
    Case(
        "QP, maximised",
        make(
            [9, 1], [([1, 1], -INF_, 3)], sense="maximize", squares=[(-1, 0, 0, -2), (-1, 1, 1, -1)]
        ),
        0,
    ),
    Case(
        "SOCP",
        make(
            [1, 2],
            [([0, 1], -INF_, 5), ([1, 0], -1, INF_)],
            bounds=[(-9, 9), (-9, 9)],
            squares=[(0, 0, 0, 1), (0, 1, 1, 1)],
        ),
        0,
    ),
]


@each_backend
@cases(DUALS)
def test_duals_are_what_the_objective_gains_per_unit(backend: str, case: Case) -> None:
    program = case.program
    if "duals" not in the(backend).features:
        pytest.skip("hands over none")
    result = answer(backend, program)
    assert result.row_dual is not None
    assert result.column_dual is not None
    assert result.x is not None
    step = 1e-2
    gains = []
    for row in range(program.row_count):
        values = []
        for shift in (step, -step):
            lower, upper = program.row_lower.copy(), program.row_upper.copy()
            lower[row] += shift
            upper[row] += shift
            moved = answer(backend, replace(program, row_lower=lower, row_upper=upper))
            assert moved.objective is not None
            values.append(moved.objective)
        gains.append((values[0] - values[1]) / (2 * step))
    assert result.row_dual == pytest.approx(np.array(gains), abs=2e-4, rel=1e-3)
    assert result.column_dual == pytest.approx(
        gradient(program, result.x) - jacobian(program, result.x).T @ result.row_dual, abs=1e-4
    )


def gradient(program: Program, x: Any, step: float = 1e-5) -> Any:
    """Return the objective's gradient by differences; exact for quadratic ones."""
    shifts = step * np.eye(len(x))
    return np.array(
        [(program.objective_at(x + d) - program.objective_at(x - d)) / (2 * step) for d in shifts]
    )


def jacobian(program: Program, x: Any, step: float = 1e-5) -> Any:
    """Return the rows' derivatives by differences, shape (m, n)."""
    shifts = step * np.eye(len(x))
    return np.array(
        [(program.activity_at(x + d) - program.activity_at(x - d)) / (2 * step) for d in shifts]
    ).T


OPTIONS: dict[str, Any] = {"time_limit": 60.0, "gap": 1e-3, "threads": 1, "seed": 7}


@each_backend
@pytest.mark.parametrize("option", [*OPTIONS, "log", "start"])
def test_an_option_is_honoured_or_refused_but_never_ignored(
    backend: str, option: str, tmp_path: Path
) -> None:
    solver = the(backend)
    program = next(case.program for case in CASES if why_not(solver, case.program) is None)
    log = tmp_path / "log"
    value = OPTIONS.get(option, str(log) if option == "log" else None)
    if option == "start":
        value = np.zeros(program.column_count)
    given: dict[str, Any] = {option: value}
    options = SolveOptions(backend=backend, **given)
    if option not in solver.options:
        with pytest.raises(EngiagentError, match=option):
            solve(program, options, isolate=False)
        return
    assert solve(program, options, isolate=False).status == "optimal"
    if option == "log":
        assert log.stat().st_size > 0


@each_backend
def test_a_time_limit_ends_a_long_solve_with_the_best_point(backend: str) -> None:
    program = knapsack()
    if why_not(the(backend), program) is not None:
        pytest.skip("takes no whole numbers")
    result = solve(program, SolveOptions(backend=backend, time_limit=0.5))
    assert result.status in ("feasible", "limit")
    assert "limit" in result.reason.lower()
    assert result.seconds < 8
    if result.status == "feasible":
        assert result.x is not None
        assert worst_violation(program, result.x).amount <= CLOSE


@each_backend
def test_a_stop_ends_a_long_solve(backend: str) -> None:
    program = knapsack()
    if why_not(the(backend), program) is not None:
        pytest.skip("takes no whole numbers")
    cancel = threading.Event()
    threading.Timer(1.5, cancel.set).start()
    result = solve(program, SolveOptions(backend=backend), cancel=cancel)
    assert result.status == "interrupted", result.reason
    if "interrupt" in the(backend).features:
        assert result.x is not None
        assert result.bound is not None


@each_backend
def test_a_program_that_is_not_taken_is_refused_with_a_reason(backend: str) -> None:
    refused = [case for case in CASES if why_not(the(backend), case.program) is not None]
    if not refused:
        pytest.skip("takes every class")
    with pytest.raises(EngiagentError, match="takes"):
        solve(refused[0].program, SolveOptions(backend=backend), isolate=False)
