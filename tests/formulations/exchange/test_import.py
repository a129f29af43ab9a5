"""LP and MPS files as blueprints: the same polyhedron, the same optimum, a structure to read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.errors import EngiagentError
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.exchange import import_model, write_lp, write_mps
from engiagent.formulations.exchange.families import split_name
from engiagent.formulations.exchange.names import column_names, texts
from engiagent.formulations.program import Program
from tests.formulations.exchange.programs import highs_of, optimum, programs
from tests.sample import blueprints

GOLDEN = Path(__file__).parent / "golden"
WRITERS: dict[str, Callable[[Program], str]] = {"lp": write_lp, "mps": write_mps}
SLOW = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


def elements(blueprint: Blueprint, program: Program) -> dict[tuple[str, tuple[str, ...]], int]:
    """Return the column of every element, by its name in the file and its labels."""
    found = {}
    for definition in blueprint.core.decision_variables:
        block = program.column_block(definition.name)
        base = definition.symbol or definition.name
        axes = [texts(program.coordinates[name]) for name in block.sets]
        flat = np.arange(block.size) if block.positions is None else block.positions
        for column, place in enumerate(flat.tolist(), block.start):
            where = np.unravel_index(place, block.shape) if block.shape else ()
            labels = tuple(axis[int(k)] for axis, k in zip(axes, where, strict=True))
            parts = tuple(part for label in labels for part in label.split(","))
            found[base, parts] = column
    return found


def matching(program: Program, blueprint: Blueprint, other: Program) -> np.ndarray[Any, Any]:
    """Return, for every column of a program, that of the program of its import."""
    found = elements(blueprint, other)
    keys = [(split_name(name), (name, ())) for name in column_names(program)]
    return np.array([found[key if key in found else alone] for key, alone in keys])


def same(one: float | None, other: float | None) -> None:
    """Assert equal optima, or none on both sides."""
    assert (one is None) == (other is None)
    if one is not None:
        assert one == pytest.approx(other, rel=1e-7, abs=1e-6)


def agree(program: Program, blueprint: Blueprint, seed: int) -> None:
    """Assert equal bounds, equal objectives, and equal optima in a few directions."""
    other = compile_blueprint(blueprint)
    places = matching(program, blueprint, other)
    assert other.sense == program.sense
    assert other.offset == program.offset
    assert np.array_equal(other.cost[places], program.cost)
    assert np.array_equal(other.integrality[places], program.integrality)
    same(optimum(other), optimum(program))
    generator = np.random.default_rng(seed)
    for _ in range(3):
        direction = generator.integers(-3, 4, program.column_count).astype(float)
        there = np.zeros(other.column_count)
        there[places] = direction
        same(optimum(other, there), optimum(program, direction))


@pytest.mark.parametrize("form", WRITERS)
@settings(max_examples=25, suppress_health_check=SLOW)
@given(program=programs(), seed=st.integers(0, 99))
def test_a_program_survives_the_way_through_a_file(
    tmp_path: Path, form: str, program: Program, seed: int
) -> None:
    path = tmp_path / f"model.{form}"
    path.write_text(WRITERS[form](program))
    blueprint = import_model(path)
    assert Blueprint.from_json(blueprint.to_json()) == blueprint
    agree(program, blueprint, seed)


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("path", blueprints(4), ids=str)
def test_the_corpus_survives_the_way_through_a_file(tmp_path: Path, form: str, path: Path) -> None:
    try:
        program = compile_blueprint(Blueprint.load(path), path.parents[1])
    except EngiagentError:
        pytest.skip("nothing to write")
    if classify(program).problem_class not in ("LP", "MILP"):
        pytest.skip("what is imported is linear")
    file = tmp_path / f"model.{form}"
    file.write_text(WRITERS[form](program))
    blueprint = import_model(file)
    assert not analyse(blueprint).errors
    agree(program, blueprint, 1)


def test_structure_is_found_again() -> None:
    blueprint = import_model(GOLDEN / "store.lp")
    found = {c.constraint_id: c.expression for c in blueprint.core.constraints}
    assert found["balance"] == (
        "-0.9*charge[i] + 1.1111111111111112*discharge[i] - soc[i] + soc[i+1] == 0"
    )
    assert found["one_way"] == "charge[i] - 50*charging[i] <= 0"
    assert found["ramp"] == "-20 <= -discharge[i-1] + discharge[i] <= 20"
    assert [v.name for v in blueprint.core.decision_variables] == [
        "charge",
        "discharge",
        "soc",
        "charging",
    ]
    place = blueprint.core.constraints[0].source_reference
    assert (place["file"], place["row"]) == ("store.lp", 5)


FLOW = """
\\ a transshipment over five arcs
Minimize
 cost: 3 f[a,b] + 2 f[a,c] + f[b,c] + 4 f[b,d] + 2 f[c,d]
Subject To
 keep[a]: f[a,b] + f[a,c] >= 10
 keep[b]: f[b,c] + f[b,d] - f[a,b] = 0
 keep[c]: f[c,d] - f[a,c] - f[b,c] = 0
 cap[a,b]: f[a,b] <= 6
 cap[a,c]: f[a,c] <= 7
 cap[b,c]: f[b,c] <= 6
End
"""

KNAPSACK = """
maximize
 2 x1 + 3 x2 + 4 x3 + x4
st
 k1: x1 + 2 x2 + 3 x3 + 4 x4 <= 6
 k2: 4 x1 + 3 x2 + 2 x3 + x4 <= 7
binaries
 x1 x2 x3 x4
end
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (FLOW, {"f[i, j] <= cap_rhs[i, j]"}),
        (KNAPSACK, {"sum(k_x[i, j]*x[j] for j in N) <= k_rhs[i]"}),
    ],
    ids=["flow", "knapsack"],
)
def test_sums_and_tuples_are_found_again(tmp_path: Path, text: str, wanted: set[str]) -> None:
    path = tmp_path / "model.lp"
    path.write_text(text)
    blueprint = import_model(path)
    assert wanted <= {c.expression for c in blueprint.core.constraints}
    program = compile_blueprint(blueprint)
    if "[a,b]" not in text:  # which HiGHS cannot read
        solver = highs_of(path)
        solver.run()
        assert optimum(program) == pytest.approx(solver.getObjectiveValue())
