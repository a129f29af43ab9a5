"""Mistakes that other tools made and published, rebuilt small; the checker catches each."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent.blueprint.document import Blueprint
from engiagent.verify.certificate import Certificate
from engiagent.verify.checking import check
from tests.verify import example
from tests.verify.small import document, judged, rule


@pytest.fixture
def problem(tmp_path: Path) -> example.LittleProblem:
    return example.make_problem(tmp_path)


def accused(certificate: Certificate) -> set[str]:
    return {str(violation["check"]) for violation in certificate.violations}


def optimality(certificate: Certificate) -> str:
    return str(certificate.levels["optimality"]["status"])


# --- solvers -----------------------------------------------------------------------------------

# min 2x + 3z with x + z >= 4.5 and z whole: a solver of 2024 called 15 optimal; 9 is (x = 4.5).
WHOLE = document(
    [
        {"name": "x", "lower": 0, "upper": 10, "unit": "1"},
        {"name": "z", "lower": 0, "upper": 10, "unit": "1", "type": "integer"},
    ],
    [rule("x + z >= 4.5", None)],
    {"sense": "minimize", "unit": "1", "expression": "2*x + 3*z"},
)


def test_a_wrong_optimum_of_a_solver_is_not_certified() -> None:
    told: dict[str, Any] = {"status": "optimal", "objective": 15.0, "bound": 15.0, "is_mip": 1}
    wrong = judged(WHOLE, {"x": 0.0, "z": 5.0}, **told)
    assert wrong.verdict != "certified"
    assert optimality(wrong) != "pass"


def test_whole_numbers_that_are_almost_whole_are_not_whole() -> None:
    """A switch of 9e-7 lets a big-M row leak 0.9 kW; rounded, the plan is infeasible."""
    leak = document(
        [{"name": "on", "type": "binary"}, {"name": "p", "lower": 0, "upper": 5, "unit": "kW"}],
        [rule("p <= 1000000[kW]*on", None)],
        {"sense": "maximize", "unit": "kW", "expression": "p"},
    )
    wrong = judged(leak, {"on": 9e-7, "p": 0.9}, status="optimal", objective=0.9)
    assert wrong.verdict == "violated"


def test_an_infeasible_problem_sold_as_feasible(problem: example.LittleProblem) -> None:
    """24 h at 80 MW at least, and 1000 MWh a day at most: published as solved."""
    impossible = document(
        [{"name": "p", "index": ["t in T"], "lower": 0, "upper": 200, "unit": "MW"}],
        [
            {"constraint_id": "least", "forall": ["t in T"], "expression": "p[t] >= 80[MW]"},
            {"constraint_id": "day", "expression": "sum(p[t]*dt(t) for t in T) == 1000[MWh]"},
        ],
        {"sense": "minimize", "unit": "MWh", "expression": "sum(p[t]*dt(t) for t in T)"},
        sets=[{"name": "T", "kind": "time", "start": "00:00", "step": "1 h", "periods": 24}],
    )
    by_day = judged(impossible, {"p": np.full(24, 1000 / 24)}, status="optimal")
    by_least = judged(impossible, {"p": np.full(24, 80.0)}, status="optimal")
    assert (by_day.verdict, accused(by_day)) == ("violated", {"least"})
    assert (by_least.verdict, accused(by_least)) == ("violated", {"day"})


def test_a_feasible_problem_called_infeasible_without_a_proof_stays_undecided() -> None:
    wrong = judged(WHOLE, {}, status="infeasible")
    assert wrong.verdict == "undecided"


# --- batteries ---------------------------------------------------------------------------------


def blueprint_with(**changes: str) -> Blueprint:
    data = example.blueprint_dict()
    for constraint in data["core_model_elements"]["constraints"]:
        if constraint["constraint_id"] in changes:
            constraint["expression"] = changes[constraint["constraint_id"]]
    return example.blueprint(data=data)


def test_energy_out_of_nothing_in_the_first_hour(problem: example.LittleProblem) -> None:
    """A published tool applies its energy balance for t > 0 only: the first hour is free."""
    data = example.blueprint_dict()
    for constraint in data["core_model_elements"]["constraints"]:
        if constraint["constraint_id"] == "dynamics":
            constraint["where"] = "pos(t) > 0"
    free = example.blueprint(data=data)
    solved = example.solve()
    solved["discharge"][0] = 40.0
    solved["charge"][0] = 0.0
    price = example.prices(24)
    solved.attrs["objective"] = float(
        (price * (solved["discharge"].values - solved["charge"].values)).sum() / 1000
    )
    certificate = check(problem, solved, free)
    assert certificate.verdict == "violated"
    assert certificate.levels["physics"]["status"] == "fail"
    assert certificate.levels["algebra"]["status"] == "pass"  # its own algebra sees nothing


def test_one_way_efficiency_used_as_round_trip(problem: example.LittleProblem) -> None:
    """90 % on the way in and 100 % out: the plan's own states follow a battery that is not this."""
    solved = example.solve()
    charge, discharge = solved["charge"].values, solved["discharge"].values
    energy = 30.0 + np.concatenate(([0.0], np.cumsum(0.9 * charge - discharge)))
    solved["soc"] = ("I", energy, solved["soc"].attrs)
    lax = blueprint_with(dynamics="soc[t+1] == soc[t] + (eta*charge[t] - discharge[t])*dt(t)")
    certificate = check(problem, solved, lax)
    assert certificate.verdict == "violated"
    assert certificate.levels["physics"]["status"] == "fail"


def test_charging_and_discharging_at_once_when_prices_are_negative() -> None:
    """The plain relaxation sells energy that it burns: 44 MW both ways in a published plan."""
    both = document(
        [
            {
                "name": name,
                "index": ["t in T"],
                "lower": 0,
                "upper": 50,
                "unit": "MW",
                "quantity": f"battery.{name}",
            }
            for name in ("charge", "discharge")
        ],
        [rule("exclusive(charge[t], discharge[t])")],
    )
    burnt = judged(both, {"charge": [0.0, 44.0, 0.0], "discharge": [10.0, 44.0, 0.0]})
    assert accused(burnt) == {"C"}
    assert burnt.violations[0]["amount"] == pytest.approx(44.0)
    assert not judged(both, {"charge": [0, 44, 0], "discharge": [10, 0, 0]}).violations


def test_a_soft_end_dropped_without_a_word(problem: example.LittleProblem) -> None:
    """Tools drop the end state when it gets in their way; the text's requirement stays."""
    data = example.blueprint_dict()
    core = data["core_model_elements"]
    core["constraints"] = [c for c in core["constraints"] if c["constraint_id"] != "final"]
    from tests.verify.test_schedules import YAML

    expert = problem.folder / "expert"
    expert.mkdir()
    (expert / "requirements.yaml").write_text(YAML)
    annotated = dataclasses.replace(problem, expert=expert)
    empty = {"charge": np.zeros(24), "discharge": np.r_[27.0, np.zeros(23)]}
    certificate = check(annotated, empty, example.blueprint(data=data))
    assert certificate.verdict == "violated"
    assert "R2" in accused(certificate)


# --- claims ------------------------------------------------------------------------------------


def test_a_claim_of_optimality_for_a_plan_that_does_nothing(problem: example.LittleProblem) -> None:
    idle = {"charge": np.zeros(24), "discharge": np.zeros(24), "status": "optimal"}
    certificate = check(problem, idle, example.blueprint())
    assert certificate.verdict == "solved"
    assert optimality(certificate) != "pass"
