"""Two readings of one problem: honest pairs meet, wrong ones are named, nothing empty confirms."""

import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.agents.meeting import Meeting, meet, nomenclature, solve_reading
from engiagent.agents.second import claim_of
from engiagent.blueprint import Blueprint
from engiagent.formulations.expansion import expand
from engiagent.text import Problem
from engiagent.verify.checking import check
from engiagent.verify.series import Series
from tests.blueprints import blueprint, goal, variable
from tests.blueprints import constraint as row
from tests.readings.rewriting import CORPUS, OPTIONS, edited, reference, rewritten

PAIRS = (
    "battery/merchant_day",  # LP with binaries in some hours; maximisation
    "battery/brewery_demand_charge",  # the greatest power in the goal
    "battery/farm_quadratic_wear",  # QP
    "battery/market_hall_infeasible",
    "der/island_unit_commitment",  # whole numbers over two sets
    "hvac/fair_cold_order",  # scenarios
    "thermal/office_heat_pump",  # temperatures; quantities that are expressions
)


@cache
def honest(name: str) -> Blueprint:
    _, names = reference(name)
    written = Blueprint.load(CORPUS / name / "expert" / "blueprint.json")
    return rewritten(written, CORPUS / name, names)


def met(name: str, second: Blueprint, first: Blueprint | None = None) -> Meeting:
    side, names = reference(name)
    if first is not None:
        side = solve_reading(first, CORPUS / name, OPTIONS, isolate=False)
    problem = Problem.load(CORPUS / name)
    return meet(side, second, problem=problem, names=names, options=OPTIONS, isolate=False)


def constraint(core: dict[str, Any], name: str) -> dict[str, Any]:
    return next(c for c in core["constraints"] if c["constraint_id"] == name)


def parameter(core: dict[str, Any], name: str) -> dict[str, Any]:
    return next(p for p in core["parameters"] if p["name"] == name)


@pytest.mark.parametrize("name", PAIRS)
def test_an_honest_second_reading_meets_the_first(name: str) -> None:
    found = met(name, honest(name))
    assert found.confirmed, found.reason
    assert not found.differences
    assert found.grade in ("recomputed", "agreed")


def dropped(core: dict[str, Any]) -> None:
    core["constraints"] = [c for c in core["constraints"] if c["constraint_id"] != "end_energy"]


def at_the_start(core: dict[str, Any]) -> None:
    row = constraint(core, "end_energy")
    row["expression"] = row["expression"].replace("last", "first")


def swapped(core: dict[str, Any]) -> None:
    one, two = parameter(core, "P_charge"), parameter(core, "P_discharge")
    one["value"], two["value"] = two["value"], one["value"]


def less(core: dict[str, Any]) -> None:
    parameter(core, "eta_charge")["value"] *= 0.9


def no_wear(core: dict[str, Any]) -> None:
    goal = core["objective_function"]
    goal["expression"] = goal["expression"].replace("wear*", "0*wear*")


def half_the_day(core: dict[str, Any]) -> None:
    goal = core["objective_function"]
    goal["expression"] = goal["expression"].replace(" for t in T)", " for t in T if pos(t) < 12)")


def fuller(core: dict[str, Any]) -> None:
    text = "battery_state_of_charge[i] >= 5[MWh]"
    core["constraints"].append(row(text, "i in I", constraint_id="reserve", name="reserve"))


@pytest.mark.parametrize(
    ("change", "kind", "words"),
    [
        (dropped, "lacks", "at least 6 MWh again"),
        (at_the_start, "lacks", "at least 6 MWh again"),
        (swapped, "lacks", "8 MW"),
        (less, "lacks", "96 %"),
        (no_wear, "goals", "largest profit"),
        (half_the_day, "goals", "largest profit"),
        (fuller, "adds", "no words"),
    ],
)
def test_a_wrong_first_reading_is_named_with_the_words_it_is_about(
    change: Any, kind: str, words: str
) -> None:
    written = Blueprint.load(CORPUS / "battery/merchant_day/expert/blueprint.json")
    found = met("battery/merchant_day", honest("battery/merchant_day"), edited(written, change))
    assert found.outcome == "different"
    assert found.plan is None
    assert found.grade is None
    assert 1 <= len(found.differences) <= 3
    first = found.differences[0]
    assert first.kind == kind
    rows = honest("battery/merchant_day").core.constraints
    leaves = [s for c in rows if first.row == c.constraint_id for s in _leaves(c)]
    quotes = (first.first.words, first.second.words, *(leaf.quote for leaf in leaves))
    assert words in "".join(quotes)
    assert bool(first.first.formula) == (change is not dropped)
    assert first.worth is not None
    assert first.worth != 0.0


def _leaves(item: Any) -> Any:
    from engiagent.verify.levels.sources import all_leaves

    return [leaf for leaf in all_leaves(item.source_reference) if leaf.quote]


@settings(max_examples=12, deadline=None)
@given(factor=st.floats(0.5, 2.0), name=st.sampled_from(["E_max", "P_charge", "wear", "E_end"]))
def test_no_changed_number_is_confirmed_unless_the_plan_is_the_best_all_the_same(
    factor: float, name: str
) -> None:
    def change(core: dict[str, Any]) -> None:
        parameter(core, name)["value"] *= factor

    problem = "battery/merchant_day"
    written = Blueprint.load(CORPUS / problem / "expert/blueprint.json")
    found = met(problem, honest(problem), edited(written, change))
    if found.confirmed:
        right, _ = reference(problem)
        assert found.second is not None
        assert found.first.objective == pytest.approx(right.schedule.attrs["objective"], rel=2e-6)


def test_where_many_plans_are_the_best_one_that_keeps_both_readings_is_taken() -> None:
    # An hour's charge of the first plan is forbidden by the second reading, at no cost: no end
    # condition and free energy leave several best plans.
    first, second = (_flat(limit) for limit in (4.0, 3.0))
    side = solve_reading(first, None, OPTIONS, isolate=False)
    plan = side.plan["x"].data.copy()
    side.__dict__["plan"] = {"x": Series("x", np.array([4.0, 0.0]), side.plan["x"].unit)}
    found = meet(side, second, options=OPTIONS, isolate=False)
    assert plan.sum() == pytest.approx(4.0)
    assert found.outcome == "met"
    assert found.plan in ("second", "joint")


def _flat(limit: float) -> Blueprint:
    return blueprint(
        sets=[{"name": "T", "kind": "range", "start": 1, "stop": 2}],
        parameters=[],
        decision_variables=[
            variable("x", "t in T", upper=limit, quantity="pump.power", role="decision")
        ],
        constraints=[row("sum(x[t] for t in T) >= 4", name="need")],
        objective_function=goal("sum(x[t] for t in T)", "kW"),
    )


def drop_goal(core: dict[str, Any]) -> None:
    core.pop("objective_function")


def constant_goal(core: dict[str, Any]) -> None:
    goal = core["objective_function"]
    goal["expression"] = f"0*({goal['expression']})"


def without_rows(core: dict[str, Any]) -> None:
    core["constraints"] = []
    core["objective_function"]["sense"] = "minimize"


@pytest.mark.parametrize("change", [drop_goal, constant_goal, without_rows])
def test_an_empty_second_reading_confirms_nothing(change: Any) -> None:
    problem = "battery/brewery_demand_charge"
    found = met(problem, edited(honest(problem), change))
    assert not found.confirmed
    assert "vacuous" in found.reason or found.outcome == "different"


def without_dynamics(core: dict[str, Any]) -> None:
    core["components"] = []
    core["constraints"] = [c for c in core["constraints"] if "+1]" not in c["expression"]]


def test_readings_of_a_store_without_dynamics_meet_and_certify_nothing(tmp_path: Path) -> None:
    problem = CORPUS / "battery/merchant_day"
    first = edited(expand(Blueprint.load(problem / "expert/blueprint.json")), without_dynamics)
    second = edited(honest("battery/merchant_day"), without_dynamics)
    found = met("battery/merchant_day", second, first)
    assert found.settled.dynamics == ()
    shutil.copytree(problem, tmp_path / "day", ignore=shutil.ignore_patterns("expert"))
    plan = solve_reading(first, problem, OPTIONS, isolate=False).schedule
    judged = check(Problem.load(tmp_path / "day"), plan, first, reading=claim_of(found))
    assert judged.verdict == "undecided"
    assert judged.levels["physics"]["status"] == "unchecked"


@pytest.mark.parametrize("name", PAIRS)
def test_a_nomenclature_says_no_number_of_the_problem(name: str) -> None:
    side, names = reference(name)
    text = names.to_text()
    for p in side.core.parameters:
        if isinstance(p.value, int | float) and p.value not in (0, 1) and p.unit not in (None, "1"):
            assert f"{p.value} {p.unit}" not in text
    for entry in names.entries:
        assert entry.name in text
    assert nomenclature(side.blueprint, side.folder) == names
