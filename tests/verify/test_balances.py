"""States without a declared model: executed by the balances that the blueprint states."""

import math
from typing import Any

import pytest
from scipy.optimize import brentq

from tests.verify.small import HOURS, document, judged, rule
from tests.written import mapping

SETS = [*HOURS, {"name": "I", "kind": "instants", "of": "T"}]
TAKE = mapping("""
    {name: take, index: [t in T], lower: 0, upper: 9, unit: kW, quantity: store.charge,
      role: decision}
""")
E = mapping("""
    {name: e, index: [i in I], lower: 0, upper: 20, unit: kWh, quantity: store.energy, role: state}
""")
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
    energy = mapping("""
        {name: e, index: [i in I], unit: kWh, quantity: store.energy,
          expression: "4[kWh] + sum(take[s]*dt(s) for s in T if pos(s) < pos(i))"}
    """)
    blueprint = document([TAKE], [FLOOR], sets=SETS, expressions=[energy])
    level = judged(blueprint, {"take": [1, 1, 2]}).levels["physics"]
    assert level["status"] == "pass"
    assert level["notes"] == ["store.energy is computed from the decisions by the expression e"]


TANKS = [*SETS, {"name": "K", "kind": "labels", "elements": ["low", "high"]}]
FLOW = mapping("""
    {name: flow, index: [t in T], lower: -9, upper: 9, unit: kW, quantity: pipe.flow,
      role: decision}
""")
LEVEL = {**E, "name": "x", "index": ["k in K", "i in I"], "quantity": "tank.energy"}
BEGIN = {"constraint_id": "begin", "forall": ["k in K"], "expression": "x[k, first(I)] == 4[kWh]"}
EXPLICIT = "x[k, t+1] == x[k, t] + sum((x[o, t] - x[k, t])/4 for o in K if o != k)"
IMPLICIT = "x[k, t+1] == x[k, t] + sum((x[o, t+1] - x[k, t+1])/4 for o in K if o != k)"


def tanks(step: str, low: list[float], high: list[float], flow: list[float]) -> dict[str, Any]:
    fed = f"{step} + (flow[t]*dt(t) if k == 'low' else 0[kWh])"
    rules = [{**rule(fed), "forall": ["k in K", "t in T"]}, BEGIN]
    blueprint = document([FLOW, LEVEL], rules, sets=TANKS)
    return dict(judged(blueprint, {"flow": flow, "x": [low, high]}).levels["physics"])


@pytest.mark.parametrize("step", [EXPLICIT, IMPLICIT])
def test_states_of_several_units_that_act_on_one_another_are_executed_together(step: str) -> None:
    low, high = [4.0], [4.0]
    for flow in (4.0, -2.0, 0.0):
        if step == EXPLICIT:
            apart = (high[-1] - low[-1]) / 4
        else:  # the difference d after a step: d' = d + flow - d'/2
            apart = -((low[-1] - high[-1] + flow) / 1.5) / 4
        low, high = [*low, low[-1] + apart + flow], [*high, high[-1] - apart]
    found = tanks(step, low, high, [4, -2, 0])
    assert found["status"] == "pass"
    assert [s["quantity"] for s in found["states"]] == ["tank.energy[low]", "tank.energy[high]"]
    assert tanks(step, low, [*high[:3], high[3] + 0.1], [4, -2, 0])["status"] == "fail"


def test_a_state_that_begins_within_the_horizon_is_executed() -> None:
    start = {"constraint_id": "start", "expression": "x[k, begins[k]] == 4[kWh]"}
    begins = mapping("""
        {name: begins, index: [K], type: element of I, value: {low: 0, high: 1}}
    """)
    step = {**rule("x[k, t+1] == x[k, t] + (flow[t]*dt(t) if k == 'low' else 0[kWh])")}
    rules = [{**step, "forall": ["k in K", "t in T"]}, {**start, "forall": ["k in K"]}]
    blueprint = document([FLOW, LEVEL], rules, sets=TANKS, parameters=[begins])
    plan = {"flow": [1, 1, 2], "x": [[4, 5, 6, 8], [4, 4, 4, 4]]}
    assert judged(blueprint, plan).levels["physics"]["status"] == "pass"


DRAINS = {
    "looks back": "e[t+1] == e[t] + take[t]*dt(t) - sqrt(e[t]/1[kWh])*1[kWh]",
    "looks ahead": "e[t+1] == e[t] + take[t]*dt(t) - 0.5[kWh]*(e[t+1]/4[kWh])**1.5",
    "times a decision": "e[t+1] == e[t] + take[t]*dt(t)*(1 - e[t]/20[kWh])",
}


def drained(kind: str, take: list[float], start: float = 4.0) -> list[float]:
    """Return the content, step by step, by scipy's root finder where it looks ahead."""
    found = [start]
    for power in take:
        e = found[-1]
        if kind == "looks back":
            found.append(e + power - math.sqrt(e))
        elif kind == "times a decision":
            found.append(e + power * (1 - e / 20))
        else:
            found.append(brentq(lambda x: x - e - power + 0.5 * (x / 4) ** 1.5, 0, 40, xtol=1e-13))  # noqa: B023
    return found


@pytest.mark.parametrize("kind", DRAINS)
def test_a_balance_that_is_nonlinear_in_its_state_is_executed(kind: str) -> None:
    take = [1.0, 5.0, 2.0]
    e, rules = drained(kind, take), [rule(DRAINS[kind]), START, FLOOR]
    right = physics(rules, take, e)
    assert right["status"] == "pass"
    assert right["states"][0]["quantity"] == "store.energy"
    assert physics(rules, take, [*e[:2], e[2] + 0.1, e[3]])["status"] == "fail"


def test_limits_hold_on_the_executed_state_of_a_nonlinear_balance() -> None:
    # Each step is off by a little only, and what the decisions lead to is below the floor.
    take = [1.0, 1.0, 1.2]
    e = drained("looks back", take)
    assert min(e) < 2
    kept = [max(x, 2.0) for x in e]
    assert physics([rule(DRAINS["looks back"]), START, FLOOR], take, kept)["status"] == "fail"


def test_a_nonlinear_balance_that_does_not_come_to_rest_is_unchecked() -> None:
    # Of the two roots of e' = e + 1 - 0.3 e'² only Newton's method would find the steep one.
    rules = [rule("e[t+1] == 12[kWh] - 2*(e[t+1]/1[kWh])**2*1[kWh] + take[t]*dt(t)"), START]
    root = (-1 + math.sqrt(1 + 8 * 13)) / 4
    assert physics(rules, [1, 1, 1], [4, root, root, root + 1e-5])["status"] != "pass"


def test_an_end_condition_does_not_stand_in_for_the_balance() -> None:
    end = {"constraint_id": "end", "expression": "e[last(I)] == 3.25[kWh]"}
    found = physics([end, STEP, START, FLOOR], [1, 1, 1], [4, 3, 2.5, 3.25])
    assert found["status"] == "fail"
    named = {**E, "name": "share", "quantity": "store.share", "role": "decision"}
    defined = rule("share[i] == e[i]/2", "i in I", constraint_id="D")
    blueprint = document([TAKE, E, named], [defined, STEP, START], sets=SETS)
    plan = {"take": [1, 1, 2], "e": [4, 3, 2.6, 3.35], "share": [2, 1.5, 1.3, 1.675]}
    assert judged(blueprint, plan).levels["physics"]["status"] == "fail"
