"""What counts as right beside an expert's answer."""

import pytest

from engiagent.agents.bench import judge

ANSWER = {
    "verdict": "certified",
    "objective": {"value": 10.0, "unit": "EUR", "sense": "minimize"},
    "relative_tolerance": 1e-6,
}
UNDECIDED = {"verdict": "ill-posed", "missing": ["battery.charge_efficiency"]}
GAP = {
    "verdict": "ill-posed",
    "missing": ["diesel"],
    "missing_as": {"diesel": ["genset.fuel_price"]},
}


def goal(value: float, unit: str = "EUR") -> dict[str, object]:
    return {"value": value, "unit": unit, "sense": "minimize"}


@pytest.mark.parametrize(
    ("verdict", "objective", "missing", "answer", "expected"),
    [
        ("certified", goal(10.0), (), ANSWER, "right"),
        ("certified", goal(1000.0, "ct_EUR"), (), ANSWER, "right"),
        ("certified", goal(10.01), (), ANSWER, "wrong"),
        ("certified", {**goal(10.0), "sense": "maximize"}, (), ANSWER, "wrong"),
        ("proven infeasible", {}, (), ANSWER, "wrong"),
        ("undecided", {}, (), ANSWER, "undecided"),
        (None, {}, (), ANSWER, "undecided"),
        ("certified", goal(10.0), (), UNDECIDED, "wrong"),
        ("undecided", {}, ("battery.charge_efficiency",), UNDECIDED, "right"),
        # Undecided for another reason is no answer: the gap in the data was not seen.
        ("undecided", {}, (), UNDECIDED, "undecided"),
        # The expert's own name for a gap is nothing that the text tells.
        ("undecided", {}, ("genset.fuel_price",), GAP, "right"),
        ("undecided", {}, ("genset.power_max",), GAP, "undecided"),
        ("ill-posed", {}, ("battery.charge_efficiency",), UNDECIDED, "right"),
        ("ill-posed", {}, ("battery.charge_efficiency",), ANSWER, "undecided"),
        # Without annotations nobody but the author has read the text: right by its objective.
        ("solved", goal(10.0), (), ANSWER, "right"),
        ("solved", goal(10.01), (), ANSWER, "wrong"),
        # A proof that the expert's best known plan is the best contradicts nothing.
        ("certified", goal(10.0), (), {**ANSWER, "verdict": "feasible"}, "right"),
        ("certified", goal(9.0), (), {**ANSWER, "verdict": "feasible"}, "wrong"),
        ("proven infeasible", {}, (), {**ANSWER, "verdict": "feasible"}, "wrong"),
    ],
)
def test_a_verdict_is_held_against_the_answer(
    verdict: str | None,
    objective: dict[str, object],
    missing: tuple[str, ...],
    answer: dict[str, object],
    expected: str,
) -> None:
    assert judge(verdict, objective, missing, answer)[0] == expected
