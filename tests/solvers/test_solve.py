"""Answers, duals and proofs of small programs against closed forms and exact arithmetic."""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.errors import EngiagentError
from engiagent.formulations.program import ColumnBlock, Coordinate, Program, RowBlock
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from tests.solvers.effort import examples

INF = math.inf


def dense(
    cost: Any, lower: Any, upper: Any, matrix: Any, row_lower: Any, row_upper: Any, **more: Any
) -> Program:
    """Return a program from a dense matrix, with one variable ``x`` and one constraint ``C``."""
    a = np.asarray(matrix, dtype=float)
    a = a.reshape(len(row_lower), len(cost))
    rows, columns = np.nonzero(a)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(a)))])
    n, m = len(cost), len(row_lower)
    values: dict[str, Any] = {
        "sense": "minimize",
        "integrality": np.zeros(n, dtype=bool),
        "columns": (ColumnBlock(name="x", start=0, stop=n, unit="kW", sets=("J",), shape=(n,)),),
        "rows": (
            RowBlock(
                name="limit", constraint_id="C", start=0, stop=m, unit="kW", sets=("R",), shape=(m,)
            ),
        ),
        "coordinates": {
            "J": Coordinate("J", "labels", np.array([f"j{j}" for j in range(n)])),
            "R": Coordinate("R", "labels", np.array([f"r{r}" for r in range(m)])),
        },
    }
    values |= more
    return Program(
        cost=np.asarray(cost, dtype=float),
        column_lower=np.asarray(lower, dtype=float),
        column_upper=np.asarray(upper, dtype=float),
        row_starts=starts,
        row_columns=columns,
        row_values=a[rows, columns],
        row_lower=np.asarray(row_lower, dtype=float),
        row_upper=np.asarray(row_upper, dtype=float),
        **values,
    )


def here(program: Program, **options: Any) -> SolverResult:
    return solve(program, SolveOptions(**options), isolate=False)


def value(result: SolverResult) -> float:
    assert result.objective is not None, result.reason
    return result.objective


# Two products on two machines: 3x + 5y, x <= 4, 2y <= 12, 3x + 2y <= 18 has its best at (2, 6).
PRODUCTS = dense(
    [3, 5], [0, 0], [4, INF], [[0, 2], [3, 2]], [-INF, -INF], [12, 18], sense="maximize", offset=7.0
)


@pytest.mark.parametrize("isolate", [True, False])
def test_the_textbook_program_has_its_textbook_answer(isolate: bool) -> None:
    result = solve(PRODUCTS, isolate=isolate)
    assert result.status == "optimal"
    assert result.x == pytest.approx([2, 6])
    assert (result.objective, result.bound, result.gap) == (43, 43, 0)
    # One more machine hour is worth 1.5 and 1: positive, because more room raises a maximum.
    assert result.row_dual == pytest.approx([1.5, 1.0])
    assert result.solver == "HiGHS"


def exact_margin(program: Program, y: np.ndarray[Any, Any]) -> Fraction:
    """Return by how much the weighted rows exceed what the columns reach, in fractions."""
    total = Fraction(0)
    weights = [Fraction(0)] * program.column_count
    for row in range(program.row_count):
        if y[row] == 0:
            continue
        bound = program.row_lower[row] if y[row] > 0 else program.row_upper[row]
        total += Fraction(float(y[row])) * Fraction(float(bound))
        for entry in range(program.row_starts[row], program.row_starts[row + 1]):
            weights[program.row_columns[entry]] += Fraction(float(y[row])) * Fraction(
                float(program.row_values[entry])
            )
    for column, weight in enumerate(weights):
        if weight:
            bound = (program.column_upper if weight > 0 else program.column_lower)[column]
            total -= weight * Fraction(float(bound))
    return total


@settings(max_examples=examples(15), deadline=None)
@given(seed=st.integers(0, 2**31 - 1), whole=st.booleans())
def test_an_infeasible_program_comes_with_an_exact_proof(seed: int, whole: bool) -> None:
    random = np.random.default_rng(seed)
    n, m = 4, 4
    matrix = random.integers(-3, 4, (m, n)).astype(float)
    matrix[0] = np.abs(matrix[0]) + 1
    program = dense(
        random.normal(size=n),
        np.zeros(n),
        np.full(n, 5.0),
        matrix,
        [matrix[0].sum() * 5 + 1, -9, -9, -9],
        [INF, 30, 30, 30],
        integrality=np.full(n, whole),
    )
    result = here(program)
    assert result.status == "infeasible"
    assert result.x is None
    assert result.farkas is not None
    assert exact_margin(program, result.farkas) > 0


def test_infeasible_by_whole_numbers_only_has_no_proof_and_says_who_claims_it() -> None:
    result = here(dense([0, 0], [0, 0], [5, 5], [[2, 2]], [3], [3], integrality=np.ones(2, bool)))
    assert result.status == "infeasible"
    assert result.farkas is None
    assert "whole numbers" in result.reason


@pytest.mark.parametrize("whole", [False, True])
def test_unbounded_names_what_runs_away(whole: bool) -> None:
    program = dense(
        [-1, 0, 1],
        [0, 0, 0],
        [INF, INF, 3],
        [[1, -1, 0]],
        [-INF],
        [3],
        integrality=np.full(3, whole),
    )
    result = solve(program)
    assert result.status == "unbounded"
    assert "x[j0]" in result.reason
    assert "x[j2]" not in result.reason
    assert result.ray is not None
    assert program.cost @ result.ray < 0


def test_whole_numbers_are_exact_and_their_duals_hold_them_fixed() -> None:
    """Build 0..3 units of 10 kW at 7 each; serve 25 kW at 1 per kW."""
    program = dense(
        [7, 1],
        [0, 0],
        [3, INF],
        [[10, -1], [0, 1]],
        [0, 25],
        [INF, INF],
        integrality=np.array([True, False]),
    )
    result = here(program)
    assert result.x is not None
    assert result.x.tolist() == [3.0, 25.0]
    assert value(result) == 46.0
    assert result.bound == pytest.approx(46.0)
    assert result.gap == pytest.approx(0.0, abs=1e-6)
    assert result.row_dual == pytest.approx([0.0, 1.0])


@pytest.mark.parametrize(
    ("field", "index", "bad", "words"),
    [
        ("cost", 1, math.nan, "objective's coefficient of x[j1] is nan"),
        ("column_lower", 1, math.nan, "lower bound of x[j1] is nan"),
        ("column_lower", 0, INF, "lower bound of x[j0] is inf"),
        ("row_upper", 1, -INF, "upper right-hand side of C[r1] is -inf"),
        ("row_values", 1, math.nan, "coefficient of x[j0] in C[r1] is nan"),
        ("row_values", 2, 1e16, "coefficient of x[j1] in C[r1] is 1e+16"),
    ],
)
def test_numbers_that_a_solver_would_misread_are_refused_by_name(
    field: str, index: int, bad: float, words: str
) -> None:
    values = getattr(PRODUCTS, field).copy()
    values[index] = bad
    with pytest.raises(EngiagentError) as caught:
        solve(replace(PRODUCTS, **{field: values}))
    assert words in str(caught.value)


def test_other_broken_programs_are_refused() -> None:
    with pytest.raises(EngiagentError, match="constant is nan"):
        solve(replace(PRODUCTS, offset=math.nan))
    with pytest.raises(EngiagentError, match="do not fit together"):
        solve(replace(PRODUCTS, row_lower=np.zeros(5)))


def test_crossed_bounds_are_infeasible_in_words() -> None:
    result = solve(replace(PRODUCTS, column_lower=np.array([0.0, 5.0]), column_upper=np.full(2, 3)))
    assert result.status == "infeasible"
    assert result.reason == "the bounds of x[j1] contradict each other: at least 5 and at most 3"


@pytest.mark.parametrize(
    ("lower", "upper", "status"), [(-1, 2, "optimal"), (1, 2, "infeasible")], ids=str
)
def test_a_program_without_variables(lower: float, upper: float, status: str) -> None:
    program = dense([], [], [], np.zeros((1, 0)), [lower], [upper], offset=4.0)
    result = here(program)
    assert result.status == status
    assert result.objective == (4.0 if status == "optimal" else None)


@pytest.mark.parametrize(
    "bad",
    [
        {"time_limit": 0},
        {"time_limit": math.nan},
        {"memory_limit_mb": -1},
        {"gap": -1e-3},
        {"gap": math.nan},
        {"threads": 0},
        {"seed": -1},
    ],
    ids=str,
)
def test_senseless_options_are_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(EngiagentError, match=next(iter(bad))):
        SolveOptions(**bad)


def test_the_solvers_own_log_goes_to_a_file(tmp_path: Any, capfd: Any) -> None:
    here(PRODUCTS, log=str(tmp_path / "highs.log"))
    assert "HiGHS" in (tmp_path / "highs.log").read_text()
    assert capfd.readouterr() == ("", "")
