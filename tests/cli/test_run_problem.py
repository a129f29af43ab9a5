"""From a problem to a run: what is not stated is named, and nothing is guessed."""

import json
import shutil
from pathlib import Path

import pytest

from engiagent.run.folder import read_record
from engiagent.text import corpus_root
from tests.cli.asking import answer, invoke

DAY = corpus_root() / "battery/merchant_day"
HEADER, HOURS = (DAY / "day_ahead.csv").read_text("utf-8").split("\n", 1)
CELL = ",66.90"
POEM = "Roses are red, violets are blue.\n"


def test_prose_alone_is_undecided_and_the_ways_on_are_told(tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text(POEM)
    result = invoke("run", tmp_path / "poem.txt", "--out", tmp_path / "run", "--json")
    assert result.exit_code == 9, result.stderr
    found = answer(result)
    assert found["verdict"] == "undecided"
    assert "error" not in found
    (unclear,) = found["not_understood"]
    assert "Roses are red" in unclear
    for way in ("engiagent new", "--engine anthropic", "--base-url"):
        assert way in unclear
    for server in ("ollama serve", "llama-server -m", "vllm serve"):
        assert server in result.stderr
    assert not (tmp_path / "run/solution.nc").exists()
    certificate = json.loads((tmp_path / "run/certificate.json").read_text())
    assert certificate["verdict"] == "undecided"
    assert certificate["not_understood"] == found["not_understood"]
    assert (tmp_path / "run/report.html").is_file()
    assert invoke("check", tmp_path / "run").exit_code == 9


def test_a_schedule_for_prose_alone_is_undecided(tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text(POEM)
    (tmp_path / "plan.csv").write_text("battery.charge\n1\n")
    result = invoke("check", tmp_path / "poem.txt", "--solution", tmp_path / "plan.csv", "--json")
    assert result.exit_code == 9, result.stderr
    assert any("Roses are red" in text for text in answer(result)["not_understood"])


def test_expected_and_worst_case_of_a_plan_in_two_stages_stand_side_by_side(tmp_path: Path) -> None:
    problem = corpus_root() / "thermal/district_purchase_before_weather"
    result = invoke("run", problem, "--out", tmp_path / "run")
    assert result.exit_code == 0, result.stderr
    assert "scenarios  expected 198.68" in result.stderr
    assert "worst 321.926" in result.stderr
    report = (tmp_path / "run/report.html").read_text("utf-8")
    assert "Expected over the scenarios" in report
    assert "In the worst scenario" in report


def test_a_missing_efficiency_is_named_with_the_way_to_give_it(tmp_path: Path) -> None:
    problem = corpus_root() / "battery/missing_efficiency"
    result = invoke("run", problem, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 4, result.stderr
    found = answer(result)
    names = ["battery.charge_efficiency", "battery.discharge_efficiency"]
    assert found["missing"] == names
    assert "--set battery.charge_efficiency=VALUE" in result.stderr
    assert (tmp_path / "run/blueprint.json").is_file()
    assert read_record(tmp_path / "run")["verdict"] == "ill-posed"
    # The annotated requirements lack it as well, so that they bound nothing.
    problem = shutil.copytree(problem, tmp_path / "p", ignore=shutil.ignore_patterns("require*"))
    given = [word for name in names for word in ("--set", f"{name}=95 %")]
    result = invoke("run", problem, "--out", tmp_path / "given", *given, "--json")
    assert result.exit_code == 0, result.stderr
    assert answer(result)["verdict"] == "certified"


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("cat.noise=3", "E_max"),
        ("battery.charge_eficiency=0.9", "charge_efficiency"),
        ("battery.energy_capacity=20 MW", "MWh"),
        ("battery.energy_capacity=plenty", "5 kW"),
        ("battery.self_discharge=3 kWh", "self_discharge is in kWh; expected a value in 1/h"),
    ],
)
def test_a_setting_that_fits_nothing_is_wrong_input(
    tmp_path: Path, setting: str, expected: str
) -> None:
    result = invoke("run", DAY, "--out", tmp_path / "run", "--set", setting, "--json")
    assert result.exit_code == 2, result.stderr
    assert expected in answer(result)["error"]


BROKEN_PRICES = {
    "NaN": HOURS.replace(CELL, ",nan"),
    "text": HOURS.replace(CELL, ",n/a"),
    "unsorted": "\n".join(reversed(HOURS.splitlines())),
    "repeated time": HOURS.replace(" 02:00", " 01:00"),
    "ragged": HOURS.replace(CELL, f"{CELL},1"),
    "a NUL": HOURS.replace(CELL, ",\x00"),
}


@pytest.mark.parametrize("kind", BROKEN_PRICES)
def test_broken_data_are_refused_with_file_and_line(tmp_path: Path, kind: str) -> None:
    problem = shutil.copytree(DAY, tmp_path / "p")
    (problem / "day_ahead.csv").write_text(f"{HEADER}\n{BROKEN_PRICES[kind]}\n")
    result = invoke("run", problem, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 2, result.stderr
    assert "day_ahead.csv:" in answer(result)["error"]
    assert not (tmp_path / "run").exists()
