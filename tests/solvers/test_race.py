"""HiGHS and SCIP side by side: one answer, and nobody left running."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engiagent.solvers.result import Progress, SolveOptions
from engiagent.solvers.solving import solve
from tests.solvers.conformance.cases import INFEASIBLE, make
from tests.solvers.programs import knapsack

RACE = SolveOptions(backend="race")


def children() -> set[str]:
    """Return the ids of the child processes of this one, where the system tells."""
    found: set[str] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        found |= set(task.read_text(encoding="ascii").split())
    return found


@pytest.fixture(autouse=True)
def _nobody_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def test_the_answer_is_the_optimum() -> None:
    program = make(
        [5, 4, 3],
        [([2, 3, 1], -np.inf, 5), ([4, 1, 2], -np.inf, 11)],
        sense="maximize",
        whole=[0, 1, 2],
    )
    result = solve(program, RACE)
    assert (result.status, result.objective) == ("optimal", 15)
    assert result.solver in ("HiGHS", "SCIP")


def test_infeasible_is_an_answer_too() -> None:
    case = next(case for case in INFEASIBLE if case.name == "MILP")
    assert solve(case.program, RACE).status == "infeasible"


def test_both_obey_the_time_limit_and_the_better_point_is_kept() -> None:
    seen: list[Progress] = []
    program = knapsack()
    limited = SolveOptions(backend="race", time_limit=1.0)
    started = time.perf_counter()
    result = solve(program, limited, on_progress=seen.append)
    assert time.perf_counter() - started < 8
    assert result.status == "feasible"
    assert result.x is not None
    assert seen


def test_a_stop_stops_both_with_a_point() -> None:
    cancel = threading.Event()
    threading.Timer(1.5, cancel.set).start()
    result = solve(knapsack(), RACE, cancel=cancel)
    assert result.status == "interrupted"
    assert result.x is not None
