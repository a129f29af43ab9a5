"""Scripts for CVXPY and CasADi reach our optimum in an interpreter that knows no engiagent."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.scripts.casadi_script import emit_casadi
from engiagent.formulations.scripts.cvxpy_script import emit_cvxpy
from engiagent.solvers import solve
from tests.blueprints import blueprint, constraint, variable

ROOT = Path(__file__).parents[2]
CORPUS = sorted((ROOT / "problems").glob("*/*/expert/blueprint.json"))
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
    (line,) = (line for line in said.splitlines() if line.startswith("objective:"))
    return float(line.partition(":")[2])


@pytest.mark.parametrize("emit", [emit_cvxpy, emit_casadi], ids=["cvxpy", "casadi"])
def test_scripts_reach_our_optimum(emit: Emit, tmp_path: Path) -> None:
    expected: dict[str, float | None] = {}
    for path in (*CORPUS, *FAR):
        text = Blueprint.load(path)
        if any(parameter.status == "missing" for parameter in text.core.parameters):
            continue
        folder = path.parents[1]
        name = f"{folder.name}_{path.stem}"
        program = compile_blueprint(text, folder)
        if not program.is_linear and program.nonlinear:
            continue  # a local optimum may be another one
        result = solve(program, isolate=False)
        (tmp_path / f"{name}.py").write_text(emit(text, folder), encoding="utf-8")
        expected[name] = result.objective
    said = outputs(tmp_path)
    assert said.keys() == expected.keys()
    for name, best in expected.items():
        if best is None:
            assert "there is no optimal schedule" in said[name], name
        else:
            assert objective(said[name]) == pytest.approx(best, rel=1e-6, abs=1e-6), name


def test_a_script_reads_like_the_model() -> None:
    text = blueprint(
        sets=[{"name": "T", "kind": "periods", "periods": 3},
              {"name": "I", "kind": "instants", "of": "T"}],
        decision_variables=[variable("charge", "t in T"), variable("soc", "i in I", unit="kW")],
        constraints=[constraint("soc[t+1] == soc[t] + 0.5*charge[t]", "t in T")],
        objective_function={"sense": "maximize", "unit": "kW", "expression": "soc[last(I)]"},
    )  # fmt: skip
    for emit in (emit_cvxpy, emit_casadi):
        assert "-0.5 * charge - soc[0:3] + soc[1:4]" in emit(text, Path())


def test_names_cannot_break_out_of_a_script(tmp_path: Path) -> None:
    text = blueprint(
        decision_variables=[
            variable("class_", description='"""\nimport os\nos.abort()\n"""'),
            variable("sp", lower=1),
        ],
        constraints=[
            constraint("class_ + sp >= 3", name="\\N{DELETE}\n''' + exit()", constraint_id="C.1")
        ],
        objective_function={"sense": "minimize", "unit": "kW", "expression": "class_ + 2*sp"},
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
