"""Scripts for CVXPY and CasADi reach our optimum in an interpreter that knows no engiagent."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.formulations.pyomo_script import emit_pyomo
from engiagent.formulations.scripts.casadi_script import emit_casadi
from engiagent.formulations.scripts.cvxpy_script import emit_cvxpy
from engiagent.solvers.solving import solve
from tests.blueprints import blueprint, constraint, parameter, variable
from tests.language.building import blueprint_of, read_case
from tests.sample import blueprints

ROOT = Path(__file__).parents[2]
CORPUS = blueprints(3)
LARGEST = 2_000
SAID = sorted((ROOT / "tests" / "language" / "cases").glob("*/*.yaml"))
FAR = sorted((ROOT / "tests" / "generality" / "blueprints").glob("*.json"))
Emit = Callable[[Blueprint, Path], str]

# Runs every script of a folder and prints what each says; one start of the libraries for all.
RUN_ALL = """
import contextlib, io, json, pathlib, runpy, sys
found = {}
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    said = io.StringIO()
    sys.argv[1:] = []
    with contextlib.redirect_stdout(said):
        try:
            runpy.run_path(str(path), run_name="__main__")
        except SystemExit as ending:
            print("ended:", ending)
        except Exception as error:
            print("broken:", repr(error))
    found[path.stem] = said.getvalue()
assert not [name for name in sys.modules if name.startswith("engiagent")]
print(json.dumps(found))
"""


def outputs(folder: Path) -> dict[str, str]:
    command = [sys.executable, "-I", "-c", RUN_ALL, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    result: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return result


def objective(said: str) -> float:
    lines = [line for line in said.splitlines() if line.startswith("objective:")]
    assert len(lines) == 1, said[-2000:]
    line = lines[0]
    return float(line.partition(":")[2])


def agree(said: dict[str, str], expected: dict[str, float | None]) -> None:
    """Hold what scripts say to our own objectives; None where there is no optimum."""
    assert said.keys() == expected.keys()
    for name, best in expected.items():
        if best is None:
            assert "there is no optimal schedule" in said[name], (name, said[name])
        else:
            assert objective(said[name]) == pytest.approx(best, rel=1e-6, abs=1e-6), name


def decides(program: Program) -> bool:
    """Whether there is anything to decide; Pyomo and CasADi have no word for an empty model."""
    return bool(program.row_count or program.cost.any() or len(program.products.rows))


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Blueprint, Path]]:
    """Every case of the language test-suite that is a programme, with its folder of data."""
    found = {}
    for path in SAID:
        case = read_case(path)
        if {"refused", "diagnostics"} & case["expect"].keys():
            continue
        folder = tmp_path_factory.mktemp("data")
        for name, text in (case.get("files") or {}).items():
            (folder / name).write_text(text, encoding="utf-8")
        document = Blueprint.from_dict(blueprint_of(case))
        missing = any(parameter.status == "missing" for parameter in document.core.parameters)
        if document.kind == "programme" and not missing:
            found[f"{path.parent.name}_{path.stem}"] = document, folder
    return found


@pytest.mark.parametrize("emit", [emit_pyomo, emit_cvxpy, emit_casadi])
def test_every_construct_of_the_language(
    emit: Emit, language: dict[str, tuple[Blueprint, Path]], tmp_path: Path
) -> None:
    expected: dict[str, float | None] = {}
    for name, (document, folder) in language.items():
        program = compile_blueprint(document, folder)
        if not decides(program):
            continue
        try:
            text = emit(document, folder)
        except EngiagentError:
            assert emit is not emit_pyomo, f"{name}: nothing is refused"
            assert program.method or not program.is_linear, name
            continue
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        expected[name] = solve(program, isolate=False).objective
    assert len(expected) > (160 if emit is emit_pyomo else 120)
    agree(outputs(tmp_path), expected)


@pytest.mark.parametrize("emit", [emit_pyomo, emit_cvxpy, emit_casadi])
def test_scripts_reach_our_optimum(emit: Emit, tmp_path: Path) -> None:
    expected: dict[str, float | None] = {}
    for path in (*CORPUS, *FAR):
        text = Blueprint.load(path)
        if any(parameter.status == "missing" for parameter in text.core.parameters):
            continue
        folder = path.parents[1]
        name = f"{folder.name}_{path.stem}"
        program = compile_blueprint(text, folder)
        if program.column_count > LARGEST:
            continue  # scripts of thousands of columns read no better
        if not program.is_linear and program.nonlinear:
            continue  # a local optimum may be another one
        if emit is emit_pyomo and len(program.products.rows) and path in FAR:
            continue  # SCIP, which takes what IPOPT would, is slow to prove a convex optimum
        try:
            script = emit(text, folder)
        except EngiagentError:
            assert emit is not emit_pyomo, f"{name}: nothing is refused"
            assert not program.is_linear, name
            continue
        result = solve(program, isolate=False)
        (tmp_path / f"{name}.py").write_text(script, encoding="utf-8")
        expected[name] = result.objective
    agree(outputs(tmp_path), expected)


TWO_GOALS = {
    "decision_variables": [variable("cheap"), variable("clean")],
    "constraints": [constraint("cheap + clean >= 8")],
    "objective_function": {
        "sense": "minimize",
        "combination": "frontier",
        "terms": [
            {"name": "cost", "expression": "cheap + 3*clean", "unit": "kW"},
            {"name": "soot", "expression": "2*cheap", "unit": "kW"},
        ],
    },
}
UNBOUNDED = {
    "decision_variables": [
        variable("on", type="binary", unit="1", upper=1),
        {"name": "x", "unit": "kW", "lower": 0},
        variable("y", lower=-9),
    ],
    "constraints": [
        constraint("implies(on, x <= 3)"),
        constraint("complements(x >= 0, y + 2 >= 0)", constraint_id="C2"),
    ],
    "objective_function": {"sense": "maximize", "expression": "x - y + 20[kW]*on", "unit": "kW"},
}
RESERVED = {
    "sets": [{"name": "index", "kind": "labels", "elements": ["a", "b"]}],
    "parameters": [parameter("write", [1.0, 2.0], "kW", "index")],
    "decision_variables": [variable("name", "k in index"), variable("flat"), variable("best")],
    "constraints": [
        constraint("name[k] >= write[k]", "k in index", constraint_id="values"),
        constraint("max(flat, best) >= 4", constraint_id="model"),
    ],
    "objective_function": {
        "sense": "minimize",
        "expression": "sum(name[k] for k in index) + flat + 2*best",
        "unit": "kW",
    },
}


@pytest.mark.parametrize("core", [TWO_GOALS, UNBOUNDED, RESERVED])
def test_what_only_pyomo_says(core: dict[str, Any], tmp_path: Path) -> None:
    document = blueprint(**core)
    (tmp_path / "model.py").write_text(emit_pyomo(document), encoding="utf-8")
    agree(outputs(tmp_path), {"model": solve(compile_blueprint(document)).objective})


def test_a_script_reads_like_the_model() -> None:
    text = blueprint(
        sets=[
            {"name": "T", "kind": "periods", "periods": 3},
            {"name": "I", "kind": "instants", "of": "T"},
        ],
        decision_variables=[variable("charge", "t in T"), variable("soc", "i in I", unit="kW")],
        constraints=[constraint("soc[t+1] == soc[t] + 0.5*charge[t]", "t in T")],
        objective_function={"sense": "maximize", "unit": "kW", "expression": "soc[last(I)]"},
    )
    for emit in (emit_pyomo, emit_cvxpy, emit_casadi):
        assert "-0.5 * charge - soc[0:3] + soc[1:4]" in emit(text, Path())


def test_names_cannot_break_out_of_a_script(tmp_path: Path) -> None:
    text = blueprint(
        decision_variables=[
            variable("class_", description='"""\nimport os\nos.abort()\n"""'),
            variable("sp", lower=1),
            variable("open"),
            variable("rows"),
            variable("objective"),
        ],
        constraints=[
            constraint("class_ + sp >= 3", name="\\N{DELETE}\n''' + exit()", constraint_id="C.1")
        ],
        objective_function={
            "sense": "minimize",
            "unit": "kW",
            "expression": "class_ + 2*sp + open",
        },
    )
    for emit in (emit_cvxpy, emit_casadi):  # their copies of HiGHS do not share a process
        (tmp_path / "model.py").write_text(emit(text, tmp_path), encoding="utf-8")
        assert objective(outputs(tmp_path)["model"]) == pytest.approx(4.0, abs=1e-6)


@pytest.mark.parametrize(
    ("emit", "expression", "kind", "words"),
    [
        (emit_cvxpy, "x*y", "continuous", "CVXPY takes convex programs"),
        (emit_casadi, "x*y", "integer", "whole numbers only in MILP"),
    ],
)
def test_what_a_library_cannot_solve_is_refused(
    emit: Emit, expression: str, kind: str, words: str
) -> None:
    text = blueprint(
        decision_variables=[variable("x", unit="1", type=kind), variable("y", unit="1", type=kind)],
        constraints=[constraint("x + y >= 3")],
        objective_function={"sense": "minimize", "expression": expression},
    )
    with pytest.raises(EngiagentError, match=words):
        emit(text, Path())
