"""Scripts of both kinds from problem to certificate, right ones and a cheat."""

import json
import re

import pytest

from engiagent.blueprint import Blueprint
from engiagent.cli.exit_codes import ExitCode, of_error
from engiagent.errors import InputError, SandboxError
from engiagent.run.sandbox.solving import ScriptSolution, solve_by_script
from engiagent.text import Problem
from tests.sandbox.support import CONFINED, ROOT, SCRIPTS

pytestmark = CONFINED

FOLDER = ROOT / "problems/battery/merchant_day"
BLUEPRINT = FOLDER / "expert/blueprint.json"
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


def test_the_refusal_has_an_exit_code_of_its_own() -> None:
    assert of_error(SandboxError(("landlock",))) is ExitCode.SANDBOX
