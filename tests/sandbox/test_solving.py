"""Scripts from problem to certificate, right ones and a cheat."""

import json
from pathlib import Path

import pytest

from engiagent.blueprint import Blueprint
from engiagent.cli.exit_codes import ExitCode, of_error
from engiagent.errors import SandboxError
from engiagent.run.certify import certify
from engiagent.run.sandbox.limits import RESULT, Limits
from engiagent.run.sandbox.running import run_script
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
from tests.sandbox.support import CONFINED, ROOT, SCRIPTS

pytestmark = CONFINED

FOLDER = ROOT / "problems/battery/merchant_day"
BLUEPRINT = FOLDER / "expert/blueprint.json"
ANSWER = json.loads((FOLDER / "expert/answer.json").read_text())["objective"]["value"]


def solve(text: str, folder: Path) -> Certificate:
    """Run a script on the merchant's day and have its schedule certified."""
    problem = Problem.load(FOLDER)
    result = run_script(text, FOLDER, tuple(problem.data), Limits())
    assert result.status == "done", result.output
    (folder / RESULT).write_text(result.answer)
    blueprint = Blueprint.load(BLUEPRINT)
    return certify(problem, folder / RESULT, blueprint, folder=FOLDER, name="script")


@pytest.mark.parametrize("name", ["merchant_pyomo", "merchant_casadi"])
def test_the_schedule_of_a_right_script_is_certified(name: str, tmp_path: Path) -> None:
    pytest.importorskip(name.rpartition("_")[2])
    found = solve((SCRIPTS / f"{name}.txt").read_text(), tmp_path)
    assert found.verdict == "certified"
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(ANSWER, rel=1e-9)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [("(2, 19)", "(2, 25)"), ("0.96 * model", "0.99 * model")],
    ids=["a larger battery", "a better efficiency"],
)
def test_a_script_with_other_data_is_found_out(right: str, wrong: str, tmp_path: Path) -> None:
    text = (SCRIPTS / "merchant_pyomo.txt").read_text()
    assert right in text
    found = solve(text.replace(right, wrong), tmp_path)
    assert found.verdict == "violated"
    assert found.violations


def test_what_a_script_claims_is_not_believed(tmp_path: Path) -> None:
    text = (SCRIPTS / "merchant_pyomo.txt").read_text()
    found = solve(text.replace("pyo.value(model.profit)", "1e6"), tmp_path)
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(ANSWER, rel=1e-9)
    assert found.verdict != "certified"


def test_the_refusal_has_an_exit_code_of_its_own() -> None:
    assert of_error(SandboxError(("landlock",))) is ExitCode.SANDBOX
