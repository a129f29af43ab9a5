"""Two readings of one problem: honest pairs meet, wrong ones are named, nothing empty confirms."""

import shutil
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.agents.meeting import Meeting, meet, nomenclature, normalise, solve_reading
from engiagent.agents.verifier import claim_of
from engiagent.blueprint import Blueprint
from engiagent.formulations.expansion import expand
from engiagent.text import Problem
from engiagent.verify.checking import check
from engiagent.verify.series import Series
from tests.blueprints import blueprint, variable
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


def test_agreement_settles_the_numbers_that_both_read_at_the_same_place() -> None:
    found = met("battery/merchant_day", honest("battery/merchant_day"))
    assert set(found.settled.numbers) >= {"E_max", "P_charge", "eta_charge", "wear", "price"}
    assert found.settled.open_numbers == ()
    assert found.settled.dynamics == ("battery.state_of_charge",)


def test_a_number_that_the_second_reading_lacks_stays_open() -> None:
    def change(core: dict[str, Any]) -> None:
        for item in [*core["constraints"], core["objective_function"]]:
            item["source_reference"] = []

    found = met("battery/merchant_day", edited(honest("battery/merchant_day"), change))
    assert found.confirmed
    assert "eta_charge" in found.settled.open_numbers


@pytest.mark.parametrize("name", ["battery/merchant_day", "der/island_unit_commitment"])
def test_a_meeting_survives_its_certificate(name: str) -> None:
    once, again = (met(name, honest(name)) for _ in range(2))
    assert once.to_json() == again.to_json()
    assert once.second is not None
    assert once.second.blueprint_sha256 == honest(name).sha256 == once.blueprint.sha256
    assert (
        once.first.blueprint_sha256
        == Blueprint.load(CORPUS / name / "expert" / "blueprint.json").sha256
    )


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
    core["constraints"].append(
        {
            "constraint_id": "reserve",
            "name": "reserve",
            "category": "Operational Logic",
            "forall": ["i in I"],
            "expression": text,
            "hard": True,
        }
    )


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
    quotes = "".join(
        (
            first.first.words,
            first.second.words,
            *(
                s.quote
                for c in honest("battery/merchant_day").core.constraints
                if first.row == c.constraint_id
                for s in _leaves(c)
            ),
        )
    )
    assert words in quotes
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


def test_a_first_reading_that_allows_no_plan_is_shown_the_row_that_forbids_the_others() -> None:
    def change(core: dict[str, Any]) -> None:
        parameter(core, "E_end")["value"] = 19.5

    problem = "battery/merchant_day"
    written = Blueprint.load(CORPUS / problem / "expert/blueprint.json")
    found = met(problem, honest(problem), edited(written, change))
    assert found.outcome == "different"
    assert found.differences[0].kind == "adds"
    assert "19.5" in found.differences[0].first.formula


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
    row = {
        "constraint_id": "need",
        "name": "need",
        "category": "Physical Laws",
        "expression": "sum(x[t] for t in T) >= 4",
    }
    return blueprint(
        sets=[{"name": "T", "kind": "range", "start": 1, "stop": 2}],
        parameters=[],
        decision_variables=[
            variable("x", "t in T", upper=limit, quantity="pump.power", role="decision")
        ],
        constraints=[row],
        objective_function={
            "sense": "minimize",
            "expression": "sum(x[t] for t in T)",
            "unit": "kW",
        },
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


def test_a_second_reading_that_misses_a_row_is_no_proof_against_the_first() -> None:
    def change(core: dict[str, Any]) -> None:
        core["constraints"] = [c for c in core["constraints"] if "96" not in str(c)]

    found = met("battery/merchant_day", edited(honest("battery/merchant_day"), change))
    assert not found.confirmed
    assert {d.kind for d in found.differences} <= {"adds", "goals"}


def another_hour(core: dict[str, Any]) -> None:
    core["sets"][0]["stop"] = 3


def another_unit(core: dict[str, Any]) -> None:
    core["decision_variables"][0]["unit"] = "kWh"
    core["objective_function"]["unit"] = "kWh"
    core["constraints"] = []
    core["decision_variables"][0]["lower"] = 2


@pytest.mark.parametrize("change", [another_hour, another_unit])
def test_names_of_another_unit_or_another_number_of_hours_do_not_meet(change: Any) -> None:
    flat = solve_reading(_flat(4.0), None, OPTIONS, isolate=False)
    found = meet(flat, edited(_flat(4.0), change), options=OPTIONS, isolate=False)
    assert found.outcome == "names do not meet"
    assert "pump.power" in found.reason


def test_a_quantity_under_another_name_is_paired_where_only_one_fits() -> None:
    def change(core: dict[str, Any]) -> None:
        core["decision_variables"][0] |= {"quantity": "mill.power", "name": "y"}
        for item in (core["constraints"][0], core["objective_function"]):
            item["expression"] = item["expression"].replace("x[t]", "y[t]")

    flat = solve_reading(_flat(4.0), None, OPTIONS, isolate=False)
    assert meet(flat, edited(_flat(4.0), change), options=OPTIONS, isolate=False).confirmed

    def twice(core: dict[str, Any]) -> None:
        change(core)
        core["decision_variables"].append(
            core["decision_variables"][0] | {"name": "z", "quantity": "saw.power"}
        )

    found = meet(flat, edited(_flat(4.0), twice), options=OPTIONS, isolate=False)
    assert found.outcome == "names do not meet"


def test_a_second_reading_in_quantities_of_its_own_alone_confirms_nothing() -> None:
    def change(core: dict[str, Any]) -> None:
        core["decision_variables"][0] |= {"quantity": "other.work", "role": "auxiliary"}

    flat = solve_reading(_flat(4.0), None, OPTIONS, isolate=False)
    found = meet(flat, edited(_flat(4.0), change), options=OPTIONS, isolate=False)
    assert found.outcome == "names do not meet"


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


def test_what_a_reading_leaves_to_its_names_is_supplied_and_recorded() -> None:
    _, names = reference("battery/merchant_day")

    def change(core: dict[str, Any]) -> None:
        # Written in the dotted names alone: no variable is declared, no sign is stated.
        core["decision_variables"] = []
        core.pop("components")
        core["parameters"] = [p for p in core["parameters"] if p["name"] == "price"]
        core["sets"] = [s for s in core["sets"] if s["name"] == "T"]
        energy, charge, discharge = (
            "battery.state_of_charge",
            "battery.charge",
            "battery.discharge",
        )
        rows = {
            "change": (
                ["t in T"],
                f"{energy}[t+1] == {energy}[t] + (0.96*{charge}[t] - {discharge}[t]/0.95)*dt(t)",
            ),
            "start": ([], f"{energy}[first(I)] == 6[MWh]"),
            "end": ([], f"{energy}[last(I)] >= 6[MWh]"),
            "most": (["i in I"], f"{energy}[i] <= 19[MWh]"),
            "least": (["i in I"], f"2[MWh] <= {energy}[i]"),
            "in": (["t in T"], f"{charge}[t] <= 8[MW]"),
            "out": (["t in T"], f"{discharge}[t] <= 10[MW]"),
            "one": (["t in T"], f"exclusive({charge}[t], {discharge}[t])"),
        }
        core["constraints"] = [
            {
                "constraint_id": key,
                "name": key,
                "forall": over,
                "expression": text,
                "category": "Physical Laws",
            }
            for key, (over, text) in rows.items()
        ]
        goal = core["objective_function"]
        goal.pop("components")
        goal["expression"] = (
            f"sum((price[t]*({discharge}[t] - {charge}[t]) - 7.5[EUR/MWh]*{discharge}[t])*dt(t)"
            " for t in T)"
        )

    written = Blueprint.load(CORPUS / "battery/merchant_day/expert/blueprint.json")
    second = edited(written, change)
    made, supplied = normalise(second, names)
    states = {v.quantity: v for v in made.core.decision_variables}
    assert states["battery.state_of_charge"].index in (("I",), ("i in I",))
    assert states["battery.charge"].lower == 0
    assert any(line.startswith("battery.discharge >= 0") for line in supplied)
    assert any("index set I" in line for line in supplied)
    found = met("battery/merchant_day", second)
    assert found.confirmed, (found.reason, [d.text() for d in found.differences])
    assert found.supplied == supplied


def test_a_bound_for_some_hours_does_not_replace_the_sign() -> None:
    names = nomenclature(_flat(4.0))

    def first_hour(core: dict[str, Any]) -> None:
        del core["decision_variables"][0]["lower"]
        core["constraints"].append(
            {
                "constraint_id": "one",
                "name": "one",
                "category": "Physical Laws",
                "forall": ["t in T"],
                "where": "t == first(T)",
                "expression": "x[t] >= -2",
            }
        )

    def every_hour(core: dict[str, Any]) -> None:
        first_hour(core)
        del core["constraints"][-1]["where"]

    for change, lower in ((first_hour, 0), (every_hour, "-2")):
        made, _ = normalise(edited(_flat(4.0), change), names)
        assert made.core.decision_variables[0].lower == lower


def test_a_second_reading_without_a_bound_on_its_goal_is_not_confirmable() -> None:
    def change(core: dict[str, Any]) -> None:
        core["objective_function"]["sense"] = "maximize"
        del core["decision_variables"][0]["upper"]

    side = solve_reading(_flat(4.0), None, OPTIONS, isolate=False)
    found = meet(side, edited(_flat(4.0), change), options=replace(OPTIONS), isolate=False)
    assert found.outcome == "not confirmed"
    assert "bound" in found.reason
