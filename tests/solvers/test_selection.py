"""The choice of a solver, its reasons, and the page that lists them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.solvers import adapter as seam
from engiagent.solvers.adapter import MissingLibraryError
from engiagent.solvers.registry import BACKENDS, adapter
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.selection import explain, select
from engiagent.solvers.solving import solve
from tests.solvers.conformance.cases import CASES, INF, make

BY_NAME = {case.name: case.program for case in CASES}
PAGE = Path(__file__).parents[2] / "docs" / "backends.md"


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("LP: textbook", "highs"),
        ("MILP: knapsack", "highs"),
        ("MILP: condition", "scip"),
        ("MILP: one of three", "scip"),
        ("QP: nearest point", "piqp"),
        ("SOCP: disk", "clarabel"),
        ("SOCP: cone", "ipopt"),
        ("MIQP: nearest whole number", "scip"),
        ("NLP: catenary", "ipopt"),
        ("NLP: waves", "scip"),
        ("MINLP: whole number", "scip"),
    ],
)
def test_class_and_size_decide(name: str, backend: str) -> None:
    choice = select(BY_NAME[name])
    assert choice.backend == backend, explain(choice)
    assert choice.reasons


def test_a_large_nonconvex_program_gets_a_local_solver_that_says_so() -> None:
    n = 400
    squares = [(-1, j, j - 1, 1.0) for j in range(1, n)]
    program = make([0] * n, bounds=[(-1, 1)] * n, squares=squares)
    choice = select(program)
    assert choice.backend == "ipopt"
    assert "local" in choice.reasons[0]
    assert [item.backend for item in choice.alternatives] == ["scip"]


def without(monkeypatch: pytest.MonkeyPatch, *gone: str) -> None:
    found = seam.distribution_version
    monkeypatch.setattr(
        seam, "distribution_version", lambda name: None if name in gone else found(name)
    )


def test_a_missing_library_changes_the_choice_and_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "piqp")
    choice = select(BY_NAME["QP: nearest point"])
    assert choice.backend == "clarabel"
    assert any("piqp" in reason and "not installed" in reason for reason in choice.reasons)
    assert "pip install 'engiagent[solvers]'" in explain(choice)


def test_nothing_installed_is_an_error_with_the_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pyscipopt")
    with pytest.raises(EngiagentError, match="pip install 'engiagent"):
        select(BY_NAME["MINLP: whole number"])
    with pytest.raises(MissingLibraryError, match="pip install 'engiagent"):
        solve(BY_NAME["LP: textbook"], SolveOptions(backend="scip"))


def test_a_point_that_breaks_the_program_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a solver claims, as HiGHS 1.14 did."""
    from engiagent.solvers.chain import solving as chain

    def claims(program: Program, options: SolveOptions, watch: Any) -> SolverResult:
        return SolverResult(
            status="optimal",
            reason="optimal",
            is_mip=False,
            solver="liar",
            solver_version="1",
            x=np.array([9.0, 9.0]),
            objective=0.0,
            bound=0.0,
            gap=0.0,
        )

    monkeypatch.setattr(chain, "solve_here", claims)
    program = make([1, 1], [([1, 1], 1, 2)])
    monkeypatch.setitem(BACKENDS, "liar", chain.__name__)
    result = solve(program, SolveOptions(backend="liar"), isolate=False)
    assert (result.status, result.x) == ("error", None)
    assert "c[0] by" in result.reason or "C" in result.reason


def test_the_page_on_backends_has_what_the_adapters_declare() -> None:
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    for name in BACKENDS:
        solver, rows = adapter(name), [line for line in lines if line.startswith(f"| `{name}` |")]
        assert solver.name in rows[0]
        assert rows[0].count("yes") + rows[0].count("convex") == len(solver.classes)
        assert [how for how in solver.options.values() if how not in rows[1]] == []


def test_a_time_limit_without_a_process_goes_to_a_backend_that_obeys_it() -> None:
    program = make([0, 0], [([1, 1], 1, INF)], squares=[(-1, 0, 0, 1), (-1, 1, 1, 1)])
    limited = SolveOptions(time_limit=60.0)
    assert select(program, limited).backend == "piqp"
    here = select(program, limited, isolated=False)
    assert "time_limit" in adapter(here.backend).options
    assert any("piqp" in reason and "time_limit" in reason for reason in here.reasons)
    result = solve(program, limited, isolate=False)
    assert (result.status, result.solver) == ("optimal", adapter(here.backend).name)
    with pytest.raises(EngiagentError, match=r"PIQP does not take the option time_limit.*isolate"):
        solve(program, SolveOptions(time_limit=60.0, backend="piqp"), isolate=False)
