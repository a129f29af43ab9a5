"""Several goals: earlier ones are kept, limits hold, a front is a front."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engiagent.errors import EngiagentError
from engiagent.formulations.program import Goal, Program
from engiagent.solvers.goals import frontier, goal_values
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from tests.solvers.test_solve import dense

# Two units meet a load of 10: one is cheap and dirty, the other dear and clean.
COST = Goal("cost", "minimize", np.array([1.0, 3.0]), 5.0, "EUR")
CARBON = Goal("carbon", "minimize", np.array([4.0, 1.0]), 0.0, "kg")
OUTPUT = Goal("first", "maximize", np.array([1.0, 0.0]), 0.0, "kW")


def two_units(*goals: Goal, method: Any = "lexicographic") -> Program:
    first = goals[0]
    program = dense(
        first.cost, [0, 0], [8, 9], [[1, 1]], [10], [10], sense=first.sense, offset=first.offset
    )
    return replace(program, goals=goals, method=method)


def here(program: Program, options: SolveOptions | None = None) -> SolverResult:
    return solve(program, options, isolate=False)


def test_the_first_goal_decides_and_the_second_only_breaks_ties() -> None:
    result = here(two_units(COST, CARBON))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(8 + 6 + 5)
    assert result.x == pytest.approx([8, 2])
    assert here(two_units(CARBON, COST)).x == pytest.approx([1, 9])
    assert "carbon 34 kg" in result.reason


def test_a_tolerance_gives_the_second_goal_room() -> None:
    generous = replace(COST, tolerance=4.0)
    result = here(two_units(generous, CARBON))
    # Two units of load move over, for 2 EUR each.
    assert result.x == pytest.approx([6, 4])
    assert [item.value for item in goal_values(two_units(generous, CARBON), result.x)] == (
        pytest.approx([23, 28])
    )


def test_a_limit_binds() -> None:
    result = here(two_units(COST, replace(CARBON, limit=22.0), method="epsilon"))
    assert result.x == pytest.approx([4, 6])
    assert result.objective == pytest.approx(4 + 18 + 5)
    assert result.row_dual is None  # multipliers of another program prove nothing about this one


def test_a_missing_limit_is_said() -> None:
    with pytest.raises(EngiagentError, match="carbon needs a limit"):
        here(two_units(COST, CARBON, method="epsilon"))


def test_a_front_runs_from_one_best_to_the_other_and_never_improves_both() -> None:
    program = two_units(COST, CARBON, method="frontier")
    points = frontier(program, here, points=8)
    values = np.array(
        [[item.value for item in goal_values(program, r.x)] for r in points if r.x is not None]
    )
    assert len(points) == 8
    assert values[0] == pytest.approx([19, 34])
    assert values[-1] == pytest.approx([33, 13], abs=1e-6)
    assert np.all(np.diff(values[:, 0]) > 0)
    assert np.all(np.diff(values[:, 1]) < 0)
    # On a linear front, cost is linear in carbon: 2 EUR for 3 kg.
    assert np.diff(values[:, 0]) / np.diff(values[:, 1]) == pytest.approx(np.full(7, -2 / 3))
