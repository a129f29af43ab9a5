"""Hostile files, group by group, through the doors that strangers' files come in by.

What is hostile about tables and paths is in ``tests/problems/test_bad_input.py`` and
``test_files.py``, about schedules, JSON, YAML and binary files in ``tests/verify/test_hostile.py``;
here are the groups that have no other door, and that nothing in the package could execute input.
"""

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.solvers.solution import load_solution
from engiagent.text import Problem
from tests.blueprints import constraint, document, variable
from tests.pace import soon

ROOT = Path(__file__).parents[2]
PACKAGE = ("engiagent", "models", "formulations", "solvers", "problems", "verify")
SECONDS = 10.0
"""Of processor time; the naive readers of these took minutes, or memory, or a shell."""
SHELL = "__import__('os').system('touch owned')"


@pytest.fixture(autouse=True)
def harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    with soon(SECONDS):
        yield
    assert not (tmp_path / "owned").exists()


def blueprint(expression: str = "x[t] <= 5", **core: Any) -> dict[str, Any]:
    small: dict[str, Any] = {
        "sets": [{"name": "T", "kind": "range", "start": 0, "stop": 3}],
        "decision_variables": [variable("x", "t in T")],
        "constraints": [constraint(expression, "t in T", category="Physical Laws")],
    }
    return document(**small | core)


def errors(written: dict[str, Any], folder: Path) -> list[str]:
    """Return what is said of a document; nothing would mean that it was taken."""
    try:
        given = Blueprint.from_dict(written)
        found = [d.message for d in analyse(given, folder).diagnostics if d.severity == "error"]
        if not found:
            compile_blueprint(given, folder)
    except EngiagentError as error:
        found = [str(error)]
    return found


UNITS = {
    "huge power": "m**9999999999",
    "tower of powers": "9**9**9*m",
    "long product": "*".join(["kWh"] * 20_000),
    "parentheses": "(" * 3_000 + "m" + ")" * 3_000,
    "digits": "9" * 100_000,
    "offset times a number": "20 degC * 2",
    "molar": "5 M",
    "two prefixes": "kkW",
    "a currency of nobody": "USX",
    "execution": SHELL,
}


@pytest.mark.parametrize("kind", UNITS)
def test_a_hostile_unit_is_a_finding(kind: str, tmp_path: Path) -> None:
    unit = UNITS[kind]
    parameters = [{"name": "p", "value": 1, "unit": unit}]
    assert errors(blueprint(parameters=parameters), tmp_path)
    # In the header of a file and in a text a unit that is none is no unit, and nothing else.
    (tmp_path / "problem.md").write_text(f"# A\n\nThe load is 5 {unit[:2000]}, see p.csv.\n")
    (tmp_path / "p.csv").write_text(f'time,"load [{unit[:250]}]"\n2025-01-01 00:00,1\n')
    try:
        problem = Problem.load(tmp_path / "problem.md")
    except EngiagentError:
        return
    assert all(q.unit is None or str(q.unit) != unit for q in problem.quantities)


FAMILY = ["t in T", "u in T", "v in T", "w in T"]


def test_a_family_of_a_million_millions_is_refused_before_it_is_built(tmp_path: Path) -> None:
    sets = [{"name": "T", "kind": "range", "start": 0, "stop": 999}]
    row = constraint("x[t, u, v, w] <= 1", *FAMILY, category="Physical Laws")
    wide = [variable("x", *FAMILY, upper=1)]
    assert errors(blueprint(sets=sets, decision_variables=wide, constraints=[row]), tmp_path)
    total = blueprint("x[t] <= sum(1 for a in T for b in T for c in T for d in T)*1[kW]", sets=sets)
    assert errors(total, tmp_path)


class Owned:
    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("open('owned', 'w')",))


def test_a_pickled_array_is_no_solution(tmp_path: Path) -> None:
    for name in ("solution.nc", "plan.npy"):
        np.save(tmp_path / "a.npy", np.array([Owned()], dtype=object), allow_pickle=True)
        (tmp_path / "a.npy").rename(tmp_path / name)
        with pytest.raises(EngiagentError):
            load_solution(tmp_path / name)
    (tmp_path / "solution.nc").write_bytes(pickle.dumps(Owned()))
    with pytest.raises(EngiagentError):
        load_solution(tmp_path / "solution.nc")


def test_a_small_file_of_large_arrays_is_refused(tmp_path: Path) -> None:
    """64 MB of zeros in a fifth of one at most."""
    path = tmp_path / "solution.nc"
    zeros = xr.Dataset({"charge": ("t", np.zeros(8_000_000))})
    zeros.to_netcdf(path, encoding={"charge": {"zlib": True, "complevel": 9}}, engine="netcdf4")
    assert path.stat().st_size < 200_000
    with pytest.raises(EngiagentError, match="more numbers than its file holds"):
        load_solution(path)


CALLS = {"eval", "exec", "compile", "__import__", "sympify", "unsafe_load"}
HELD = {
    "engiagent/run/sandbox/child.py",  # runs scripts, confined
    "engiagent/tools/planning.py",  # a tool called compile
}
MODULES = {"pickle", "marshal", "shelve", "sympy", "lark", "yaml", "dill", "cloudpickle"}
_NAMES = "|".join([*CALLS, *MODULES, "system", "popen", "shell", "allow_pickle"])
WORDS = re.compile(rf"\b({_NAMES})\b")


def test_nothing_in_the_package_could_execute_what_it_reads() -> None:
    found = []
    for part in PACKAGE:
        for path in sorted((ROOT / part).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            text = path.read_text("utf-8")
            tree = ast.parse(text if WORDS.search(text) else "")
            found += [f"{name}: {what}" for what in _suspicious(tree) if name not in HELD]
    assert found == []


def _suspicious(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS:
                yield called.id
            if isinstance(called, ast.Attribute) and called.attr in {"unsafe_load", "popen"}:
                yield called.attr
            if ast.unparse(called) == "os.system":
                yield "os.system"
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name.split(".")[0] in MODULES)
        if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] in MODULES:
            yield str(node.module)
        if isinstance(node, ast.keyword) and node.arg in ("allow_pickle", "shell"):
            yield from () if ast.unparse(node.value) == "False" else (node.arg,)
