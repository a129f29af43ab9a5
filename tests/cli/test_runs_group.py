"""Runs are listed, shown, compared, gone on with and cleaned up."""

import json
import shutil
from pathlib import Path
from typing import Any

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


def change(run: Path, **fields: Any) -> None:
    file = run / "run.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **fields}))


def names(*args: object) -> list[str]:
    found = json.loads(invoke("runs", "list", *args, "--json").stdout)["runs"]
    return [run["run"] for run in found]


def test_runs_are_listed_the_latest_first_and_filtered(place: Path) -> None:
    assert names() == ["two", "one"]
    assert names("--limit", 1) == ["two"]
    assert names("--verdict", "violated") == []
    assert names("--problem", "merchant_day", "--state", "done") == ["two", "one"]
    change(place / "runs/one", state="failed", verdict=None)
    assert names("--state", "failed") == ["one"]
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
    assert invoke("runs", "clean", "--yes").exit_code == 0


def test_a_run_is_shown_with_what_was_asked(place: Path) -> None:
    text = invoke("runs", "show", "runs/one").stdout
    for part in ("merchant_day", "certified", "EUR (maximize)", "engine=offline", "solution.nc"):
        assert part in text
    assert invoke("runs", "show", "day").exit_code == 2


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


def test_a_run_that_was_cut_goes_on(place: Path) -> None:
    run = place / "runs/one"
    change(run, state="interrupted", verdict=None)
    (run / "certificate.json").unlink()
    done = invoke("runs", "resume", "runs/one", "--json", "-q")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "certified"
    assert json.loads((run / "run.json").read_text())["resumed"]
    assert invoke("runs", "resume", "day").exit_code == 2


def test_cleaning_takes_what_did_not_end_well_and_asks(place: Path) -> None:
    change(place / "runs/one", state="failed")
    assert invoke("runs", "clean").exit_code == 2  # nobody can be asked
    assert names() == ["two", "one"]
    assert "would be removed" in invoke("runs", "clean", "--dry-run").stderr
    assert names() == ["two", "one"]
    assert invoke("runs", "clean", "--yes").exit_code == 0
    assert names() == ["two"]
    assert not (place / "runs/one").exists()


def test_cleaning_keeps_the_latest_and_what_no_run_wrote(place: Path) -> None:
    (place / "runs/one/notes.txt").write_text("mine")
    found = json.loads(invoke("runs", "clean", "--keep", 1, "--yes", "--json").stdout)
    assert (found["runs"], found["left"]) == (["one"], ["one"])
    assert sorted(p.name for p in (place / "runs/one").iterdir()) == ["notes.txt"]
    assert names() == ["two"]
    assert invoke("runs", "clean", "--keep", 0, "--older", 1, "--yes").exit_code == 0
    assert names() == ["two"]  # it is of today
    (place / "elsewhere").mkdir()
    (place / "runs/two").rename(place / "elsewhere/two")
    (place / "runs/two").symlink_to(place / "elsewhere/two")
    assert invoke("runs", "clean", "--keep", 0, "--yes").exit_code == 0
    assert (place / "elsewhere/two/run.json").is_file()


def test_a_run_under_way_stays(place: Path) -> None:
    import os

    change(place / "runs/two", state="running", pid=os.getppid())
    invoke("runs", "clean", "--keep", 0, "--yes")
    assert names() == ["two"]
