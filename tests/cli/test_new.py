"""What is begun from a template can be audited, run and checked as it stands."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from engiagent.cli.app import app
from engiagent.cli.scaffold import templates
from engiagent.text import Problem


def invoke(*args: object, input: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], input=input)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_there_is_one_for_every_domain() -> None:
    families = {template.family for template in templates().values()}
    assert families == {"battery", "der", "hvac", "planning", "thermal"}


@pytest.mark.parametrize("name", sorted(templates()))
def test_what_is_written_runs_to_a_certificate_and_checks(name: str, place: Path) -> None:
    begun = json.loads(invoke("new", name, "mine", "--json", "-q").stdout)
    assert begun["problem"] == Problem.load(place / "mine").id == "mine"
    way = "solve mine/blueprint.json" if "blueprint.json" in begun["files"] else "run mine"
    done = json.loads(invoke(*way.split(), "--out", "r", "--json", "-q").stdout)
    # A blueprint beside prose is its author's reading until somebody else reads the text.
    alone = way.startswith("solve")
    assert done["verdict"] == ("solved" if alone else "certified"), done
    assert invoke("check", "r", "-q").exit_code == (8 if alone else 0)
    if alone:
        assert invoke("lint", "mine/blueprint.json", "-q").exit_code == 0
        assert invoke("check", "mine/blueprint.json", "-q").exit_code == 8
    else:
        assert invoke("lint", "mine/problem.md", "-q").exit_code == 0


@pytest.mark.parametrize(
    ("name", "given"),
    [
        (
            "battery",
            {
                "capacity": "750.5",
                "day": "2027-02-01",
                "currency": "USD",
                "zone": "America/Los_Angeles",
                "title": "Depot North",
            },
        ),
        ("thermal", {"heat_capacity": "14", "power": "6", "day": "2026-12-24"}),
        ("hvac", {"cop": "3.9", "capacity": "1200", "currency": "GBP"}),
        ("der", {"gas": "55", "least": "150"}),
    ],
)
def test_own_values_are_understood_as_well(name: str, given: dict[str, str], place: Path) -> None:
    settings = [word for item in given.items() for word in ("--set", "=".join(item))]
    assert invoke("new", name, "mine", *settings).exit_code == 0
    text = (place / "mine/problem.md").read_text()
    for value in (v for k, v in given.items() if k != "day"):
        assert value in text
    done = json.loads(invoke("run", "mine", "--out", "r", "--json", "-q").stdout)
    assert done["verdict"] == "certified", done
    if "currency" in given:
        assert done["objective"]["unit"] == given["currency"]


def test_planning_reads_its_numbers_where_they_stand(place: Path) -> None:
    assert invoke("new", "planning", "roof", "--set", "demand=30000").exit_code == 0
    done = json.loads(invoke("solve", "roof/blueprint.json", "--json", "-q").stdout)
    assert done["verdict"] == "solved"
    text = (place / "roof/problem.md").read_text()
    core = json.loads((place / "roof/blueprint.json").read_text())["core_model_elements"]
    for parameter in core["parameters"]:
        source = parameter["source_reference"]
        assert text[slice(*source["span"])] == source["quote"]


def test_nothing_is_overwritten_and_a_dry_run_writes_nothing(place: Path) -> None:
    shown = invoke("new", "battery", "mine", "--dry-run")
    assert "energy_capacity: 400 kWh" in shown.stdout
    assert list(place.iterdir()) == []
    (place / "mine").mkdir()
    (place / "mine/notes.txt").write_text("mine")
    refused = invoke("new", "battery", "mine")
    assert (refused.exit_code, "not empty" in refused.stderr) == (2, True)
    (place / "link").symlink_to(place / "mine")
    assert invoke("new", "battery", "link").exit_code == 2


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("capacity=lots", "capacity cannot be that"),
        ("capacity=nan", "capacity cannot be that"),
        ("capacity=1e3", "capacity cannot be that"),
        ("day=tomorrow", "a day as 2026-06-15"),
        ("title={{ 7*7 }}", "title cannot be that"),
        ("size=3", "has no value 'size'; expected title, day"),
    ],
)
def test_what_is_no_value_is_told(setting: str, said: str) -> None:
    found = invoke("new", "battery", "mine", "--set", setting)
    assert (found.exit_code, said in found.stderr) == (2, True), found.stderr


def test_an_unknown_template_and_nobody_to_ask() -> None:
    assert "battery, der" in invoke("new", "castle").stderr
    assert "name a TEMPLATE" in invoke("new").stderr


def test_a_person_is_asked(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engiagent.cli.new.asking", lambda: True)
    count = len(templates()["battery"].values)
    answers = ["castle", "battery", "mine", "North", *[""] * 3, "many", "500", *[""] * count]
    done = invoke("new", input="\n".join(answers) + "\n")
    assert done.exit_code == 0, done.stderr
    text = (place / "mine/problem.md").read_text()
    assert "# North" in text
    assert "energy_capacity: 500 kWh" in text
