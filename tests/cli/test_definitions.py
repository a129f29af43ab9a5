"""A blueprint of definitions goes through the same doors: computed, checked, reproduced."""

import json
from pathlib import Path

import pytest

from tests.cli.asking import invoke
from tests.definitions.cases import blueprint, shortfall


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "shortfall.json"
    path.write_text(blueprint(**shortfall()).to_json(), encoding="utf-8")
    return path


def test_it_is_computed_and_reproduced_and_the_run_checks_alone(answer: Path) -> None:
    run = answer.parent / "run"
    result = invoke("solve", answer, "--out", run, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["verdict"] == "reproduced"
    assert (run / "report.html").exists()
    assert invoke("check", run).exit_code == 0
    assert invoke("check", answer).exit_code == 0


def test_a_changed_result_is_found(answer: Path) -> None:
    import xarray

    run = answer.parent / "run"
    invoke("solve", answer, "--out", run)
    with xarray.open_dataset(run / "solution.nc") as stored:
        changed = stored.load()
    name = "surplus"
    changed[name].values.flat[7] += 1.0
    changed.to_netcdf(run / "solution.nc")
    assert invoke("check", run).exit_code == 1


def test_there_is_no_script_of_it(answer: Path) -> None:
    result = invoke("emit", answer, "--to", "lp")
    assert result.exit_code == 2
    assert "computed, not optimised" in result.stderr
