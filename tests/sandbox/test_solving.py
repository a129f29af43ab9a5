"""Scripts of both kinds from problem to certificate, right ones and a cheat."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engiagent.blueprint import Blueprint
from engiagent.cli.app import app
from engiagent.cli.exit_codes import ExitCode, of_error
from engiagent.errors import InputError, SandboxError
from engiagent.run.sandbox.solving import ScriptSolution, solve_by_script
from engiagent.text import Problem
from tests.sandbox.support import CONFINED, ROOT, SCRIPTS

pytestmark = CONFINED

FOLDER = ROOT / "problems/battery/merchant_day"
BLUEPRINT = FOLDER / "expert/blueprint.json"
WITHOUT = shutil.ignore_patterns("requirements.yaml", "answer.json")
ANSWER = json.loads((FOLDER / "expert/answer.json").read_text())["objective"]["value"]


def solve(text: str) -> ScriptSolution:
    """Run a script on the merchant's day."""
    return solve_by_script(text, Problem.load(FOLDER), blueprint=Blueprint.load(BLUEPRINT))


@pytest.mark.parametrize("name", ["merchant_pyomo", "merchant_casadi"])
def test_the_schedule_of_a_right_script_is_certified(name: str) -> None:
    if name.endswith("casadi"):
        pytest.importorskip("casadi")
    found = solve((SCRIPTS / f"{name}.txt").read_text())
    assert found.certificate is not None, found.result.output
    assert found.certificate.verdict == "certified"
    assert found.certificate.objective is not None
    assert found.certificate.objective["value"] == pytest.approx(ANSWER, rel=1e-9)
    assert found.certificate.versions["sandbox"] == str(found.result.layers)
    assert re.fullmatch(
        r"limits, no_new_privs, landlock \d+, seccomp(, bubblewrap)?", str(found.result.layers)
    )


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("(2, 19)", "(2, 25)"), ("0.96 * model", "0.99 * model")],
    ids=["a larger battery", "a better efficiency"],
)
def test_a_script_with_other_data_is_found_out(right: str, wrong: str) -> None:
    text = (SCRIPTS / "merchant_pyomo.txt").read_text()
    assert right in text
    found = solve(text.replace(right, wrong))
    assert found.certificate is not None
    assert found.certificate.verdict == "violated"
    assert found.certificate.violations


def test_what_a_script_claims_is_not_believed() -> None:
    text = (SCRIPTS / "merchant_pyomo.txt").read_text()
    found = solve(text.replace("pyo.value(model.profit)", "1e6"))
    assert found.certificate is not None
    assert found.certificate.objective is not None
    assert found.certificate.objective["value"] == pytest.approx(ANSWER, rel=1e-9)
    assert found.certificate.verdict != "certified"


def test_a_script_without_a_schedule_has_no_certificate() -> None:
    found = solve("raise SystemExit('no idea')")
    assert (found.certificate, found.answer) == (None, None)
    assert "no idea" in str(found.result.reason)


def test_something_has_to_be_checked_against() -> None:
    with pytest.raises(InputError, match="checked against"):
        solve_by_script("", None)


def invoke(*words: object) -> tuple[int, dict[str, Any]]:
    """Run a command with ``--json``."""
    result = CliRunner().invoke(app, [*map(str, words), "--json"])
    said: dict[str, Any] = json.loads(result.stdout)
    return result.exit_code, said


def test_a_kept_certificate_says_the_layers_and_can_be_made_again(tmp_path: Path) -> None:
    script, out = SCRIPTS / "merchant_pyomo.txt", tmp_path / "kept"
    code, said = invoke("sandbox", "run", script, FOLDER, "--blueprint", BLUEPRINT, "--out", out)
    assert (code, said["verdict"]) == (0, "certified")
    kept = json.loads((out / "certificate.json").read_text())
    assert kept["versions"]["sandbox"] == said["sandbox"]
    code, again = invoke("check", "--certificate", out / "certificate.json")
    assert (code, again["verified"]) == (0, True)
    assert [entry["place"] for entry in again["differences"]] == ["$.versions.sandbox"]


def test_a_schedule_is_held_to_the_reading_of_a_problem_without_annotations(tmp_path: Path) -> None:
    """A script's schedule is judged as the same schedule from a file is."""
    shutil.copytree(FOLDER, tmp_path / "p", ignore=WITHOUT)
    out = tmp_path / "kept"
    code, said = invoke(
        "sandbox", "run", SCRIPTS / "merchant_pyomo.txt", tmp_path / "p", "--out", out
    )
    assert said["objective"]["value"] == pytest.approx(ANSWER, rel=1e-9)
    other, foreign = invoke("check", tmp_path / "p", "--solution", out / "schedule.json")
    assert (code, said["verdict"], said["bound"]) == (other, foreign["verdict"], foreign["bound"])
    code, again = invoke("check", "--certificate", out / "certificate.json")
    assert (code, again["verified"]) == (0, True)


def test_the_command_line_says_why_there_is_no_schedule(tmp_path: Path) -> None:
    script = tmp_path / "model.py"
    script.write_text("while True: pass")
    code, said = invoke("sandbox", "run", script, FOLDER, "--time-limit", "0.5")
    assert (code, "time limit" in said["error"]) == (5, True)


def test_the_probe_names_the_layers() -> None:
    code, said = invoke("sandbox", "probe")
    assert (code, said["missing"]) == (0, [])
    assert said["layers"]["landlock"] >= 1


def test_the_refusal_has_an_exit_code_of_its_own() -> None:
    assert of_error(SandboxError(("landlock",))) is ExitCode.SANDBOX
