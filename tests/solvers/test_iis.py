"""Irreducible infeasible sets: infeasible as a whole, feasible without any member, and proven."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.formulations.program import ColumnBlock, Program, RowBlock
from engiagent.solvers import farkas, linear
from engiagent.solvers.iis import families_of, irreducible_set, subset
from engiagent.solvers.result import SolveOptions


def program(
    matrix: list[list[float]],
    rows: tuple[list[float], list[float]],
    columns: tuple[list[float], list[float]],
    whole: tuple[int, ...] = (),
) -> Program:
    """Return a program with a block of its own for every row and column."""
    a = np.asarray(matrix, dtype=float)
    m, n = a.shape
    integrality = np.zeros(n, dtype=bool)
    integrality[list(whole)] = True
    return Program(
        sense="minimize",
        cost=np.ones(n),
        column_lower=np.asarray(columns[0], dtype=float),
        column_upper=np.asarray(columns[1], dtype=float),
        integrality=integrality,
        row_starts=np.arange(0, m * n + 1, n),
        row_columns=np.tile(np.arange(n), m),
        row_values=a.ravel(),
        row_lower=np.asarray(rows[0], dtype=float),
        row_upper=np.asarray(rows[1], dtype=float),
        columns=tuple(ColumnBlock(name=f"x{j}", start=j, stop=j + 1, unit="1") for j in range(n)),
        rows=tuple(
            RowBlock(name=f"r{i}", constraint_id=f"R{i}", start=i, stop=i + 1, unit="1")
            for i in range(m)
        ),
    )


INF = np.inf


def names(program: Program) -> set[tuple[str, str]]:
    found = irreducible_set(program)
    assert found is not None
    return {(m.family.name, m.family.side) for m in found.members}


def test_crossing_bounds_are_a_conflict_of_their_own() -> None:
    given = program([[1, 1]], ([0], [9]), ([3, 0], [2, 2]))
    assert names(given) == {("x0", "lower"), ("x0", "upper")}


def test_only_whole_numbers_make_it_infeasible() -> None:
    # 2 x0 + 2 x1 == 3 has points, but none in whole numbers.
    given = program([[2, 2]], ([3], [3]), ([0, 0], [5, 5]), whole=(0, 1))
    found = irreducible_set(given)
    assert found is not None
    assert found.whole_numbers


def test_the_limits_of_whole_numbers_belong_to_a_conflict_that_needs_them() -> None:
    # x0 >= 0.5 and x0 <= 0.8 have points, but none in whole numbers; x1 has no part in it.
    given = program([[1, 0]], ([0.5], [INF]), ([-9, -4], [0.8, 2]), whole=(0, 1))
    found = irreducible_set(given)
    assert found is not None
    assert found.irreducible
    assert names(given) == {("R0", "lower"), ("x0", "upper")}


def test_a_nonlinear_row_is_left_out_and_never_part_of_a_proof() -> None:
    from engiagent.formulations.program import Products

    given = program([[1, 1], [0, 0]], ([5, 1], [INF, 1]), ([0, 0], [1, 2]))
    products = Products(np.array([1]), np.array([1]), np.array([0]), np.array([1.0]))
    assert ("R1", "both") not in names(replace(given, products=products))


def whole(low: int, high: int) -> st.SearchStrategy[float]:
    return st.integers(low, high).map(float)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_infeasible_as_a_whole_and_feasible_without_any_member(data: st.DataObject) -> None:
    m, n = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    small = whole(-3, 3)
    matrix = data.draw(st.lists(st.lists(small, min_size=n, max_size=n), min_size=m, max_size=m))
    lower = data.draw(st.lists(whole(-4, 8), min_size=m, max_size=m))
    width = data.draw(st.lists(st.sampled_from([0.0, 2.0, INF]), min_size=m, max_size=m))
    top = data.draw(st.lists(whole(0, 3), min_size=n, max_size=n))
    given = program(
        matrix, (lower, [a + w for a, w in zip(lower, width, strict=True)]), ([0.0] * n, top)
    )
    found = irreducible_set(given)
    status = linear.solve_here(given, SolveOptions()).status
    assert (found is not None) == (status == "infeasible")
    if found is None:
        return
    assert found.irreducible
    assert found.farkas is not None
    assert farkas.margin(found.program, found.farkas) > 0
    chosen = {m.family for m in found.members}
    families = families_of(replace(given, cost=np.zeros(n)))
    for left_out in chosen:
        rest = {f: p for f, p in families.items() if f in chosen - {left_out}}
        fewer = subset(replace(given, cost=np.zeros(n)), rest)
        assert linear.solve_here(fewer, SolveOptions()).status == "optimal"


@pytest.mark.parametrize("seconds", [1e-9])
def test_without_time_nothing_is_claimed(seconds: float) -> None:
    given = program([[1, 1]], ([5], [INF]), ([0, 0], [1, 2]))
    assert irreducible_set(given, seconds=seconds) is None
