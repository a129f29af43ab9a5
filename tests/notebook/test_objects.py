"""What a user does in a notebook, in the order in which it is done."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.errors import InputError
from engiagent.notebook.difference import diff
from engiagent.notebook.figures import Figure
from engiagent.notebook.run import Run
from engiagent.notebook.solution import Solution
from engiagent.report.charts import Panel
from engiagent.text import Problem, corpus_root
from engiagent.verify.checking import check

PRICES = [20.0, 5.0, 60.0, 45.0]
TEXT = """# Shop

A shop has a battery. It stores 40 kWh and takes or gives at most 20 kW. Charging has an efficiency
of 95 % and discharging has an efficiency of 95 %. On 3 March 2025 from 00:00 to 04:00, in hourly
steps, it buys and sells at the prices in prices.csv. At the start it is empty. Maximise the profit.
"""


@pytest.fixture(scope="module")
def merchant() -> Problem:
    return Problem.load("merchant_day")


@pytest.fixture(scope="module")
def blueprint(merchant: Problem) -> Blueprint:
    return merchant.analyse()


@pytest.fixture(scope="module")
def solution(blueprint: Blueprint) -> Solution:
    return blueprint.solve()


def test_a_problem_is_found_by_folder_file_and_name(merchant: Problem) -> None:
    folder = corpus_root() / "battery" / "merchant_day"
    for path in (folder, str(folder), folder / "problem.md", "battery/merchant_day"):
        found = Problem.load(path)
        assert (found.id, found.sha256) == (merchant.id, merchant.sha256)


def prices(names: tuple[str, ...] = ("price_eur_per_mwh",)) -> pd.DataFrame:
    times = pd.date_range("2025-03-03T00:00", periods=len(PRICES), freq="h")
    frame = pd.DataFrame({"time": times.strftime("%Y-%m-%d %H:%M")})
    for name in names:
        frame[name] = PRICES
    return frame


def test_a_problem_is_made_of_text_and_a_table(tmp_path: Path) -> None:
    problem = Problem.from_text(TEXT, {"prices.csv": prices()}, tmp_path / "shop")
    assert problem.id == "shop"
    assert problem.data["prices.csv"].rows == len(PRICES)
    with pytest.raises(InputError, match="name of a data file"):
        Problem.from_text(TEXT, {"../prices.csv": prices()})


def test_an_audit_says_what_the_text_does_not_give() -> None:
    audit = Problem.load("missing_efficiency").audit()
    assert audit.verdict == "missing"
    assert "efficiency" in repr(audit)
    assert "efficiency" in audit._repr_html_()


def test_an_engine_that_is_none_is_refused_with_those_there_are(merchant: Problem) -> None:
    with pytest.raises(InputError, match="offline, expert"):
        merchant.analyse("oracle")


def test_where_a_blueprint_comes_from_is_neither_compared_nor_written(blueprint: Blueprint) -> None:
    alone = Blueprint.from_json(blueprint.to_json())
    assert blueprint == alone
    assert hash(blueprint) == hash(alone)
    assert (blueprint.sha256, blueprint.to_json()) == (alone.sha256, alone.to_json())
    assert (blueprint.home.name, alone.home.name) == ("merchant_day", "blueprint")


def test_a_blueprint_file_is_at_home_where_its_data_lie(solution: Solution) -> None:
    path = corpus_root() / "battery" / "merchant_day" / "expert" / "blueprint.json"
    loaded = Blueprint.load(path)
    assert loaded.home.problem is not None
    assert loaded.solve().objective == pytest.approx(solution.objective, rel=1e-9)


def test_an_edit_returns_another_blueprint_in_the_unit_of_the_place(blueprint: Blueprint) -> None:
    larger = blueprint.set("battery.energy_capacity", 30_000, "kWh")
    value = next(p for p in larger.core.parameters if p.name == "E_max").value
    assert value == 30.0  # MWh, as the text has it
    assert blueprint != larger
    assert larger.home.edits == ("battery.energy_capacity = 30000 kWh",)
    value_row, source_row = blueprint.diff(larger).to_dict("records")
    assert (value_row["before"], value_row["after"]) == ("20", "30.0")
    assert "given by the user" in source_row["after"]


@pytest.mark.parametrize(
    ("name", "value", "unit", "said"),
    [
        ("battery.energy_capacity", 30, "MW", "MW and MWh"),
        ("battery.energy_capacity", [1.0, 2.0], "MWh", "wrong shape"),
        ("battery.energy_capacity", float("nan"), "MWh", "finite"),
        ("battery.energy_capasity", 30, "MWh", "energy_capacity"),
        ("energy_capacity", 30, "MWh", "battery.energy_capacity"),
    ],
)
def test_an_edit_that_makes_no_sense_says_why(
    blueprint: Blueprint, name: str, value: object, unit: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        blueprint.set(name, value, unit)


def test_an_edit_that_breaks_the_blueprint_says_what_lint_says(blueprint: Blueprint) -> None:
    path = "/core_model_elements/objective_function/expression"
    broken = [{"op": "replace", "path": path, "value": "sum(cost[t] for t in T)"}]
    with pytest.raises(BlueprintError, match=r"EB002 objective_function.*column 5.*cost") as error:
        blueprint.patch(broken)
    document = blueprint.to_dict()
    document["core_model_elements"]["objective_function"]["expression"] = broken[0]["value"]
    home = blueprint.home
    linted = Blueprint.from_dict(document).at_home(home).lint()
    assert [str(d) for d in error.value.diagnostics] == [str(d) for d in linted.errors]


def test_bounds_of_variables_can_be_edited() -> None:
    expert = Problem.load("merchant_day").analyse("expert")
    variable = expert.expanded.core.decision_variables[0]
    edited = expert.expanded.set(f"{variable.name}.upper", 1.0, variable.unit)
    assert edited.solve().to_dataframe(units=False)[variable.quantity].max() <= 1.0 + 1e-9


def test_a_plan_is_a_table_with_units_and_local_time(solution: Solution) -> None:
    frame = solution.to_dataframe()
    assert "battery.charge [kW]" in frame
    assert str(pd.DatetimeIndex(frame.index).tz) == "Europe/Berlin"
    assert frame.index[0] == pd.Timestamp("2025-06-14T00:00+02:00")
    assert len(frame) == 25  # a state of charge after the last period
    assert np.isnan(frame["battery.charge [kW]"].iloc[-1])
    assert frame["battery.state_of_charge [kWh]"].iloc[-1] >= 6000 - 1e-6


def test_a_series_is_found_by_its_quantity(solution: Solution) -> None:
    assert float(solution["battery.charge"].max()) == 8000.0
    with pytest.raises(InputError, match=r"battery\.charge"):
        solution["battery.chrage"]


def test_a_plan_that_is_kept_can_be_checked_by_anybody(
    solution: Solution, merchant: Problem, tmp_path: Path
) -> None:
    path = solution.to_netcdf(tmp_path / "plan.nc")
    assert check(merchant, path, solution.blueprint.expanded).verdict == "certified"
    assert merchant.check(path).verdict in ("certified", "feasible")  # by its quantities alone


def test_an_edited_plan_is_certified_against_what_was_edited(blueprint: Blueprint) -> None:
    plan = blueprint.set("battery.energy_capacity", 60, "MWh").solve()
    assert plan.certificate.verdict == "solved"
    assert plan.certificate.line == ("solved with 1 value changed by the user: E max 20 → 60 MWh")
    assert any("as edited: battery.energy_capacity = 60 MWh" in n for n in plan.certificate.notes)
    assert plan.check(against="problem").verdict == "violated"


def test_what_only_its_author_has_read_is_not_certified(tmp_path: Path) -> None:
    folder = corpus_root() / "battery" / "merchant_day"
    read = Problem.load(folder).analyse()
    without = shutil.ignore_patterns("expert", "*reading.json")
    bare = Problem.load(shutil.copytree(folder, tmp_path / "day", ignore=without))
    written = read.at_home(replace(read.home, problem=bare, folder=bare.folder))
    found = written.solve().certificate
    assert (found.verdict, found.reading["grade"]) == ("solved", "author only")


def test_what_is_not_there_is_not_plotted(solution: Solution) -> None:
    assert isinstance(solution.plot(), Figure)
    assert [panel.unit for panel in solution.plot("price").charts] == ["EUR/MWh"]
    with pytest.raises(InputError, match="no panel speaks of 'moon'"):
        solution.plot("moon")


def test_a_figure_is_kept_as_a_picture(solution: Solution, tmp_path: Path) -> None:
    path = solution.plot().save(tmp_path / "plan.svg")
    assert path.read_text("utf-8").startswith("<svg")
    with pytest.raises(InputError, match=r"\.svg"):
        solution.plot().save(tmp_path / "plan.png")


def test_two_plans_differ_where_they_do(blueprint: Blueprint, solution: Solution) -> None:
    assert diff(solution, solution).empty
    other = blueprint.set("battery.discharge_power_max", 5, "MW").solve()
    places = list(solution.diff(other)["where"])
    assert places[0] == "objective"
    assert any(place.startswith("battery.discharge, most at ") for place in places)
    with pytest.raises(InputError, match="Solution and Blueprint"):
        diff(solution, blueprint)


def test_no_plan_is_an_answer_with_a_proof_and_a_reason() -> None:
    plan = Problem.load("market_hall_infeasible").analyse("expert").solve()
    assert plan.status == "infeasible"
    assert plan.objective is None
    assert plan.certificate.verdict == "proven infeasible"
    assert plan.explain().kind == "infeasible"
    assert "nothing to draw" in plan.plot()._repr_html_()


def test_a_run_is_opened_and_not_begun_again(merchant: Problem, tmp_path: Path) -> None:
    run = merchant.run(tmp_path / "day")
    started = run.record["started"]
    again = Problem.load("merchant_day").run(tmp_path / "day")
    assert again.record["started"] == started
    assert again.verdict == "certified"
    assert again.solution is not None
    assert again.certificate is not None
    assert again.solution.certificate.verdict == "certified"
    assert again.blueprint is not None
    assert again.problem is not None
    assert again.problem.sha256 == merchant.sha256
    assert again.route().charts
    assert again.plot("price").charts
    other = Problem.from_text(TEXT, {"prices.csv": prices()})
    with pytest.raises(InputError, match="another text"):
        other.run(tmp_path / "day")


def test_a_run_that_was_cut_while_it_copied_its_problem_is_begun_again(
    merchant: Problem, tmp_path: Path
) -> None:
    run = merchant.run(tmp_path / "day")
    record = dict(run.record) | {"state": "running", "pid": 2**22 + 1}
    (run.folder / "run.json").write_text(json.dumps(record), encoding="utf-8")
    (run.folder / "problem/day_ahead.csv").unlink()
    again = merchant.run(tmp_path / "day")
    assert again.verdict == "certified"
    assert (again.folder / "problem/day_ahead.csv").is_file()


def test_a_folder_that_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"run\.json|record"):
        Run.open(tmp_path)


def test_a_sweep_is_a_table_and_a_chart_and_agrees_with_single_edits(blueprint: Blueprint) -> None:
    study = blueprint.sweep("battery.energy_capacity=10,20,30[MWh]")
    frame = study.to_dataframe()
    assert list(frame["status"]) == ["optimal"] * 3
    single = blueprint.set("battery.energy_capacity", 30, "MWh").solve()
    assert frame["objective [EUR]"].iloc[-1] == pytest.approx(single.objective, rel=1e-6)
    (chart,) = study.plot().charts
    assert isinstance(chart, Panel)
    assert [len(curve.values) for curve in chart.curves] == [3]
    assert "data:image/svg+xml" in study._repr_html_()
    assert repr(study).startswith("Study(sweep of ")


def test_a_front_lies_between_the_objective_and_another_goal(blueprint: Blueprint) -> None:
    use = "use=min:sum(battery_discharge[t]*dt(t) for t in T)"
    study = blueprint.pareto(use, points=4)
    assert study.to_dataframe()["efficient"].sum() >= 2
    front = study.plot().charts[0]
    assert isinstance(front, Panel)
    assert front.up.startswith("profit")
    with pytest.raises(InputError, match="no goal"):
        blueprint.pareto("use")
    with pytest.raises(InputError, match="solve has no 'colour'"):
        blueprint.sweep("battery.energy_capacity=10,20[MWh]", colour=3)
