"""A session answers as a fresh solve of the same numbers does, whatever happened before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.program import NO_PRODUCTS, OBJECTIVE, Products, Program
from engiagent.solvers.feasibility import worst_violation
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.session import Session
from engiagent.solvers.solving import solve
from tests.solvers.conformance.test_agreement import CLASSES, Draw
from tests.solvers.effort import examples

HERE = SolveOptions(threads=1)


def random_program(
    random: np.random.Generator,
    integer: bool = False,
    quadratic: bool = False,
    maximise: bool = False,
) -> Program:
    """Return a feasible, bounded program with equations, ranges and one-sided rows."""
    n, m = 8, 6
    matrix = random.normal(size=(m, n)) * (random.random((m, n)) < 0.6)
    point = random.uniform(1, 4, n)
    if integer:
        point = np.round(point)
    middle = matrix @ point
    lower, upper = middle - random.uniform(0.1, 2, m), middle + random.uniform(0.1, 2, m)
    lower[:2] = upper[:2] = middle[:2]
    lower[2], upper[3] = -np.inf, np.inf
    rows, columns = np.nonzero(np.ones((m, n)))
    products = NO_PRODUCTS
    sign = -1.0 if maximise else 1.0
    if quadratic:
        root = random.normal(size=(3, n)) * (random.random((3, n)) < 0.7)
        weight = root.T @ root
        first, second = np.tril_indices(n)
        values = np.where(first == second, 0.5, 1.0) * weight[first, second] * sign
        products = Products(np.full(len(first), OBJECTIVE), first, second, values)
    return Program(
        sense="maximize" if maximise else "minimize",
        cost=random.normal(size=n),
        offset=2.5,
        column_lower=np.zeros(n),
        column_upper=np.full(n, 6.0),
        integrality=np.arange(n) < (4 if integer else 0),
        row_starts=np.arange(m + 1) * n,
        row_columns=columns,
        row_values=matrix[rows, columns],
        row_lower=lower,
        row_upper=upper,
        products=products,
    )


def curvature(program: Program, x: np.ndarray) -> np.ndarray:
    """Return the gradient of the quadratic part."""
    p, result = program.products, np.zeros(len(x))
    np.add.at(result, p.first, p.values * x[p.second])
    np.add.at(result, p.second, p.values * x[p.first])
    return result


def dense(program: Program) -> np.ndarray:
    return program.row_values.reshape(program.row_count, program.column_count)


def assert_optimal(program: Program, result) -> None:  # type: ignore[no-untyped-def]
    """Assert feasibility, stationarity, signs of the multipliers and that the dual value agrees."""
    sign = -1.0 if program.sense == "maximize" else 1.0
    x, y, d = result.x, result.row_dual, result.column_dual
    assert np.allclose(program.cost + curvature(program, x) - dense(program).T @ y, d, atol=1e-6)
    for values, duals, low, high in (
        (dense(program) @ x, sign * y, program.row_lower, program.row_upper),
        (x, sign * d, program.column_lower, program.column_upper),
    ):
        assert np.all(values >= low - 1e-6)
        assert np.all(values <= high + 1e-6)
        # A positive multiplier holds the lower side, a negative one the upper side.
        assert np.all((duals < 1e-5) | (values < low + 1e-5))
        assert np.all((duals > -1e-5) | (values > high - 1e-5))


@pytest.mark.parametrize("quadratic", [False, True])
def test_a_session_outlives_an_infeasible_step(quadratic: bool) -> None:
    program = random_program(np.random.default_rng(3), quadratic=quadratic)
    session = Session(program, HERE)
    before = session.solve()
    kept = program.row_lower.copy(), program.row_upper.copy()
    program.row_lower[0] = program.row_upper[0] = 1e4  # far beyond what the columns can add up to
    broken = session.solve()
    assert broken.status == "infeasible"
    assert broken.farkas is not None
    program.row_lower[:], program.row_upper[:] = kept
    after = session.solve()
    assert after.status == "optimal"
    assert after.objective == pytest.approx(before.objective, rel=1e-7)


@pytest.mark.parametrize("quadratic", [False, True])
def test_crossed_bounds_are_infeasible_by_name(quadratic: bool) -> None:
    program = random_program(np.random.default_rng(4), quadratic=quadratic)
    session = Session(program, HERE)
    session.solve()
    program.column_lower[2] = 9.0
    result = session.solve()
    assert result.status == "infeasible"
    assert "contradict" in result.reason
    program.column_lower[2] = 0.0
    assert session.solve().status == "optimal"


@pytest.mark.parametrize("name", ["cost", "row_values", "row_lower", "column_upper"])
@pytest.mark.parametrize("quadratic", [False, True])
def test_nan_is_refused_again_and_again(name: str, quadratic: bool) -> None:
    program = random_program(np.random.default_rng(5), quadratic=quadratic)
    session = Session(program, HERE)
    session.solve()
    getattr(program, name)[3] = np.nan
    for _ in range(2):
        with pytest.raises(EngiagentError, match="nan"):
            session.solve()


@pytest.mark.parametrize("backend", [None, "scip"])
def test_what_has_no_persistent_solver_is_solved_from_scratch(backend: str | None) -> None:
    program = random_program(np.random.default_rng(8), quadratic=True)
    program.products.values[:] *= -1.0
    options = SolveOptions(backend=backend)
    session = Session(program, options)
    for _ in range(2):
        assert session.solve().objective == pytest.approx(
            solve(program, options, isolate=False).objective, rel=1e-4
        )
        program.cost[0] += 0.5
        session.shift()


def test_a_program_compiled_anew_gets_a_new_solver() -> None:
    class Holder:
        program = random_program(np.random.default_rng(1))

    session = Session(Holder(), HERE)
    session.solve()
    session.shift()
    session.solve()
    Holder.program = random_program(np.random.default_rng(2))
    session.shift()
    assert session.solve().x == pytest.approx(solve(Holder.program, isolate=False).x, abs=1e-7)


def test_a_memory_limit_is_refused() -> None:
    with pytest.raises(EngiagentError, match="memory"):
        Session(random_program(np.random.default_rng(1)), SolveOptions(memory_limit_mb=100))


@pytest.mark.parametrize("quadratic", [False, True])
@pytest.mark.parametrize("integer", [False, True])
def test_bounds_that_cross_by_rounding_are_equal(quadratic: bool, integer: bool) -> None:
    program = random_program(np.random.default_rng(4), integer=integer, quadratic=quadratic)
    session = Session(program, HERE)
    session.solve()
    program.column_lower[7], program.column_upper[7] = 1.1 + 2.2, 3.3
    program.row_lower[4] = program.row_lower[4] - 9  # the value of the column needs room
    program.row_upper[:] = np.where(np.arange(6) < 2, program.row_upper, program.row_upper + 9)
    result = session.solve()
    assert result.status == solve(program, HERE).status
    if result.x is not None:
        assert result.x[7] == pytest.approx(3.3)
    program.column_lower[7] = 3.4
    assert session.solve().status == "infeasible"
    assert "contradict each other" in session.solve().reason


def _changed_at_random(program: Program, random: np.random.Generator) -> None:
    """Change a cost, a bound, a side, a coefficient or a product in place."""
    n, m, whole = program.column_count, program.row_count, random.integers
    kind, j = int(whole(0, 5)), int(whole(0, n))
    low, high = sorted(whole(-6, 7, 2).astype(float))
    ends = [(low, high), (-np.inf, high), (low, np.inf), (high, high), (-np.inf, np.inf)]
    if kind == 0:
        program.cost[j] = whole(-5, 6)
    elif kind == 1:
        program.column_lower[j], program.column_upper[j] = ends[whole(0, 3)]
    elif kind == 2 and m:
        i = int(whole(0, m))
        program.row_lower[i], program.row_upper[i] = ends[whole(0, 5)]
    elif kind == 3 and len(program.row_values):
        program.row_values[whole(0, len(program.row_values))] = whole(-3, 4)
    elif kind == 4 and len(program.products.values):
        program.products.values[whole(0, len(program.products.values))] *= random.choice(
            [2, 0.5, -1]
        )


@pytest.mark.parametrize("kind", ["LP", "QP", "MILP"])
@settings(max_examples=examples(12))
@given(st.integers(0, 2**32 - 1))
def test_any_sequence_of_changes_gives_what_a_fresh_solve_does(kind: str, seed: int) -> None:
    program, random = CLASSES[kind](Draw(seed)), np.random.default_rng(seed)
    try:
        session = Session(program, HERE)
    except EngiagentError:
        return
    for _ in range(6):
        _changed_at_random(program, random)
        try:
            warm = session.solve()
        except EngiagentError:
            # Convexity was lost, and stays lost until it is there again.
            assert classify(program).convexity != "convex"
            continue
        cold = solve(program, HERE, isolate=False)
        assert warm.status == cold.status, (warm.reason, cold.reason)
        if cold.objective is not None:
            assert warm.objective == pytest.approx(cold.objective, rel=2e-6, abs=2e-6)
            assert warm.x is not None
            assert worst_violation(program, warm.x).amount <= 2e-6
