"""States without a declared model: executed by the balances that the blueprint states."""

from typing import Any

import pytest

from tests.verify.small import HOURS, document, judged, rule

SETS = [*HOURS, {"name": "I", "kind": "instants", "of": "T"}]
TAKE = {
    "name": "take",
    "index": ["t in T"],
    "lower": 0,
    "upper": 9,
    "unit": "kW",
    "quantity": "store.charge",
    "role": "decision",
}
E = {
    "name": "e",
    "index": ["i in I"],
    "lower": 0,
    "upper": 20,
    "unit": "kWh",
    "quantity": "store.energy",
    "role": "state",
}
STEP = rule("e[t+1] == 0.5*e[t] + take[t]*dt(t)")
START = {"constraint_id": "start", "expression": "e[first(I)] == 4[kWh]"}
FLOOR = {"constraint_id": "floor", "forall": ["i in I"], "expression": "e[i] >= 2[kWh]"}


def physics(rules: list[dict[str, Any]], take: list[float], e: list[float]) -> dict[str, Any]:
    blueprint = document([TAKE, E], rules, sets=SETS)
    return dict(judged(blueprint, {"take": take, "e": e}).levels["physics"])


def test_a_state_with_a_balance_is_executed() -> None:
    right = physics([STEP, START, FLOOR], [1, 1, 2], [4, 3, 2.5, 3.25])
    assert right["status"] == "pass"
    assert right["states"][0]["quantity"] == "store.energy"


@pytest.mark.parametrize("e", [[4, 3, 2.5, 3.35], [5, 3.5, 2.75, 3.375]])
def test_a_state_that_does_not_follow_is_a_violation(e: list[float]) -> None:
    assert physics([STEP, START, FLOOR], [1, 1, 2], e)["status"] == "fail"


def test_limits_hold_on_the_executed_state() -> None:
    # Each step is off by little, and what they lead to is below the floor.
    assert physics([STEP, START, FLOOR], [0, 0, 2], [4, 2, 2, 3])["status"] == "fail"


def test_a_state_without_a_balance_stays_unchecked() -> None:
    assert physics([START, FLOOR], [1, 1, 2], [4, 3, 2.5, 3.25])["status"] == "unchecked"
    partly = {**STEP, "where": "pos(t) < 2"}
    assert physics([partly, START], [1, 1, 2], [4, 3, 2.5, 3.25])["status"] == "unchecked"


def test_a_state_that_is_an_expression_is_named() -> None:
    energy = {
        "name": "e",
        "index": ["i in I"],
        "unit": "kWh",
        "quantity": "store.energy",
        "expression": "4[kWh] + sum(take[s]*dt(s) for s in T if pos(s) < pos(i))",
    }
    blueprint = document([TAKE], [FLOOR], sets=SETS, expressions=[energy])
    level = judged(blueprint, {"take": [1, 1, 2]}).levels["physics"]
    assert level["status"] == "pass"
    assert level["notes"] == ["store.energy is computed from the decisions by the expression e"]
