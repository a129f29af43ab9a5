"""What CI systems get: annotations, JUnit, a summary; the action and the hooks as they stand."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import Result
from ruamel.yaml import YAML

from engiagent.cli.ci import SHOWN
from tests.cli.asking import invoke

ROOT = Path(__file__).parents[2]
PROBLEMS = ("planning/rooftop_pv", "battery/market_hall_infeasible")


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two problems, which is the working folder."""
    for name in PROBLEMS:
        shutil.copytree(ROOT / "problems" / name, tmp_path / "problems" / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return tmp_path


def damage(corpus: Path) -> None:
    file = corpus / "problems/planning/rooftop_pv/expert/answer.json"
    file.write_text(file.read_text("utf-8").replace("16200", "16000"), "utf-8")
    blueprint = corpus / "problems/battery/market_hall_infeasible/expert/blueprint.json"
    blueprint.write_text(blueprint.read_text("utf-8")[:-40], "utf-8")


def check(*arguments: object) -> Result:
    return invoke("check", *arguments)


def load(name: str) -> Any:
    return YAML(typ="safe").load((ROOT / name).read_text("utf-8"))


def test_every_form_says_the_same(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damage(corpus)
    page = corpus / "page.md"
    page.write_text("before\n", "utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(page))
    result = check(*shlex.split("problems --github --junit j.xml --summary t.md --json"))
    assert result.exit_code != 0
    json.loads(result.stdout)  # annotations do not get into it

    shown = [line for line in result.stderr.splitlines() if line.startswith("::error ")]
    assert len(shown) == 2
    answer = "problems/planning/rooftop_pv/expert/answer.json"
    line = next(
        i
        for i, text in enumerate(Path(answer).read_text("utf-8").splitlines(), 1)
        if '"objective"' in text
    )
    assert f"::error file={answer},line={line}," in "\n".join(shown)
    assert "problems/battery/market_hall_infeasible/expert/blueprint.json,line=" in "\n".join(shown)

    suite = ElementTree.parse("j.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "1", "1")

    table = Path("t.md").read_text("utf-8")
    assert "0 of 2 as they should be" in table
    assert "the objective is 16200 EUR, the answer says 16000" in table
    assert page.read_text("utf-8") == "before\n" + table


def test_a_sound_corpus_has_no_annotations(corpus: Path) -> None:
    result = check("problems", "--github", "--summary", "t.md")
    assert result.exit_code == 0
    assert "::" not in result.stderr
    assert "2 of 2 as they should be" in Path("t.md").read_text("utf-8")


def test_what_a_file_says_cannot_forge_a_command_or_a_table(corpus: Path) -> None:
    shutil.rmtree("problems/battery")
    file = Path("problems/planning/rooftop_pv/expert/answer.json")
    answer = json.loads(file.read_text("utf-8"))
    answer["verdict"] = "x\n::error file=a::b | <script>alert(1)</script> %0A"
    file.write_text(json.dumps(answer), "utf-8")
    result = check("problems", "--github", "--summary", "t.md")
    commands = [line for line in result.stderr.splitlines() if line.startswith("::")]
    assert len(commands) == 1
    assert "%250A" in commands[0]
    assert "<script>" not in Path("t.md").read_text("utf-8")


def test_only_the_first_few_are_annotated_and_the_rest_counted(corpus: Path) -> None:
    shutil.rmtree("problems/battery")
    for number in range(SHOWN + 3):
        folder = Path(f"problems/p{number}")
        shutil.copytree("problems/planning/rooftop_pv", folder)
        (folder / "expert/blueprint.json").write_text("{", "utf-8")
    shutil.rmtree("problems/planning")
    lines = check("problems", "--github").stderr.splitlines()
    assert sum(line.startswith("::error ") for line in lines) == SHOWN
    assert "::notice::3 more findings are in the summary of this job" in lines


def test_the_action_is_composite_and_every_input_is_used() -> None:
    action = load("action.yml")
    text = (ROOT / "action.yml").read_text("utf-8")
    assert action["runs"]["using"] == "composite"
    for name in action["inputs"]:
        assert f"inputs.{name} " in text, name
    for step in action["runs"]["steps"]:
        if "run" in step:
            assert step["shell"] == "bash"
            # An input in a script could run anything: scripts get theirs from the environment.
            assert "${{" not in step["run"]
