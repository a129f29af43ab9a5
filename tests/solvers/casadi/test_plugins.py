"""Solvers that other libraries carry, by the names of their families; and C code of a program."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.program import Program
from engiagent.solvers.casadi.codegen import codegen
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solving import solve
from tests.verify.small import document, rule

POSITIVE = [{"name": name, "lower": 0, "upper": 10, "unit": "kW"} for name in ("x", "y")]


def program(goal: str) -> Program:
    """Return a program whose constraint is x + y >= 3 kW."""
    needed = [rule("x + y >= 3[kW]", None)]
    aim = {"sense": "minimize", "expression": goal, "unit": "kW" if "**" not in goal else "kW**2"}
    blueprint: Blueprint = document(POSITIVE, needed, aim)
    return compile_blueprint(blueprint)


@pytest.mark.parametrize(
    ("backend", "goal", "best"),
    [
        ("cvxpy:clarabel", "x + 2*y", 3.0),
        ("cvxpy:scipy", "x + 2*y", 3.0),
        ("casadi:sqpmethod", "x**2 + 2*y**2", 6.0),
        ("casadi:fatrop", "x**2 + 2*y**2", 6.0),
    ],
)
def test_a_solver_of_a_family_finds_the_optimum(backend: str, goal: str, best: float) -> None:
    result = solve(program(goal), SolveOptions(backend=backend))
    assert result.status == "optimal", result.reason
    assert result.objective == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("backend", ["cvxpy:nothing", "casadi:nothing", "nothing:clarabel"])
def test_what_is_not_there_is_refused_with_what_is(backend: str) -> None:
    with pytest.raises(EngiagentError, match="nothing"):
        solve(program("x + 2*y"), SolveOptions(backend=backend), isolate=False)


def test_c_code_gives_what_the_program_gives(tmp_path: Path) -> None:
    given = program("x**2 + 2*y**2")
    code = codegen(given, "site")
    x = np.array([1.0, 2.0])
    assert float(code.functions["objective"](x)) == pytest.approx(given.objective_at(x))
    np.testing.assert_allclose(code.functions["rows"](x).full().ravel(), given.activity_at(x))
    tool = shutil.which("cc")
    if tool is None:
        pytest.skip("no C compiler")
    source, _ = code.write(tmp_path)
    library = tmp_path / "site.so"
    subprocess.run([tool, "-shared", "-fPIC", str(source), "-o", str(library), "-lm"], check=True)
    column, value = (ctypes.c_double * 2)(*x), (ctypes.c_double * 1)()
    given_, found = (ctypes.c_void_p * 1)(), (ctypes.c_void_p * 1)()
    given_[0], found[0] = ctypes.addressof(column), ctypes.addressof(value)
    ctypes.CDLL(str(library)).site_objective(given_, found, None, None, 0)
    assert value[0] == pytest.approx(given.objective_at(x))


def test_a_prefix_is_an_identifier() -> None:
    with pytest.raises(EngiagentError, match="no C identifier"):
        codegen(program("x + 2*y"), "my site")
