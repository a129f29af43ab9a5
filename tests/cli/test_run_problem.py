"""From a problem's text: what was not understood or not given is named, and nothing is guessed."""

import json
from pathlib import Path

import pytest

from engiagent.problems import corpus_root
from engiagent.runfolder import read_record
from tests.cli.asking import answer, invoke

HOURS = "\n".join(
    f"2025-07-01T{hour:02d}:00,{price}" for hour, price in enumerate([20, 30, 90, 80, 10, 70])
)

TEXT = """---
id: small_battery
title: A small battery
family: battery
data: [prices.csv]
---

A battery of 200 kWh trades on 1 July 2025. The hourly prices are in `prices.csv` (EUR/MWh,
Europe/Berlin). It charges with at most 50 kW and discharges with at most 50 kW. The charging
efficiency is 95 % and the discharging efficiency is 95 %. It holds 100 kWh at the start.
Maximise the income in EUR.
"""


def small(folder: Path, text: str = TEXT, prices: str = HOURS) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "problem.md").write_text(text)
    (folder / "prices.csv").write_text("time,price_eur_per_mwh\n" + prices + "\n")
    return folder


@pytest.mark.parametrize("name", ["battery/merchant_day", "thermal/office_heat_pump"])
def test_the_demo_problems_are_certified_from_their_text(tmp_path: Path, name: str) -> None:
    result = invoke("run", corpus_root() / name, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.stderr
    found = answer(result)
    expected = json.loads((corpus_root() / name / "expert/answer.json").read_text())
    assert found["verdict"] == "certified"
    assert found["objective"]["value"] == pytest.approx(expected["objective"]["value"], rel=1e-6)
    assert invoke("check", tmp_path / "run").exit_code == 0


def test_what_is_not_understood_is_quoted_and_nothing_is_solved(tmp_path: Path) -> None:
    strange = "The battery must never hum louder than the neighbour's cat."
    problem = small(tmp_path / "p", TEXT + strange + "\n")
    result = invoke("run", problem, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 9, result.stderr
    found = answer(result)
    assert found["verdict"] == "undecided"
    assert any("neighbour's cat" in text for text in found["not_understood"])
    assert "error" not in found
    assert not (tmp_path / "run/solution.nc").exists()
    certificate = json.loads((tmp_path / "run/certificate.json").read_text())
    assert certificate["verdict"] == "undecided"
    assert certificate["not_understood"] == found["not_understood"]
    assert (tmp_path / "run/report.html").is_file()
    assert invoke("check", tmp_path / "run").exit_code == 9


def test_a_missing_efficiency_is_named_with_the_way_to_give_it(tmp_path: Path) -> None:
    problem = corpus_root() / "battery/missing_efficiency"
    result = invoke("run", problem, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 9, result.stderr  # sentences were not understood either
    found = answer(result)
    assert set(found["missing"]) >= {
        "battery.charge_efficiency",
        "battery.discharge_efficiency",
    }
    assert "--set" in result.stderr
    assert (tmp_path / "run/blueprint.json").is_file()
    assert read_record(tmp_path / "run")["verdict"] == "undecided"


def test_a_setting_that_fits_nothing_is_wrong_input(tmp_path: Path) -> None:
    problem = small(tmp_path / "p")
    result = invoke("run", problem, "--out", tmp_path / "run", "--set", "cat.noise=3", "--json")
    assert result.exit_code == 2, result.stderr
    assert "cat" in answer(result)["error"]


BROKEN_PRICES = {
    "NaN": HOURS.replace("90", "nan"),
    "text": HOURS.replace("90", "n/a"),
    "unsorted": "\n".join(reversed(HOURS.splitlines())),
    "repeated time": HOURS.replace("T02:00", "T01:00"),
    "ragged": HOURS.replace("90", "90,1"),
    "a NUL": HOURS.replace("90", "\x00"),
}


@pytest.mark.parametrize("kind", BROKEN_PRICES)
def test_broken_data_are_refused_with_file_and_line(tmp_path: Path, kind: str) -> None:
    problem = small(tmp_path / "p", prices=BROKEN_PRICES[kind])
    result = invoke("run", problem, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 2, result.stderr
    assert "prices.csv:" in answer(result)["error"]
    assert not (tmp_path / "run").exists()


BROKEN_TEXT = {
    "empty": b"",
    "no UTF-8": b"caf\xe9",
    "NUL": b"a\x00b",
    "front matter": b"---\nid: [\n---\ntext\n",
    "outside": b"---\ndata: [../secret.csv]\n---\ntext\n",
    "absent": b"---\ndata: [nowhere.csv]\n---\ntext\n",
    "web": b"---\ndata: ['https://example.org/x.csv']\n---\ntext\n",
}


@pytest.mark.parametrize("kind", BROKEN_TEXT)
def test_broken_problems_are_refused_with_the_file(tmp_path: Path, kind: str) -> None:
    (tmp_path / "problem.md").write_bytes(BROKEN_TEXT[kind])
    result = invoke("run", tmp_path / "problem.md", "--out", tmp_path / "run", "--json")
    assert result.exit_code == 2, result.stderr
    assert "problem.md" in answer(result)["error"]


def test_a_problem_about_something_else_lacks_everything(tmp_path: Path) -> None:
    (tmp_path / "poem.txt").write_text("Roses are red, violets are blue.\n")
    result = invoke("run", tmp_path / "poem.txt", "--out", tmp_path / "run", "--json")
    assert result.exit_code == 4, result.stderr
    assert answer(result)["verdict"] == "ill-posed"


def test_the_expert_material_is_never_read_by_the_engine(tmp_path: Path) -> None:
    """With and without a wrong expert blueprint, the engine writes the same blueprint."""
    plain = small(tmp_path / "plain")
    expert = small(tmp_path / "expert")
    (expert / "expert").mkdir()
    (expert / "expert/blueprint.json").write_text('{"schema": "nonsense"}')
    for name in ("plain", "expert"):
        invoke("run", tmp_path / name, "--out", tmp_path / f"run-{name}")
    first = (tmp_path / "run-plain/blueprint.json").read_bytes()
    assert first == (tmp_path / "run-expert/blueprint.json").read_bytes()
    assert plain.is_dir()


def test_two_runs_of_a_text_give_the_same_bytes(tmp_path: Path) -> None:
    problem = small(tmp_path / "p")
    for name in ("first", "second"):
        result = invoke("run", problem, "--out", tmp_path / name)
        assert result.exit_code == 8, result.stderr
    for name in ("blueprint.json", "certificate.json", "model.py", "problem/problem.md"):
        assert (tmp_path / "first" / name).read_bytes() == (tmp_path / "second" / name).read_bytes()


def test_somebodys_schedule_is_checked_against_a_text_alone(tmp_path: Path) -> None:
    problem = small(tmp_path / "p")
    times = [line.split(",")[0] for line in HOURS.splitlines()]

    def schedule(discharge: float) -> Path:
        rows = [f"{times[0]},50,0", f"{times[2]},0,{discharge}"]
        rows = [rows[0], f"{times[1]},0,0", rows[1], *(f"{time},0,0" for time in times[3:])]
        path = tmp_path / f"schedule_{discharge}.csv"
        path.write_text("t,battery.charge,battery.discharge\n" + "\n".join(rows) + "\n")
        return path

    result = invoke("check", problem, "--solution", schedule(50), "--json")
    assert result.exit_code == 8, result.stderr
    assert answer(result)["verdict"] == "solved"
    assert answer(result)["reading"]["grade"] == "author only"
    assert answer(result)["objective"]["value"] == pytest.approx(0.05 * (90 - 20))
    result = invoke("check", problem, "--solution", schedule(60), "--json")
    assert result.exit_code == 1
    assert answer(result)["verdict"] == "violated"
    strange = small(tmp_path / "q", TEXT + "The battery must never sulk for longer than a day.\n")
    result = invoke("check", strange, "--solution", schedule(50), "--json")
    assert result.exit_code == 8, result.stderr
    assert any("sulk" in text for text in answer(result)["reading"]["open"])
