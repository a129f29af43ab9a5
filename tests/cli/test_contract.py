"""What every command promises: one JSON object, an exit code of the table, no traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from engiagent.cli import exit_codes
from engiagent.cli.app import app
from engiagent.cli.output import print_json, summary
from engiagent.solvers.adapter import Adapter
from engiagent.text import corpus_root
from tests.cli.asking import OUTCOME, invoke


def engiagent(*args: object, **more: Any) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "engiagent", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, **more)


@pytest.mark.parametrize(
    "args",
    [
        ["run", "no/such/problem"],
        ["run", "--engine", "anthropic", "x"],
        ["run", "--engine", "wizard", "x"],
        ["run", "x", "--set", "efficiency"],
        ["run", "x", "--set", "=1"],
        ["run", "x", "--set", "a=1", "--set", "a=2"],
        ["run", "x", "--time-limit", "0"],
        ["run", "x", "--time-limit", "nan"],
        ["run", "x", "--memory-limit", "-3"],
        ["run"],
        ["solve", "no_such.json"],
        ["check", "no_such"],
        ["check", "a", "b", "--solution", "c"],
        ["check", "a", "--map", "x=y"],
        ["lint", "no_such.json"],
        ["report", "no_such"],
        ["problems", "show", "no_such"],
        ["frobnicate"],
    ],
    ids=" ".join,
)
def test_wrong_usage_and_unreadable_input_exit_with_2_and_one_object(args: list[str]) -> None:
    result = invoke(*args, "--json")
    assert result.exit_code == 2, result.stderr
    answer = json.loads(result.stdout)
    assert list(answer) == [*OUTCOME, "error"]
    assert answer["error"]
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("engiagent: ")


def test_without_json_nothing_but_results_goes_to_standard_output() -> None:
    result = invoke("run", "no/such/problem")
    assert (result.exit_code, result.stdout) == (2, "")


def test_help_names_every_exit_code_and_command() -> None:
    text = invoke("--help").stdout
    for code, meaning in exit_codes.MEANINGS.items():
        assert f"{int(code)}  {meaning}" in text
    for name in app.commands:
        assert f"  {name} " in text
        assert invoke(name, "--help").exit_code == 0


def test_version_and_module_entry() -> None:
    done = engiagent("--version")
    assert done.returncode == 0
    assert done.stdout.startswith("engiagent, version ")


@pytest.mark.parametrize(
    ("verdict", "status", "code"),
    [
        ("certified", "optimal", 0),
        ("feasible", "feasible", 0),
        ("feasible", "limit", 0),
        ("violated", "optimal", 1),
        ("violated", "feasible", 1),
        ("proven infeasible", "infeasible", 3),
        ("undecided", "infeasible", 9),
        ("undecided", None, 9),
        ("ill-posed", None, 4),
        ("solved", "optimal", 8),
        ("solved", "limit", 8),
        ("undecided", "limit", 5),
        ("undecided", "feasible", 5),
        ("a verdict of the future", "optimal", 9),
        (None, None, 9),
    ],
)
def test_exit_codes_of_verdicts(verdict: str | None, status: str | None, code: int) -> None:
    assert exit_codes.of_verdict(verdict, status) == code


def test_json_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    nan = float("nan")
    print_json(
        {**summary(), "bound": nan, "violations": [{"amount": float("inf"), "where": {"T": 1}}]}
    )
    answer = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert answer["bound"] is None
    assert answer["violations"] == [{"amount": None, "where": {"T": 1}}]


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    result = invoke("run", "\x1b[2Jgone\x07")
    assert "\x1b" not in result.stderr
    assert "\x07" not in result.stderr


def test_doctor_tries_a_solve() -> None:
    result = invoke("doctor", "--json")
    answer = json.loads(result.stdout)
    assert result.exit_code == 0, answer
    assert answer["self_test"]["ok"]
    assert "a solve in a child process works" in invoke("doctor").stdout


def test_doctor_lists_every_backend_with_its_version_or_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from engiagent.solvers import adapter as adapters
    from engiagent.solvers.registry import BACKENDS, adapter

    there = adapters.distribution_version
    monkeypatch.setattr(
        adapters, "distribution_version", lambda name: None if name == "scs" else there(name)
    )
    listed = {
        entry["backend"]: entry
        for entry in json.loads(invoke("doctor", "--json").stdout)["solvers"]
    }
    assert list(listed) == list(BACKENDS)
    for backend, entry in listed.items():
        gone = bool(adapter(backend).missing())
        assert (entry["version"] is None) == gone
        assert (entry["install"] is None) != gone
    assert listed["highs"]["version"] == there("highspy")
    assert "MINLP" in listed["scip"]["solves"]
    assert "not installed: pip install 'engiagent[solvers]'" in invoke("doctor").stdout


def test_the_reference_page_comes_with_the_command() -> None:
    page = Path(__file__).parents[2] / "docs" / "reference.md"
    assert invoke("schema", "--reference").stdout == page.read_text("utf-8")


def test_an_internal_error_shows_one_line_and_keeps_its_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import tempfile

    from engiagent.cli import doctor

    def explode() -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(doctor, "examine", explode)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    result = invoke("doctor", "--json")
    assert result.exit_code == 70
    (trace,) = tmp_path.iterdir()
    assert "explode" in trace.read_text()
    assert str(trace) in json.loads(result.stdout)["error"]
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("ENGIAGENT_DEBUG", "1")
    assert "Traceback" in invoke("doctor").stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    command = [sys.executable, "-m", "engiagent", "schema"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


def test_a_corpus_leaves_out_by_name_what_no_installed_solver_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with ``pip install engiagent`` alone: HiGHS is there, the other solvers are not."""
    corpus = tmp_path / "corpus"
    for name in ("merchant_day", "solar_commitment_cvar"):
        shutil.copytree(corpus_root() / "battery" / name, corpus / name)
    shutil.copytree(corpus_root() / "der" / "valve_point_turbines", corpus / "valve_point_turbines")
    missing = Adapter.missing
    monkeypatch.setattr(
        Adapter, "missing", lambda self: missing(self) if self.backend == "highs" else ("it",)
    )
    junit = tmp_path / "junit.xml"
    result = invoke("check", corpus, "--junit", junit)
    assert result.exit_code == 0
    assert "2 of 2 as they should be; 1 skipped, named above" in result.stderr
    assert 'skipped="1"' in junit.read_text("utf-8")
    alone = invoke("check", corpus / "valve_point_turbines")
    assert alone.exit_code == 2
    assert "which is not installed" in alone.stderr
