"""Prices against differences of solves, directions against the limits, and how runs tell it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.cli.app import app
from engiagent.explain import Explanation, Given, explain, explain_result
from engiagent.explain.infeasible import is_ray
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.solvers.solving import solve
from tests.blueprints import blueprint, constraint, goal, parameter, variable
from tests.explain.plants import HOURS, room, store


def best(given: Blueprint) -> float:
    result = solve(compile_blueprint(expand(given), None), isolate=False)
    assert result.objective is not None
    return result.objective


def with_value(given: Blueprint, name: str, by: float) -> Blueprint:
    raw = given.to_dict()
    for item in raw["core_model_elements"]["parameters"]:
        if item["name"] == name:
            item["value"] += by
    return Blueprint.from_dict(raw)


def upper(found: Explanation, name: str) -> Any:
    return next(t for t in found.tight if (t.name, t.side) == (name, "upper"))


PRICES = st.lists(st.integers(1, 40).map(lambda k: k / 100), min_size=12, max_size=12)


@given(price=PRICES)
@settings(max_examples=12, deadline=None)
def test_prices_are_what_a_step_of_the_limit_changes(price: list[float]) -> None:
    base = store(price=price)
    found = explain(base)
    assert found.kind == "plan"
    for item in found.tight:
        if (item.name, item.side) != ("e", "upper"):
            continue
        here, step = best(base), 1e-3
        up = (best(with_value(base, "E", step)) - here) / step
        down = (here - best(with_value(base, "E", -step))) / step
        assert min(down, up) - 1e-5 <= item.price <= max(down, up) + 1e-5


def test_a_plan_with_whole_numbers_says_what_its_prices_are() -> None:
    found = explain(store(whole=True))
    assert any("at fixed integer values" in note for note in found.notes)
    begin = next(t for t in found.tight if t.name == "e_0")
    assert begin.unit == "kWh"


def endless(**more: Any) -> Blueprint:
    return blueprint(
        sets=[HOURS],
        parameters=[parameter("tariff", 0.08, "EUR/kWh")],
        decision_variables=[
            {"name": "sold", "index": ["t in T"], "lower": 0, "unit": "MW"} | more,
            {
                "name": "made",
                "index": ["t in T"],
                "lower": 0,
                "unit": "kW",
                "quantity": "roof.power",
            },
            variable("own", "t in T", upper=3),
        ],
        constraints=[
            constraint(
                "made[t] == sold[t] + own[t]",
                "t in T",
                constraint_id="bus",
                category="Supply-Demand Balance",
            )
        ],
        objective_function=goal("sum(tariff*sold[t]*dt(t) for t in T)", sense="maximize"),
    )


def test_an_endless_objective_is_told_by_what_grows_and_what_would_end_it() -> None:
    found = explain(endless())
    assert found.kind == "unbounded"
    ray = found.unbounded
    assert ray is not None
    assert ray.checked
    assert ray.gain > 0
    growths = {growth.name: growth for growth in ray.growths}
    assert set(growths) == {"sold", "made"}
    # 1 MW sold needs 1000 kW made, and earns 0.08 EUR/kWh for an hour.
    assert growths["made"].rate == pytest.approx(1000 * growths["sold"].rate)
    assert ray.gain == pytest.approx(80 * growths["sold"].rate)
    assert {g.open_side for g in ray.growths} == {"upper"}
    assert explain(endless(upper=2)).kind == "plan"


def test_a_direction_that_a_limit_stops_is_none() -> None:
    program = compile_blueprint(expand(endless(upper=2)), None)
    ray = np.zeros(program.column_count)
    ray[program.column_block("sold").start] = 1.0
    ray[program.column_block("made").start] = 1000.0
    assert not is_ray(program, ray)
    assert is_ray(compile_blueprint(expand(endless()), None), ray)
    assert not is_ray(program, np.zeros(program.column_count))


def test_a_solve_without_an_end_says_how_far_it_came_and_what_could_help() -> None:
    given = store(whole=True)
    program = compile_blueprint(expand(given), None)
    solved = solve(program, isolate=False)
    stopped = replace(solved, status="limit", reason="the time limit was reached", gap=0.02)
    found = explain_result(Given(blueprint=given, folder=None), program, stopped, seconds=1.0)
    assert (found.kind, bool(found.tight)) == ("stopped", True)
    assert "the time limit was reached" in found.summary
    assert any("within 2 %" in note for note in found.notes)
    assert any("--time-limit" in note and "--gap" in note for note in found.notes)


def write(folder: Path, given: Blueprint) -> Path:
    path = folder / "model.json"
    path.write_text(given.to_json(), encoding="utf-8")
    return path


CODES: list[tuple[str, Callable[[], Blueprint], int]] = [
    ("infeasible", room, 3),
    ("unbounded", endless, 9),
    ("plan", store, 0),
]


@pytest.mark.parametrize(("kind", "make", "code"), CODES)
def test_the_command_and_the_run_folder_say_the_same(
    kind: str, make: Callable[[], Blueprint], code: int, tmp_path: Path
) -> None:
    path, run = write(tmp_path, make()), tmp_path / "run"
    told = CliRunner().invoke(app, ["explain", str(path), "--json"])
    assert told.exit_code == code, told.output
    answer = json.loads(told.stdout)
    assert answer["kind"] == kind
    CliRunner().invoke(app, ["solve", str(path), "--out", str(run)])
    stored = json.loads((run / "explanation.json").read_text("utf-8"))
    assert stored["kind"] == kind
    assert "explanation.json" in json.loads((run / "run.json").read_text("utf-8"))["artefacts"]
    again = CliRunner().invoke(app, ["explain", str(run), "--json"])
    assert again.exit_code == code
    assert json.loads(again.stdout)["kind"] == kind
    page = (run / "report.html").read_text("utf-8")
    title = {
        "infeasible": "Why there is no plan",
        "unbounded": "What has no limit",
        "plan": "Limits in force",
    }[kind]
    assert title in page


def test_an_explanation_that_is_damaged_costs_no_report(tmp_path: Path) -> None:
    path, run = write(tmp_path, room()), tmp_path / "run"
    CliRunner().invoke(app, ["solve", str(path), "--out", str(run)])
    for damage in ("{", "[1]", '{"kind": "infeasible", "clashes": [3, {"members": 4}]}'):
        (run / "explanation.json").write_text(damage, encoding="utf-8")
        result = CliRunner().invoke(app, ["report", str(run)])
        assert result.exit_code == 0, result.output


def test_what_is_held_at_nothing_is_a_capacity_of_nothing() -> None:
    given = blueprint(
        parameters=[parameter("feed_in", 0, "kW")],
        decision_variables=[
            variable("out", upper="feed_in", quantity="meter.export"),
            variable("sun", lower=4, upper=4),
        ],
        constraints=[constraint("out <= sun")],
        objective_function=goal("0.05[EUR/kWh]*out*1[h]", sense="maximize"),
    )
    (item,) = [t for t in explain(given).tight if t.name == "out"]
    assert item.side == "upper"
    assert item.worth == pytest.approx(0.05)
    assert "1 kW more would earn 0.05 EUR" in item.text


def test_data_and_what_is_worth_nothing_are_no_active_limits_and_the_rest_goes_by_worth() -> None:
    # No sun in the first hour; 'spare' is at its limit of 0 and makes no difference to the cost.
    given = blueprint(
        sets=[HOURS | {"periods": 3}],
        parameters=[parameter("sun", [0, 4, 3], "kW", "T"), parameter("none", 0, "kW")],
        decision_variables=[
            variable("pv", "t in T", upper="sun[t]"),
            variable("bought", "t in T", upper=100),
            variable("rented", "t in T", upper=1),
            variable("spare", upper="none"),
        ],
        constraints=[constraint("pv[t] + rented[t] + bought[t] >= 9[kW]", "t in T", name="load")],
        objective_function=goal(
            "sum(0.3[EUR/kWh]*bought[t]*1[h] + 0.2[EUR/kWh]*rented[t]*1[h] for t in T)"
        ),
    )
    found = [item for item in explain(given).tight if item.kind == "limit"]
    named = [(item.name, item.side, item.bound_at) for item in found]
    # Three hours of the load at 0.3 EUR/kWh, and of the rent at 0.1; the sun is what it is.
    assert named == [("C1", "lower", 3), ("rented", "upper", 3)]
    assert [item.worth / item.step for item in found] == pytest.approx([0.9, 0.3])
    assert "active throughout" in found[0].text
