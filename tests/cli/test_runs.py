"""Runs from end to end: what is printed, what the folder holds, however the run ends."""

import json
import os
from pathlib import Path

import pytest

from engiagent.run.folder import read_record
from engiagent.text import corpus_root
from tests.cli import blueprints
from tests.cli.asking import OUTCOME, answer, invoke, linux

WHOLE = [
    "blueprint.json",
    "model.py",
    "solution.nc",
    "certificate.json",
    "explanation.json",
    "report.html",
    "trace.jsonl",
]


@pytest.fixture(scope="module")
def merchant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of the merchant battery from its reference blueprint."""
    out = tmp_path_factory.mktemp("merchant") / "run"
    path = corpus_root() / "battery/merchant_day/expert/blueprint.json"
    assert invoke("solve", path, "--out", out).exit_code == 0
    return out


def test_a_certified_run_prints_one_object_and_leaves_every_artefact(tmp_path: Path) -> None:
    path = corpus_root() / "planning/rooftop_pv/expert/blueprint.json"
    result = invoke("solve", path, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.stderr
    found = answer(result)
    assert list(found) == [*OUTCOME, "reason", "why_missing", "figures"]
    assert found["problem"] == "rooftop_pv"
    assert found["verdict"] == "certified"
    assert found["objective"] == {"value": 16200.0, "unit": "EUR", "sense": "minimize"}
    assert found["bound"] == pytest.approx(16200.0, rel=1e-9)  # safe, so not above
    assert found["run"] == str(tmp_path / "run")
    record = read_record(tmp_path / "run")
    assert (record["state"], record["verdict"]) == ("done", "certified")
    assert record["artefacts"] == [*WHOLE, "problem"]
    assert "rooftop_pv: certified" in result.stderr
    assert not [p for p in (tmp_path / "run").rglob("*") if p.name.startswith(".")]


def test_missing_data_is_named_by_its_slot_and_nothing_is_solved(tmp_path: Path) -> None:
    path = corpus_root() / "battery/missing_efficiency/expert/blueprint.json"
    result = invoke("solve", path, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 4, result.stderr
    found = answer(result)
    assert found["verdict"] == "ill-posed"
    assert found["missing"] == ["battery.charge_efficiency", "battery.discharge_efficiency"]
    assert (tmp_path / "run/blueprint.json").is_file()
    assert (tmp_path / "run/certificate.json").is_file()
    assert not (tmp_path / "run/solution.nc").exists()


@linux
def test_a_file_name_that_is_no_utf8_costs_nothing(tmp_path: Path) -> None:
    path = blueprints.products(tmp_path / "products.json")
    strange = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.json"))
    path.rename(strange)
    result = invoke("solve", strange, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0, result.stderr
    assert read_record(tmp_path / "run")["state"] == "done"


BROKEN = {
    "no JSON": b"{",
    "no UTF-8": b"\xff\xfe\x00",
    "nothing": b"",
    "NaN": b'{"schema": NaN}',
    "another schema": b'{"schema": "engiagent-blueprint/99"}',
    "a list": b"[]",
    "deep": b"[" * 5000,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_unreadable_blueprints_exit_with_2_and_leave_nothing(tmp_path: Path, kind: str) -> None:
    (tmp_path / "b.json").write_bytes(BROKEN[kind])
    for command in (["solve", "--out", tmp_path / "run"], ["check"], ["lint"]):
        result = invoke(*command, tmp_path / "b.json", "--json")
        assert result.exit_code == 2, result.stderr
        assert answer(result)["error"]
    assert not (tmp_path / "run").exists()


def test_a_wrong_blueprint_exits_with_2_and_its_folder_names_the_place(tmp_path: Path) -> None:
    path = blueprints.products(
        tmp_path / "b.json", constraints=[{"constraint_id": "hours", "expression": "3*a <= zz"}]
    )
    result = invoke("solve", path, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 2
    assert "hours" in answer(result)["error"]
    assert "zz" in answer(result)["error"]
    record = read_record(tmp_path / "run")
    assert (record["state"], record["stage"]) == ("failed", "report")
    assert "zz" in record["reason"]


def test_wrong_input_leaves_no_folder_that_nobody_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = blueprints.products(
        tmp_path / "b.json", constraints=[{"constraint_id": "hours", "expression": "3*a <= zz"}]
    )
    result = invoke("solve", path, "--json")
    assert (result.exit_code, answer(result)["run"]) == (2, None)
    assert not list(tmp_path.glob("runs/*"))


def test_an_unbounded_blueprint_is_undecided_and_names_the_variable(tmp_path: Path) -> None:
    free = {"name": "a", "lower": 0, "unit": "1"}
    held = {"name": "b", "lower": 0, "upper": 6, "unit": "1"}
    hours = [{"constraint_id": "hours", "expression": "2*b <= 18"}]
    path = blueprints.products(
        tmp_path / "b.json", decision_variables=[free, held], constraints=hours
    )
    result = invoke("solve", path, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 9, result.stderr
    assert "improves without end along a" in read_record(tmp_path / "run")["reason"]


def test_data_that_lead_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("t,p\n2025-01-01T00:00,1\n")
    inner = tmp_path / "inner"
    inner.mkdir()
    path = blueprints.products(
        inner / "b.json", parameters=[{"name": "p", "data": "../secret.csv#p", "unit": "1"}]
    )
    result = invoke("solve", path, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 2
    assert "leaves" in answer(result)["error"]
    assert not list((tmp_path / "run").rglob("secret.csv"))


def test_out_is_never_written_over_something_else(tmp_path: Path) -> None:
    path = blueprints.products(tmp_path / "products.json")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("keep")
    result = invoke("solve", path, "--out", tmp_path / "mine", "--force")
    assert result.exit_code == 2
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    assert invoke("solve", path, "--out", tmp_path / "run").exit_code == 0
    assert invoke("solve", path, "--out", tmp_path / "run").exit_code == 2
    assert invoke("solve", path, "--out", tmp_path / "run", "--force").exit_code == 0


def test_what_cannot_be_checked_is_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "plain.md").write_text("A battery of 5 kWh.")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "empty").mkdir()
    for name in ("plain.md", "picture.png", "empty"):
        result = invoke("check", tmp_path / name, "--json")
        assert result.exit_code == 2
        assert answer(result)["error"]


def test_a_run_solves_the_cases_of_the_report_and_shows_them(tmp_path: Path) -> None:
    document = json.loads(
        (corpus_root() / "der/eight_hour_market/expert/blueprint.json").read_text("utf-8")
    )
    names = [case["name"] for case in document["core_model_elements"]["report"]["cases"]]
    path = corpus_root() / "der/eight_hour_market/expert/blueprint.json"
    result = invoke("solve", path, "--out", tmp_path / "run", "--json")
    assert result.exit_code == 0
    found = answer(result)
    assert [case["case"] for case in found["cases"]] == ["base", *names]
    assert found["cases"][0]["objective"] == pytest.approx(found["objective"]["value"], rel=1e-6)
    # Each is the optimum of its own blueprint, which the command study finds too.
    study = answer(invoke("study", "cases", path, "--out", tmp_path / "study", "--json"))
    alone = {p["at"]["case"]: p["objective"] for p in study["rows"] if "sweep" not in p["at"]}
    assert {c["case"]: c["objective"] for c in found["cases"]} == pytest.approx(alone)
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert all(name in page for name in names)
    stored = json.loads((tmp_path / "run" / "cases.json").read_text("utf-8"))
    assert stored["schema"] == "engiagent-study/2"
