"""The exact method for storage chains against HiGHS, and programs that only look like chains."""

import importlib.util

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from engiagent.formulations.program import Program
from engiagent.solvers.chain.solving import solve_chain
from engiagent.solvers.linear import solve_here
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.structure.chain import find_chain
from tests.solvers.structure.instances import INF, Sheet, storage

HAS_NUMBA = importlib.util.find_spec("numba") is not None


def dual_bound(program: Program, y: np.ndarray) -> float:
    """Return the bound that multipliers prove, worked out apart from the solver."""
    sign = -1.0 if program.sense == "maximize" else 1.0
    shape = (program.row_count, program.column_count)
    matrix = csr_array((program.row_values, program.row_columns, program.row_starts), shape=shape)
    reduced = sign * (program.cost - matrix.T @ y)
    reduced[np.abs(reduced) < 1e-10] = 0.0
    total = sign * program.offset
    for slope, low, high in (
        (sign * y, program.row_lower, program.row_upper),
        (reduced, program.column_lower, program.column_upper),
    ):
        end = np.where(slope > 0, low, high)
        total += float((slope[slope != 0] * end[slope != 0]).sum())
    return sign * total


def assert_proven(program: Program, result: SolverResult, objective: float) -> None:
    """Assert that a result is feasible, optimal and proves it by its multipliers."""
    scale = max(1.0, abs(objective))
    assert result.x is not None
    assert result.row_dual is not None
    assert result.objective == pytest.approx(objective, abs=1e-9 * scale)
    assert program.objective_at(result.x) == pytest.approx(objective, abs=1e-9 * scale)
    activity = program.activity_at(result.x)
    assert np.all(activity >= program.row_lower - 1e-9)
    assert np.all(activity <= program.row_upper + 1e-9)
    assert np.all(result.x >= program.column_lower)
    assert np.all(result.x <= program.column_upper)
    assert dual_bound(program, result.row_dual) == pytest.approx(objective, abs=2e-9 * scale)


def assert_right_or_refused(program: Program) -> bool:
    """Assert that the method is right if it answers at all; return whether it answered."""
    chain = find_chain(program)
    result = None if chain is None else solve_chain(program, chain, kernel="plain")
    if result is None:
        return False
    reference = solve_here(program, SolveOptions())
    assert reference.status == "optimal"
    assert reference.objective is not None
    assert_proven(program, result, reference.objective)
    return True


@given(st.integers(0, 2**31))
def test_the_optimum_is_that_of_the_simplex_method(seed: int) -> None:
    assert_right_or_refused(storage(seed))


def test_nearly_every_chain_with_an_optimum_is_answered() -> None:
    # Rounding at a kink may cost the proof of one in a thousand: then HiGHS is asked.
    programs = [storage(seed) for seed in range(150)]
    solvable = [p for p in programs if solve_here(p, SolveOptions()).status == "optimal"]
    answered = [p for p in solvable if assert_right_or_refused(p)]
    assert len(answered) >= 0.99 * len(solvable)


@pytest.mark.skipif(not HAS_NUMBA, reason="numba is optional")
@given(st.integers(0, 2**31))
def test_both_kernels_agree(seed: int) -> None:
    program = storage(seed)
    chain = find_chain(program)
    assert chain is not None
    plain, compiled = (solve_chain(program, chain, kernel=name) for name in ("plain", "numba"))
    if plain is not None and compiled is not None:
        assert plain.objective == pytest.approx(compiled.objective, rel=1e-10, abs=1e-9)


def test_losses_that_leave_the_range_of_floating_point_numbers() -> None:
    # 0.9 ** 8000 is below 1e-366: the units have to jump several times.
    random, sheet, n = np.random.default_rng(5), Sheet(), 8000
    charge = sheet.columns(random.uniform(5, 50, n), 0, 1, n)
    discharge = sheet.columns(-random.uniform(5, 90, n), 0, 1, n)
    states = sheet.columns(0.01, 0, 4, n)
    for t in range(n):
        terms = {states[t]: 1.0, charge[t]: -0.95, discharge[t]: 1 / 0.95}
        if t:
            terms[states[t - 1]] = -0.9
        sheet.row(terms, 0.0, 0.0)
    assert assert_right_or_refused(sheet.program())


def test_two_stores_that_do_not_meet_are_two_chains() -> None:
    random, sheet = np.random.default_rng(6), Sheet()
    for size in (12, 20):
        price = random.uniform(0, 100, size)
        charge, discharge = sheet.columns(price, 0, 1, size), sheet.columns(-price, 0, 1, size)
        states = sheet.columns(0, 0, 3, size)
        for t in range(size):
            terms = {states[t]: 1.0, charge[t]: -0.9, discharge[t]: 1.1}
            if t:
                terms[states[t - 1]] = -1.0
            sheet.row(terms, 0.0 if t else 1.0, 0.0 if t else 1.0)
    program = sheet.program()
    chain = find_chain(program)
    assert chain is not None
    assert chain.chains == 2
    assert chain.steps == 32
    assert assert_right_or_refused(program)


def test_a_ring_and_a_billed_peak_are_left_to_the_solver() -> None:
    random, sheet, n = np.random.default_rng(3), Sheet(), 24
    price = random.uniform(-5, 100, n)
    charge, discharge = sheet.columns(price, 0, 1, n), sheet.columns(3 - price, 0, 1, n)
    states = sheet.columns(0, 0, 4, n)
    for t in range(n):
        terms = {states[t]: 1.0, states[t - 1]: -0.99, charge[t]: -0.9, discharge[t]: 1.1}
        sheet.row(terms, 0.0, 0.0)
    assert find_chain(sheet.program()) is None
    sheet.rows[0][0].pop(states[-1])
    assert find_chain(sheet.program()) is not None
    peak = sheet.column(9.0, 0.0, INF)
    for t in range(n):
        sheet.row({charge[t]: 1.0, peak: -1.0}, -INF, 0.0)
    assert find_chain(sheet.program()) is None


def test_infeasible_and_unbounded_are_left_to_the_solver() -> None:
    sheet = Sheet()
    charge, states = sheet.columns(1.0, 0.0, 0.1, 4), sheet.columns(0.0, 0.0, 9.0, 4)
    for t in range(4):
        terms = {states[t]: 1.0, charge[t]: -1.0}
        if t:
            terms[states[t - 1]] = -1.0
        sheet.row(terms, 0.0, 0.0)
    sheet.lower[states[-1]] = 5.0
    program = sheet.program()
    chain = find_chain(program)
    assert chain is not None
    assert solve_chain(program, chain) is None
