"""A blueprint in YAML is one for every command that takes a blueprint."""

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.blueprints import document, goal, variable
from tests.cli.asking import invoke


@pytest.fixture
def place(tmp_path: Path) -> Path:
    about = {"decision_variables": [variable("x", upper=5)]}
    path = tmp_path / "model" / "blueprint.yaml"
    path.parent.mkdir()
    YAML().dump(document(**about, objective_function=goal("x", "kW", sense="maximize")), path)
    return path


def test_commands_take_it_and_find_it_in_a_folder(place: Path, tmp_path: Path) -> None:
    for words in (
        ["lint", place.parent],
        ["check", place.parent],
        ["solve", place, "--out", tmp_path / "run"],
        ["check", tmp_path / "run"],
        ["explain", place],
        ["audit", place],
    ):
        found = invoke(*words)
        assert found.exit_code == 0, (words, found.stderr)


def test_it_is_no_problem_to_be_read(place: Path) -> None:
    found = invoke("run", place)
    assert found.exit_code == 2
    assert "found a blueprint" in found.stderr
    assert "solve takes a blueprint" in found.stderr


def test_a_folder_is_checked_under_any_name_of_its_files(place: Path) -> None:
    """Two models with names of their own; one that cannot be kept must not pass unseen."""
    first, second = place.with_name("winter.yaml"), place.with_name("summer.json")
    place.rename(first)
    clash = [{"constraint_id": "much", "expression": "x >= 7"}]
    about = {"decision_variables": [variable("x", upper=5)], "constraints": clash}
    second.write_text(json.dumps(document(**about, objective_function=goal("x", "kW"))), "utf-8")
    found = invoke("check", place.parent, "--json")
    assert found.exit_code != 0
    results = json.loads(found.stdout)["results"]
    rows = {Path(row["path"]).name: row["verdict"] for row in results}
    assert rows["winter.yaml"] == "certified"
    assert rows["summer.json"] == "proven infeasible"
