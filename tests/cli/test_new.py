"""What is begun from a template can be audited, run and checked as it stands."""

import json
from pathlib import Path

import pytest

from engiagent.cli.problems import TEMPLATES
from engiagent.text import Problem
from tests.cli.asking import invoke


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_what_is_written_runs_to_a_certificate_and_checks(name: str, place: Path) -> None:
    begun = json.loads(invoke("new", name, "My Site", "--json", "-q").stdout)
    problem = Problem.load(place / "My Site")
    assert (problem.id, problem.family, begun["problem"]) == ("my_site", name, "my_site")
    done = json.loads(invoke("run", "My Site", "--out", "r", "--json", "-q").stdout)
    assert done["verdict"] == "certified", done
    assert invoke("check", "r", "-q").exit_code == 0
    assert invoke("lint", "My Site/problem.md", "-q").exit_code == 0


def test_nothing_is_overwritten_and_an_unknown_template_is_told(place: Path) -> None:
    (place / "mine").mkdir()
    (place / "mine/notes.txt").write_text("mine")
    refused = invoke("new", "battery", "mine")
    assert (refused.exit_code, "not empty" in refused.stderr) == (2, True)
    (place / "link").symlink_to(place / "mine")
    assert invoke("new", "battery", "link").exit_code == 2
    assert "'battery', 'der'" in invoke("new", "castle").stderr
