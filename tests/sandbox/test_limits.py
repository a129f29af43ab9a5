"""Scripts that take too much, say too much or answer wrongly; each ends with its reason."""

import json
import time
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from engiagent.errors import InputError
from engiagent.run.sandbox.limits import Limits, read_answer
from engiagent.run.sandbox.running import ScriptResult, run_script
from tests.sandbox.support import CONFINED

pytestmark = CONFINED

SMALL = Limits(
    seconds=5,
    cpu_seconds=4,
    memory_mb=400,
    file_mb=2,
    folder_mb=4,
    files=50,
    open_files=40,
    threads=12,
    output_kb=100,
)


def run(text: str, **changes: float) -> ScriptResult:
    """Run a script's text under small limits."""
    return run_script(text, None, (), Limits(**{**vars(SMALL), **changes}))


TOO_MUCH = YAML(typ="safe").load(Path(__file__).with_name("limits.yaml"))


@pytest.mark.parametrize("kind", TOO_MUCH)
def test_a_script_that_takes_too_much_is_ended(kind: str) -> None:
    case = TOO_MUCH[kind]
    began = time.monotonic()
    result = run(case["text"], **case["changes"])
    assert result.status == "limit", result
    assert case["reason"] in str(result.reason)
    assert time.monotonic() - began < case["changes"].get("seconds", SMALL.seconds) + 6
    assert not result.answer


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("open('big', 'wb').write(bytes(3_000_000))", "File too large"),
        ("files = [open('/dev/null') for _ in range(100)]", "Too many open files"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
        ("import ctypes; ctypes.string_at(0)", "signal 11"),
        ("import os; os.abort()", "signal 6"),
        ("raise RuntimeError('no plan')", "no plan"),
        ("import sys; sys.exit(3)", "exit code 3"),
        ("import os; os.closerange(0, 999); os._exit(4)", "exit code 4"),
        ("this is no Python", "SyntaxError"),
        ("pass", "schedule.json is not there"),
    ],
)
def test_a_script_that_fails_says_how(text: str, said: str) -> None:
    result = run(text)
    assert result.status == "failed"
    assert said in str(result.reason)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"x": [NaN]}', "not finite"),
        ('{"x": [1e999]}', "too large"),
        ('{"x": [1], "x": [2]}', "stands twice"),
        ('{"x": ["one"]}', "number"),
        ('{"x": [true]}', "number"),
        ('{"x": [[1, 2], [3]]}', "no number"),
        ('{"x": [[1, 2], 3]}', "number"),
        ('{"status": "optimal"}', "no number"),
        ('{"x": ' + "9" * 400 + "}", "300 digits"),
        ("[1, 2]", "no object"),
        ("{}", "no object"),
        ('{"a": ' + '{"b": 1}' * 1000 + "}", "no object"),
        ('{"x": ' + "[" * 100, "nested"),
        ('{"x": [' + "1," * 1_200_000 + "1]}", "too large"),
        ("\ud800", "UTF-8"),
    ],
)
def test_an_answer_is_numbers_or_refused(tmp_path: Path, answer: str, said: str) -> None:
    (tmp_path / "schedule.json").write_bytes(answer.encode(errors="surrogatepass"))
    with pytest.raises(InputError, match=said):
        read_answer(tmp_path, 2_000_000)


def test_a_folder_in_the_place_of_the_answer_is_none() -> None:
    result = run("import os; os.mkdir('schedule.json')")
    assert result.status == "failed"
    assert "Is a directory" in str(result.reason)


def test_a_script_sees_the_data_it_is_given_and_nothing_else(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "prices.csv").write_text("1")
    (data / "other.csv").write_text("2")
    (data / "link.csv").symlink_to("/etc/passwd")
    script = "import os; print(sorted(os.listdir('.')), sorted(os.environ))"
    said = run_script(script, data, ["prices.csv"], SMALL).output
    assert said.startswith("['model.py', 'prices.csv'] ['HOME', 'LANG', 'OMP")
    with pytest.raises(InputError, match="link"):
        run_script(script, data, ["link.csv"], SMALL)


LIBRARIES = {
    "highspy": "import highspy; h = highspy.Highs(); h.silent(); x = h.addVariable(ub=3); "
    "h.maximize(x); answer = h.val(x)",
    "pyscipopt": "from pyscipopt import Model; m = Model(); m.hideOutput(); "
    "x = m.addVar(ub=3.9, vtype='I'); m.setObjective(x, 'maximize'); m.optimize(); "
    "answer = m.getVal(x)",
    "casadi": "import casadi as c; x = c.SX.sym('x'); s = c.nlpsol('s', 'ipopt', "
    "{'x': x, 'f': (x - 3)**2}, {'print_time': 0}); answer = float(s()['x'])",
    "scipy": "from scipy.optimize import linprog; answer = linprog([-1], bounds=(0, 3)).x[0]",
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_libraries_that_bring_their_solver_along_work_as_ever(library: str) -> None:
    pytest.importorskip(library)
    tail = "import json, sys; json.dump({'x': answer}, open(sys.argv[1], 'w'))"
    result = run(f"{LIBRARIES[library]}\n{tail}", seconds=30, cpu_seconds=30)
    assert result.status == "done", result.output
    assert json.loads(result.answer)["x"] == pytest.approx(3, abs=1e-6)


@pytest.mark.parametrize(
    "content",
    [
        b'{"a": [' + b"0," * 3_000_000 + b"0]}",
        b'{"a": ' + b"[" * 3_000_000,
        b'{"a": [' + b"1.5, " * 8_000_001 + b"0]}",
    ],
)
def test_an_answer_is_measured_before_it_is_parsed(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "schedule.json").write_bytes(content)
    began = time.monotonic()
    with pytest.raises(InputError):
        read_answer(tmp_path, 100_000_000)
    assert time.monotonic() - began < 2.0
