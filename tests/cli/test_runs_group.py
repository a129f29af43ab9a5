"""Runs are listed and compared."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.asking import invoke

TEXT = Path(__file__).parents[2] / "problems/battery/merchant_day"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two runs of a problem, the second with a larger battery."""
    place = tmp_path_factory.mktemp("made")
    # Another battery is no plan for the annotated requirements of this one.
    shutil.copytree(TEXT, place / "day", ignore=shutil.ignore_patterns("requirements.yaml"))
    for name, larger in (("one", ()), ("two", ("--set", "battery.energy_capacity=25000 kWh"))):
        done = invoke("run", place / "day", "--out", place / "runs" / name, "-q", *larger)
        assert done.exit_code == 0, done.stderr
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*args: object) -> list[str]:
    found = json.loads(invoke("runs", "list", *args, "--json").stdout)["runs"]
    return [run["run"] for run in found]


def test_runs_are_listed_the_latest_first(place: Path) -> None:
    assert names() == ["two", "one"]
    record = json.loads((place / "runs/one/run.json").read_text())
    failed = {**record, "state": "failed", "verdict": None}
    (place / "runs/one/run.json").write_text(json.dumps(failed))
    lines = invoke("runs", "list").stdout.splitlines()
    assert lines[0].startswith("two ")
    assert "certified" in lines[0]
    assert "failed" in lines[1]


def test_there_are_no_runs_before_the_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert names() == []
    assert invoke("runs", "list", "elsewhere").exit_code == 2


def test_comparing_names_what_differs(place: Path) -> None:
    assert invoke("runs", "compare", "runs/one", "runs/one").exit_code == 0
    told = invoke("runs", "compare", "runs/one", "runs/two")
    assert told.exit_code == 1
    assert "two is better by" in told.stdout
    page = invoke("runs", "compare", "runs/one", "runs/two", "--html", "both.html")
    assert (page.exit_code, page.stdout) == (1, told.stdout)
    assert "2 runs compared" in (place / "both.html").read_text("utf-8")
    back = invoke("runs", "compare", "runs/two", "runs/one").stdout
    assert "one is worse by" in back
