"""Studies against the same models solved one by one."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.cli.app import app
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.solvers.solving import solve
from engiagent.study import Cases, Setting, Study, run_study
from tests.blueprints import blueprint, constraint

Json = dict[str, Any]
PRICES = [80, 20, -5, 60]
HERE = Setting(isolate=False)
E_MAX = "/core_model_elements/parameters/E/value"


def storage(report: Json | None = None, **core: Any) -> Blueprint:
    parts: Json = {
        "sets": [
            {"name": "T", "kind": "time", "start": "2025-07-01T00:00", "step": "1 h", "periods": 4}
        ],
        "parameters": [
            {"name": "price", "index": ["T"], "value": PRICES, "unit": "EUR/MWh"},
            {"name": "E", "value": 30, "unit": "kWh"},
            {"name": "gamma", "value": 1},
            {"name": "half", "value": "0.5*E", "unit": "kWh"},
        ],
        "decision_variables": [
            {"name": "charge", "index": ["t in T"], "lower": 0, "upper": 50, "unit": "kW"},
            {"name": "discharge", "index": ["t in T"], "lower": 0, "upper": 50, "unit": "kW"},
        ],
        "expressions": [
            {
                "name": "soc",
                "index": ["t in T"],
                "unit": "kWh",
                "expression": "half + sum((charge[k] - discharge[k])*dt(k) for k in T if k <= t)",
            }
        ],
        "constraints": [
            {"constraint_id": "room", "forall": ["t in T"], "expression": "soc[t] <= E"},
            {"constraint_id": "least", "forall": ["t in T"], "expression": "soc[t] >= 0"},
            {"constraint_id": "cycles", "expression": "sum(charge[t]*dt(t) for t in T) <= 40[kWh]"},
        ],
        "objective_function": {
            "name": "profit",
            "sense": "maximize",
            "unit": "EUR",
            "expression": "sum(gamma*price[t]*(discharge[t] - charge[t])*dt(t) for t in T)",
        },
    }
    parts |= core
    if report is not None:
        parts["report"] = report
    return blueprint(**parts)


def of(study: Study, name: str) -> list[Json]:
    """Return the rows of a case or of a sweep."""
    return [row for row in study.rows if name == (row["at"].get("sweep") or row["at"]["case"])]


def best(blueprint: Blueprint) -> float:
    found = solve(compile_blueprint(blueprint), isolate=False).objective
    assert found is not None
    return found


def with_value(name: str, value: Any) -> Blueprint:
    document = storage().to_dict()
    for parameter in document["core_model_elements"]["parameters"]:
        if parameter["name"] == name:
            parameter["value"] = value
    return Blueprint.from_dict(document)


REPORT: Json = {
    "expressions": ["soc", "sum(charge[t]*dt(t) for t in T)"],
    "duals": ["cycles", "room"],
    "cases": [
        {"name": "without_storage", "patch": [{"op": "replace", "path": E_MAX, "value": 0}]},
        {
            "name": "no_limit",
            "patch": [{"op": "remove", "path": "/core_model_elements/constraints/cycles"}],
        },
    ],
    "sweeps": [
        {"name": "size", "parameter": "E", "values": [0, 0.01, 0.03, 0.06], "unit": "MWh"},
        {"name": "weight", "parameter": "gamma", "values": [0, 0.5, 1]},
        {
            "name": "market",
            "parameter": "price",
            "values": [
                50,
                PRICES,
                {
                    "2025-07-01T00:00": 1,
                    "2025-07-01T01:00": 2,
                    "2025-07-01T02:00": 3,
                    "2025-07-01T03:00": 4,
                },
            ],
        },
    ],
}


@pytest.fixture(scope="module")
def study() -> Study:
    return run_study(Cases(), storage(REPORT), HERE)


def test_each_point_is_the_model_solved_alone(study: Study) -> None:
    sizes = [p["objective"] for p in of(study, "size")]
    assert sizes == pytest.approx([best(with_value("E", e)) for e in (0, 10, 30, 60)])
    weights = [p["objective"] for p in of(study, "weight")]
    assert weights == pytest.approx([0.0, 0.5 * best(storage()), best(storage())])
    market = [p["objective"] for p in of(study, "market")]
    expected = [best(with_value("price", v)) for v in ([50] * 4, PRICES, [1, 2, 3, 4])]
    assert market == pytest.approx(expected)
    assert [p["status"] for p in study.rows] == ["optimal"] * len(study.rows)


def test_a_dual_is_the_slope_of_the_objective(study: Study) -> None:
    """With its unit and sign: EUR per kWh of right-hand side, in the sense of the objective."""
    (base,) = of(study, "base")
    document = storage().to_dict()
    document["core_model_elements"]["constraints"][2]["expression"] = (
        "sum(charge[t]*dt(t) for t in T) <= 40.01[kWh]"
    )
    slope = (best(Blueprint.from_dict(document)) - best(storage())) / 0.01
    assert base["values"]["dual(cycles)"] == pytest.approx(slope, abs=1e-9)
    assert base["units"]["dual(cycles)"] == "EUR/kWh"
    assert {v["name"] for v in base["series"]} == {"soc", "dual(room)"}
    assert any("right-hand side" in note for note in study.notes)


def test_what_a_case_does_not_have_is_left_out_and_said(study: Study) -> None:
    (case,) = of(study, "no_limit")
    assert case["absent"] == ["cycles"]
    assert case["objective"] is not None
    assert "no_limit: there is no cycles" in study.notes
    row = next(r for r in study.table() if r["case"] == "no_limit")
    assert "dual(cycles) [EUR/kWh]" not in row


def test_tables_are_tidy_and_survive_csv_and_json(study: Study, tmp_path: Path) -> None:
    files = study.write(tmp_path)
    assert [f.name for f in files] == ["cases.csv", "cases.json"]
    wide = pd.read_csv(files[0])
    assert len(wide) == len(study.rows) == len(study.table())
    assert wide["sum(charge[t]*dt(t) for t in T) [kWh]"].notna().all()
    data = json.loads(files[1].read_text("utf-8"))
    assert (data["schema"], data["kind"]) == ("engiagent-study/2", "cases")
    assert len(data["rows"]) == len(study.rows)


def test_an_infeasible_value_is_a_result() -> None:
    least = [{"constraint_id": "C", "expression": "charge[first(T)] >= E/1[h]"}]
    report = {"sweeps": [{"name": "s", "parameter": "E", "values": [10, 70, 20]}]}
    found = run_study(Cases(), storage(report, constraints=least, expressions=[]), HERE)
    assert [p["status"] for p in of(found, "s")] == ["optimal", "infeasible", "optimal"]


def test_a_sweep_over_structure_compiles_anew() -> None:
    rows = [
        constraint(
            "charge[t] <= 0", "t in T", constraint_id="C", where="price[t] <= gamma*20[EUR/MWh]"
        )
    ]
    report = {"sweeps": [{"name": "s", "parameter": "gamma", "values": [0.5, 1, 9]}]}
    found = run_study(Cases(), storage(report, constraints=rows, expressions=[]), HERE)
    # At -5, and at 20 as well, no energy is bought; 50 kWh are sold wherever that pays.
    sold = 0.05 * (80 + 20 + 60)
    expected = [0.5 * sold, 1.0 * sold, 9.0 * sold]
    assert [p["objective"] for p in of(found, "s")] == pytest.approx(expected)


def test_a_front_is_a_table() -> None:
    goals = {
        "sense": "maximize",
        "combination": "frontier",
        "terms": [
            {
                "name": "profit",
                "unit": "EUR",
                "expression": "sum(price[t]*(discharge[t] - charge[t])*dt(t) for t in T)",
            },
            {
                "name": "use",
                "sense": "minimize",
                "unit": "kWh",
                "expression": "sum(discharge[t]*dt(t) for t in T)",
            },
        ],
    }
    found = run_study(Cases(5), storage({}, objective_function=goals), HERE)
    assert [p["at"]["front"] for p in found.rows] == [0, 1, 2, 3, 4]
    profit = [p["values"]["profit"] for p in found.rows]
    use = [p["values"]["use"] for p in found.rows]
    assert profit == sorted(profit, reverse=True)
    assert use == sorted(use, reverse=True)
    assert profit[0] == pytest.approx(best(storage()))


@pytest.mark.parametrize(
    ("report", "code", "path"), YAML(typ="safe").load(Path(__file__).with_name("reports.yaml"))
)
def test_what_is_wrong_in_a_report_is_located(report: Json, code: str, path: str) -> None:
    found = analyse(storage(report)).errors
    assert [(d.code, d.path) for d in found] == [(code, f"core_model_elements.report.{path}")]
    with pytest.raises(BlueprintError, match=code):
        run_study(Cases(), storage(report), HERE)


def test_a_case_that_breaks_the_model_is_located_before_anything_is_solved() -> None:
    patch = [{"op": "remove", "path": "/core_model_elements/parameters/gamma"}]
    broken = storage({"cases": [{"name": "c", "patch": patch}]})
    seen: list[Any] = []
    with pytest.raises(BlueprintError) as refused:
        run_study(Cases(), broken, replace(HERE, on_point=lambda *found: seen.append(found)))
    (path,) = {d.path for d in refused.value.diagnostics}
    assert path == "core_model_elements.report.cases[0].patch"
    assert "gamma" in str(refused.value)
    assert seen == []


def test_definitions_have_no_study() -> None:
    document = storage().to_dict() | {"kind": "definitions"}
    with pytest.raises(EngiagentError, match="programme"):
        run_study(Cases(), Blueprint.from_dict(document))


def test_the_command_tells_what_is_wrong_without_a_traceback(tmp_path: Path) -> None:
    file = tmp_path / "blueprint.json"
    file.write_text(storage({"duals": ["nothing"]}).to_json(), encoding="utf-8")
    wrong = CliRunner().invoke(app, ["study", "cases", str(file)])
    assert (wrong.exit_code, "EB035" in wrong.stderr) == (2, True)
    absent = CliRunner().invoke(app, ["study", "cases", str(tmp_path / "absent.json")])
    assert (absent.exit_code, "no such file" in absent.stderr) == (2, True)
    file.write_text(storage().to_json(), encoding="utf-8")
    blocked = CliRunner().invoke(app, ["study", "cases", str(file), "--out", str(file)])
    assert (blocked.exit_code, "is a file" in blocked.stderr) == (2, True)


def test_the_exit_code_is_that_of_the_base(tmp_path: Path) -> None:
    impossible = [{"constraint_id": "C", "expression": "charge[first(T)] >= E/1[h] + 30[kW]"}]
    report = {"sweeps": [{"name": "s", "parameter": "E", "values": [10]}]}
    file = tmp_path / "blueprint.json"
    file.write_text(storage(report, constraints=impossible, expressions=[]).to_json(), "utf-8")
    result = CliRunner().invoke(app, ["study", "cases", str(file), "--out", str(tmp_path / "out")])
    assert result.exit_code == 3
    assert "sweep = s, value = 10, unit = kWh: optimal" in result.stderr
