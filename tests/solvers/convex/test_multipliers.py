"""Multipliers at points whose solver gave none hold the objective's slope, or there are none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.solvers.convex.multipliers import multipliers_at
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from tests.solvers.conformance.cases import INF, make
from tests.solvers.conformance.test_agreement import CLASSES, Draw
from tests.solvers.effort import examples


@settings(max_examples=examples(15))
@given(st.sampled_from(["LP", "QP"]), st.integers(0, 2**32 - 1))
def test_they_prove_the_optimum_of_a_convex_program(kind: str, seed: int) -> None:
    from engiagent.solvers.convex.optimality import examine

    program = CLASSES[kind](Draw(seed))
    best = solve(program, SolveOptions(backend="highs" if kind == "LP" else "piqp"), isolate=False)
    if best.x is None:
        return
    found = multipliers_at(program, best.x)
    assert found is not None
    account = examine(program, best.x, found[0])
    assert account.gap <= 1e-5
    assert account.column_dual == pytest.approx(found[1], abs=1e-9)


def test_whole_numbers_are_held_where_they_are() -> None:
    # x whole, y whatever covers the rest of the demand, whose price is that of y.
    program = make([2, 3], [([1, 1], 4.5, INF)], whole=[0], squares=[(-1, 0, 0, 1)])
    found = multipliers_at(program, np.array([1.0, 3.5]))
    assert found is not None
    assert found[0] == pytest.approx([3.0])
    assert found[1] == pytest.approx([1.0, 0.0], abs=1e-9)


def test_a_point_that_is_no_optimum_has_none() -> None:
    program = make([1, 1], [([1, 1], 3, INF)])
    assert multipliers_at(program, np.array([1.0, 2.0])) is not None
    assert multipliers_at(program, np.array([2.0, 2.0])) is None
