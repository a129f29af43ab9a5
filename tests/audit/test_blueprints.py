"""What an audit says of blueprints that were spoilt in one place, and of the corpus as it is."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engiagent.cli.app import app
from engiagent.explain.audit import audit_path, audit_problem
from engiagent.text import Problem, corpus_root

Core = dict[str, Any]
DAY = corpus_root() / "battery/merchant_day"
ROOM = corpus_root() / "thermal/cold_snap_infeasible"


def named(items: list[Core], name: str) -> Core:
    return next(item for item in items if item["name"] == name)


def spoilt(tmp_path: Path, change: Callable[[Core], None]) -> Path:
    """Return a copy of a problem's blueprint beside its data, changed in one place."""
    folder = shutil.copytree(DAY, tmp_path / "day")
    path = folder / "expert/blueprint.json"
    document = json.loads(path.read_text("utf-8"))
    change(document["core_model_elements"])
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def without_value(core: Core) -> None:
    parameter = named(core["parameters"], "eta_charge")
    del parameter["value"]
    parameter["status"] = "missing"


def value(name: str, number: float, unit: str | None = None) -> Callable[[Core], None]:
    def change(core: Core) -> None:
        parameter = named(core["parameters"], name)
        parameter["value"] = number
        parameter["unit"] = unit or parameter["unit"]

    return change


def other_file(core: Core) -> None:
    named(core["parameters"], "price")["data"] = "elsewhere.csv#price_eur_per_mwh"


def other_column(core: Core) -> None:
    named(core["parameters"], "price")["data"] = "day_ahead.csv#price"


def without_goal(core: Core) -> None:
    del core["objective_function"]


@pytest.mark.parametrize(
    ("change", "verdict", "code", "subject"),
    [
        (without_value, "missing", "missing-value", "battery.charge_efficiency"),
        (other_file, "missing", "missing-file", "parameter.price"),
        (other_column, "missing", "missing-series", "parameter.price"),
        (without_goal, "missing", "missing-objective", "objective.sense"),
        (value("eta_charge", 9.6), "suspicious", "implausible-value", "battery.charge_efficiency"),
        (value("eta_charge", 50), "suspicious", "unusual-value", "battery.charge_efficiency"),
        (value("E_max", 20, "kWh"), "contradictory", "limits-clash", ""),
        (
            value("P_charge", 0.5, "W"),
            "suspicious",
            "implausible-value",
            "battery.charge_power_max",
        ),
        (
            value("P_charge", 1, "kW"),
            "suspicious",
            "out-of-proportion",
            "battery.energy_capacity/charge_power_max",
        ),
    ],
)
def test_what_was_spoilt_is_found_where_it_is(
    change: Callable[[Core], None], verdict: str, code: str, subject: str, tmp_path: Path
) -> None:
    found = audit_path(spoilt(tmp_path, change))
    assert found.verdict == verdict, found.to_dict()
    assert [f for f in found.findings if f.code == code and subject in ("", f.subject)], (
        found.to_dict()
    )


def key(path: Path) -> str:
    return path.relative_to(corpus_root()).as_posix()


@pytest.mark.parametrize(
    "folder", sorted(p.parent for p in corpus_root().glob("*/*/problem.md")), ids=key
)
def test_of_the_corpus_only_what_its_experts_name_is_missing_or_clashes(folder: Path) -> None:
    answer = json.loads((folder / "expert/answer.json").read_text("utf-8"))
    found = audit_problem(Problem.load(folder), seconds=5.0)
    if found.of("missing"):
        assert answer.get("missing"), found.to_dict()
    if found.of("contradictory"):
        assert answer.get("contradiction") or answer["verdict"] == "proven infeasible"
    if answer["verdict"] == "undecided":
        assert found.verdict != "complete"


def test_requirements_that_clash_bring_a_checked_and_irreducible_proof() -> None:
    (finding,) = audit_path(ROOM).of("contradictory")
    assert finding.proven
    assert finding.proof is not None
    assert finding.proof["irreducible"]
    assert len(finding.parts) > 1
    assert all(part.places for part in finding.parts)


def test_prose_is_not_judged_and_files_that_it_names_are_looked_for(tmp_path: Path) -> None:
    (tmp_path / "day_ahead.csv").write_text("price\n1\n")
    (tmp_path / "problem.md").write_text("# A day\n\nPrices are in `day-ahead.csv`.\n")
    found = audit_path(tmp_path)
    assert [(f.code, f.quantity) for f in found.findings] == [("missing-file", "day-ahead.csv")]
    (sentence,) = found.not_understood
    assert "engiagent new" in sentence


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("battery/merchant_day", 0),
        ("battery/missing_efficiency", 4),
        ("thermal/cold_snap_infeasible", 3),
    ],
)
def test_the_command_ends_with_the_code_of_its_verdict(place: str, code: int) -> None:
    result = CliRunner().invoke(app, ["audit", place, "--json"])
    assert result.exit_code == code, result.output
    given = ["audit", "battery/missing_efficiency"]
    for slot in ("charge", "discharge"):
        given += ["--set", f"battery.{slot}_efficiency=95 %"]
    assert CliRunner().invoke(app, given).exit_code == 0


def test_marks_of_gaps_in_a_load_are_found_in_their_file(tmp_path: Path) -> None:
    rows = "".join(f"2026-03-28T0{k}:00,{x}\n" for k, x in enumerate([5, 1e6, 6, -9999, 7]))
    (tmp_path / "d.csv").write_text(f"time,load [kW]\n{rows}")
    plant = tmp_path / "plant.yaml"
    plant.write_text(
        "horizon: {step: 1 h}\n"
        "components:\n"
        "  grid: {model: grid, import_price: 0.2 EUR/kWh}\n"
        "  l: {model: load, power: d.csv#load}\n"
        "goal: {minimize: cost}\n"
    )
    found = audit_path(plant)
    assert found.verdict == "suspicious"
    (finding,) = found.findings
    assert (finding.code, finding.subject) == ("unusual-value", "l.power")
    assert [place.line for place in finding.places] == [3, 5]
