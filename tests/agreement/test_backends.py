"""Every backend that takes a class finds the same optimum, and multipliers that prove it.

A few blueprints of each class by default; ``ENGIAGENT_EXAMPLES=500`` draws as many.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.solvers.registry import BACKENDS, adapter
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.selection import refusals
from engiagent.solvers.solving import solve
from tests.agreement.strategies import CLASSES, Drawn, drawn
from tests.sample import blueprints

CORPUS = blueprints(3)
CLOSE = 1e-5
LARGEST = 1_000
"""Columns of a program up to which the slowest backend takes seconds."""
EXAMPLES = int(os.environ.get("ENGIAGENT_EXAMPLES", "6"))


@cache
def backends() -> tuple[str, ...]:
    return tuple(name for name in (*BACKENDS, "pyomo:highs") if _there(name))


def _there(name: str) -> bool:
    return not adapter(name).missing()


def takers(program: Program) -> list[str]:
    """Return the backends that take any program of this class."""
    found = classify(program)
    special = ("chain", "exclusive")  # these ask for a structure as well
    names = (name for name in backends() if name not in special)
    return [name for name in names if not refusals(adapter(name), program, found)]


def answers(program: Program) -> dict[str, SolverResult]:
    return {
        name: solve(program, SolveOptions(backend=name), isolate=False) for name in takers(program)
    }


FIRST_ORDER = ("osqp", "scs")
"""Methods that may run out of iterations on badly scaled programs, and then say so."""


def gave_up(name: str, result: SolverResult) -> bool:
    return name in FIRST_ORDER and "maximum iterations" in (result.reason or "")


def agree(program: Program, found: dict[str, SolverResult]) -> None:
    found = {name: result for name, result in found.items() if not gave_up(name, result)}
    proven = {name: result for name, result in found.items() if result.status == "optimal"}
    assert len(proven) >= 1
    for name, result in found.items():
        assert result.status in ("optimal", "feasible"), f"{name}: {result.status}, {result.reason}"
    reference = next(iter(proven.values())).objective
    assert reference is not None
    room = CLOSE * max(1.0, abs(reference))
    for name, result in proven.items():
        assert result.objective == pytest.approx(reference, abs=room), name
        if result.row_dual is not None and not program.is_mip:
            assert_stationary(program, result, name)


def assert_stationary(program: Program, result: SolverResult, name: str) -> None:
    """Hold reduced costs to what they are: ∂(objective − multipliers × rows)/∂x, by differences."""
    x, rows, columns = result.x, result.row_dual, result.column_dual
    assert x is not None
    assert rows is not None
    assert columns is not None

    def lagrangian(point: np.ndarray) -> float:
        return program.objective_at(point) - float(rows @ program.activity_at(point))

    step = 1e-5
    sign = 1.0 if program.sense == "minimize" else -1.0
    size = 1e-4 * max(1.0, float(np.abs(rows).max(initial=0.0)), float(np.abs(columns).max()))
    for j in range(program.column_count):
        along = np.zeros(program.column_count)
        along[j] = step
        slope = (lagrangian(x + along) - lagrangian(x - along)) / (2 * step)
        assert slope == pytest.approx(columns[j], abs=size), f"{name}: column {j}"
        lower, upper = program.column_lower[j], program.column_upper[j]
        if x[j] - lower > 1e-4 and upper - x[j] > 1e-4:
            assert abs(columns[j]) <= size, f"{name}: column {j} is free"
        elif upper - lower > 1e-4:
            outward = columns[j] * sign * (1.0 if x[j] - lower <= 1e-4 else -1.0)
            assert outward >= -size, f"{name}: the reduced cost of column {j} has the wrong sign"


@pytest.mark.parametrize("aim", CLASSES)
def test_backends_agree_on_random_blueprints(aim: str) -> None:
    met: set[str] = set()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(drawn(aim))
    def check(item: Drawn) -> None:
        program = compile_blueprint(item.blueprint)
        met.add(classify(program).problem_class)
        agree(program, answers(program))

    check()
    assert aim in met


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.parents[1].name)
def test_backends_agree_on_the_corpus(path: Path) -> None:
    blueprint = Blueprint.load(path)
    if any(parameter.status == "missing" for parameter in blueprint.core.parameters):
        pytest.skip("its data are incomplete")
    program = compile_blueprint(blueprint, path.parents[1])
    if program.column_count > LARGEST:
        pytest.skip("too large for the slowest backend")
    found = answers(program)
    if all(result.status == "infeasible" for result in found.values()):
        return
    agree(program, found)
