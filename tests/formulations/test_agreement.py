"""One blueprint, two readings: the compiled matrices and the checker's evaluator.

They share the grammar and the elaboration of sets, and little else; at random points of random
blueprints every constraint, named expression and objective must be worth the same in both.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elements import ConstraintDef
from engiagent.blueprint.grammar import Compare, parse
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Block, Program
from engiagent.formulations.pyomo_script import emit_pyomo
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from engiagent.units.unit import parse_unit
from engiagent.verify.documents import Bench, Declarations
from engiagent.verify.series import Series
from tests.blueprints import DAY, blueprint, constraint, variable
from tests.strategies import blueprints

RELATIVE = 1e-9


def point(program: Program, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return a point within the bounds of all columns."""
    low, high = program.column_lower, program.column_upper
    return np.random.default_rng(seed).uniform(low, high)


def bench(document: Blueprint, program: Program, x: np.ndarray[Any, Any]) -> Bench:
    """Return the checker's evaluator with the point as its schedule."""
    series = {}
    for block in program.columns:
        series[block.name] = Series(
            block.name,
            spread(block, x[block.start : block.stop]),
            parse_unit(block.unit),
            block.sets,
        )
    return Bench(Declarations(document.core, None), series)


def spread(block: Block, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return values on the full grid of a block, NaN in its holes."""
    full = np.full(int(np.prod(block.shape, dtype=int)), np.nan)
    full[slice(None) if block.positions is None else block.positions] = values
    return full.reshape(block.shape)


def compiled_slacks(
    program: Program, definition: ConstraintDef, x: np.ndarray[Any, Any]
) -> Iterator[tuple[str, np.ndarray[Any, Any], np.ndarray[Any, Any], str]]:
    """Yield for each comparison its operator, slacks, scales and unit, from the matrices."""
    ops = parse(definition.expression)
    assert isinstance(ops, Compare)
    ids = [block.constraint_id for block in program.rows]
    for number, op in enumerate(ops.ops, 1):
        one = definition.constraint_id in ids
        block = program.row_block(definition.constraint_id + ("" if one else f"__{number}"))
        rows = slice(block.start, block.stop)
        activity = program.activity_at(x)[rows]
        lower, upper = program.row_lower[rows], program.row_upper[rows]
        left_is_upper = one and len(ops.ops) == 2 and (op == ">=") == (number == 1)
        below = op == "<=" if not (one and len(ops.ops) == 2) else left_is_upper
        bound = upper if below or op == "==" else lower
        scale = Program.activity_at(with_absolute(program), np.abs(x))[rows] + np.abs(bound)
        yield op, (bound - activity if below or op == "==" else activity - bound), scale, block.unit


def with_absolute(program: Program) -> Program:
    """Return a program with absolute coefficients, to measure what may round."""
    from dataclasses import replace

    return replace(program, row_values=np.abs(program.row_values))


def assert_close(a: Any, b: Any, scale: Any, what: str) -> None:
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    assert a.shape == b.shape, f"{what}: {a.shape} and {b.shape}"
    assert np.all(np.abs(a - b) <= RELATIVE * (np.asarray(scale) + 1e-6)), f"{what}: {a} and {b}"


def check_checker(document: Blueprint, program: Program, x: np.ndarray[Any, Any]) -> None:
    """Compare the matrices with the checker's evaluator, which works in SI units."""
    own = bench(document, program, x)
    for definition in document.core.constraints:
        frame = own.evaluator.frame(definition.forall, definition.where)
        pairs = own.evaluator.compared(definition.expression, frame)
        for (op, left, right), (_, slack, scale, unit) in zip(
            pairs, compiled_slacks(program, definition, x), strict=True
        ):
            factor = float(parse_unit(unit).factor)
            theirs = (right.data - left.data if op != ">=" else left.data - right.data) / factor
            size = scale + (left.size + right.size) / factor
            mine = slack if op != "==" else np.abs(slack)
            theirs = theirs if op != "==" else np.abs(theirs)
            assert_close(mine, theirs, size, f"{definition.expression} in the checker")
    objective = document.core.objective_function
    assert objective is not None
    assert objective.expression is not None
    value = own.evaluator.evaluate(objective.expression)
    factor = float(parse_unit(program.objective_unit).factor)
    if value.bare:
        factor = 1.0
    assert_close(
        program.objective_at(x),
        float(value.data[0]) / factor,
        float(value.size[0]) / factor,
        f"{objective.expression} in the checker",
    )
    for block in program.expressions:
        if block.positions is None:
            found = own.evaluator.environment.symbol(block.name).value
            assert found is not None
            ours = block.evaluate(x) * float(parse_unit(block.unit).factor)
            assert_close(ours, found.data, found.size, f"the checker's {block.name}")


@settings(
    max_examples=100,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(blueprints(), st.integers(0, 2**32 - 1))
def test_matrices_and_checker_agree_on_random_blueprints(document: Blueprint, seed: int) -> None:
    program = compile_blueprint(document)
    x = point(program, seed)
    check_checker(document, program, x)


# Where they were found to differ, with a comment each.
FOUND = [
    ("x[t] - prev(x[t], 3) <= 10", "t in S"),  # a step back is one of the whole set
    ("y[t] - prev(y[t], 3) <= 10", "t in S"),  # y begins where S begins
    ("x[t] + (prev(x[t], 0.5[MW]) + 3) <= 10", "t in T"),  # prev has the unit of x
    ("2 >= total + 3 >= x[t]", "t in T"),  # a named expression has the unit that it declares
    ("x[t] + (total if pos(t) > 1 else 0.5[kW]) + 3 <= 10", "t in T"),
    ("3 == x[t] == 5", "t in T"),  # two rows, no range
    ("3[kW] <= x[t] <= 2[kW]*pos(t)", "t in T"),  # a range with its limits crossed at first
    ("prev(e[c], 3) <= x[first(T)]*1[h]", "c in C"),  # edges do not go round
]


def _found(expression: str, forall: str, where: str) -> Blueprint:
    return blueprint(
        sets=[
            DAY,
            {"name": "S", "kind": "subset", "of": "T", "where": where},
            {"name": "C", "kind": "periods", "periods": 3, "cyclic": True},
            {"name": "E", "kind": "instants", "of": "C"},
        ],
        decision_variables=[
            variable("x", "t in T"),
            variable("y", "t in S"),
            variable("e", "i in E", unit="kWh"),
        ],
        expressions=[{"name": "total", "expression": "sum(x[t] for t in T)", "unit": "MW"}],
        constraints=[constraint(expression, forall)],
        objective_function={"sense": "minimize", "expression": "x[last(T)]", "unit": "kW"},
    )


@pytest.mark.parametrize(("expression", "forall"), FOUND)
def test_checker_agrees_where_they_once_differed(expression: str, forall: str) -> None:
    document = _found(expression, forall, "pos(t) > 0")
    program = compile_blueprint(document)
    check_checker(document, program, point(program, 1))


# --- the same optimum ----------------------------------------------------------------------------


def run_script(document: Blueprint, folder: Path) -> tuple[str, float | None]:
    """Run the emitted script by itself, without engiagent, and return status and objective."""
    (folder / "model.py").write_text(emit_pyomo(document), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "model.py", "out.csv"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    lines = dict(line.split(": ") for line in done.stdout.splitlines())
    return lines["status"], float(lines["objective"]) if "objective" in lines else None


@settings(max_examples=3, deadline=None, derandomize=True, database=None, phases=[Phase.generate])
@given(document=blueprints())
def test_script_of_a_random_blueprint_reaches_the_solvers_objective(
    document: Blueprint, tmp_path_factory: pytest.TempPathFactory
) -> None:
    result = solve(compile_blueprint(document), SolveOptions(gap=0.0), isolate=False)
    status, objective = run_script(document, tmp_path_factory.mktemp("script"))
    assert status == result.status
    if objective is not None and result.objective is not None:
        assert objective == pytest.approx(result.objective, rel=1e-6, abs=1e-6)
