"""A requirement of the text is met only by a constraint that can bind."""

from pathlib import Path
from typing import Any

import pytest

from engiagent.verify.checking import check
from tests.verify import example

END = "soc[last(I)] >= E_end"
SENTENCE = "at the end it must hold at least 30 kWh."

IDLE: dict[str, dict[str, Any]] = {
    "soft and free of charge": {"hard": False},
    "constant": {"expression": "E_end <= E_max"},
    "without rows": {"forall": ["t in T"], "where": "pos(t) < 0", "expression": "soc[t] >= E_end"},
    "one thing or its opposite": {
        "expression": "either(soc[last(I)] >= E_end, soc[last(I)] <= E_end)"
    },
    "the opposite turned round": {
        "expression": "either(soc[last(I)] >= E_end, E_end >= soc[last(I)])"
    },
    "under a switch that nothing sets": {"expression": f"implies(checked, {END})"},
    "slack by another parameter": {"expression": "soc[last(I)] >= E_end - allowance"},
    "slack by a free variable": {"expression": "soc[last(I)] + spare >= E_end"},
    "on the first instant": {"expression": "soc[first(I)] >= E_end"},
    "within the bounds": {"expression": "soc[last(I)] >= -E_end"},
    "of an extreme that the start reaches": {"expression": "max(soc[i] for i in I) >= E_end"},
    "of an extreme with a parameter": {"expression": "max(soc[last(I)], E_max) >= E_end"},
    "of the least, from above": {"expression": "min(soc[i] for i in I) <= E_end"},
    "of an amount": {"expression": "abs(soc[last(I)]) >= -E_end"},
    "of a root": {"expression": "sqrt(soc[last(I)]*E_max) >= -E_end"},
    "an alternative within the bounds": {
        "expression": "either(soc[last(I)] >= E_end, soc[last(I)] <= E_max + E_end)"
    },
    "alternatives that overlap": {
        "expression": "either(soc[last(I)] >= E_end, soc[last(I)] <= 2*E_end)"
    },
}

STANDING = {
    "as the text has it": END,
    "the other way round": "E_end <= soc[last(I)]",
    "chained": "E_end <= soc[last(I)] <= E_max",
    "over a filter": "sum(soc[i] for i in I if pos(i) == len(I) - 1) >= E_end",
    "as an extreme": "min(soc[last(I)], E_max) >= E_end",
}
HARD = {
    "an extreme within the horizon": "max(soc[i] for i in I) >= E_end + P_max*dt(first(T))",
    "one of two ends of a gap": "either(soc[last(I)] <= 0[kWh], soc[last(I)] >= E_end)",
    "under a condition that may hold": "implies(soc[last(I)] > 0[kWh], soc[last(I)] >= E_end)",
}


def certificate(folder: Path, change: dict[str, Any], goal: dict[str, Any] | None = None) -> Any:
    data = example.blueprint_dict()
    core = data["core_model_elements"]
    core["constraints"][-1] |= change
    rounded = {"kind": "assumption", "reason": "a rounded figure"}
    allowance = {"name": "allowance", "value": 200, "unit": "kWh", "source_reference": rounded}
    solution = example.solve()
    if "allowance" in str(change):
        core["parameters"].append(allowance)
    if "checked" in str(change):
        core["decision_variables"].append({"name": "checked", "type": "binary"})
        solution["checked"] = ((), 0.0)
    if "spare" in str(change):
        core["decision_variables"].append(
            {"name": "spare", "type": "continuous", "lower": 0, "unit": "kWh"}
        )
        solution["spare"] = ((), 0.0, {"units": "kWh"})
    if goal is not None:
        core["objective_function"] = goal
    problem = example.make_problem(folder)
    return check(problem, solution, example.blueprint(data=data))


@pytest.mark.parametrize("change", IDLE.values(), ids=list(IDLE))
def test_a_constraint_that_cannot_bind_meets_no_requirement(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    found = certificate(tmp_path, change)
    assert found.verdict != "certified"
    assert SENTENCE in found.not_understood


@pytest.mark.parametrize("expression", STANDING.values(), ids=list(STANDING))
def test_a_constraint_that_can_bind_meets_it(tmp_path: Path, expression: str) -> None:
    found = certificate(tmp_path, {"expression": expression})
    assert found.not_understood == ()
    assert found.verdict == "solved"  # nobody but its author has read the text


@pytest.mark.parametrize("expression", HARD.values(), ids=list(HARD))
def test_a_row_that_is_not_affine_and_can_bind_is_not_idle(tmp_path: Path, expression: str) -> None:
    assert SENTENCE not in certificate(tmp_path, {"expression": expression}).not_understood


@pytest.mark.parametrize(
    ("expression", "finding"),
    [
        ("(1 - 1)*sum(price[t]*discharge[t]*dt(t) for t in T)", "same for every plan"),
        ("0*sum(price[t]*discharge[t]*dt(t) for t in T)", "by zero"),
        ("sum(price[t]*charge[t]*dt(t) for t in T)*0", "by zero"),
        ("sum(price[t]*P_max*dt(t) for t in T)", "same for every plan"),
    ],
)
def test_an_objective_that_leaves_nothing_to_choose_is_found(
    tmp_path: Path, expression: str, finding: str
) -> None:
    goal = {"sense": "maximize", "unit": "EUR", "expression": expression}
    data = certificate(tmp_path, {}, goal).levels["data"]
    assert data["status"] != "pass"
    assert any(finding in text for text in data["findings"])


def test_a_text_that_wants_the_best_needs_an_objective(tmp_path: Path) -> None:
    data = example.blueprint_dict()
    del data["core_model_elements"]["objective_function"]
    found = check(example.make_problem(tmp_path), example.solve(), example.blueprint(data=data))
    assert found.verdict != "certified"
    assert any("no objective" in text for text in found.levels["data"]["findings"])


@pytest.mark.parametrize("role", ["state", "decision", "auxiliary"])
def test_a_store_without_dynamics_is_not_executed(tmp_path: Path, role: str) -> None:
    """Neither a component nor a balance says how the content follows; the role hides nothing."""
    data = example.blueprint_dict()
    core = data["core_model_elements"]
    core["components"] = []
    core["constraints"] = [c for c in core["constraints"] if c["constraint_id"] != "dynamics"]
    core["decision_variables"][-1]["role"] = role
    found = check(example.make_problem(tmp_path), example.solve(), example.blueprint(data=data))
    assert found.levels["physics"]["status"] == "unchecked"
    assert found.verdict != "certified"
