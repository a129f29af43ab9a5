"""Uncertain parameters: a schedule has to withstand every value, not only the nominal one."""

from itertools import permutations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.verify.certificate import Certificate
from tests.verify.small import document, entry, judged, rule

X = {"name": "x", "index": ["t in T"], "lower": -50, "upper": 50, "unit": "kW"}


def certificate(
    x: Any,
    text: str,
    uncertain: dict[str, Any],
    goal: dict[str, Any] | None = None,
    /,
    forall: str | None = None,
    **claims: Any,
) -> Certificate:
    parameters = [
        {"name": "share", "index": ["T"], "value": [1, 2, 3], "uncertain": uncertain},
        {"name": "most", "value": 100, "unit": "kW"},
    ]
    plan = document([X], [rule(text, forall)], goal, parameters=parameters)
    return judged(plan, {"x": x}, **claims)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-20, 20), min_size=3, max_size=3),
    st.floats(0.1, 2.0),
    st.one_of(st.none(), st.floats(0.0, 3.0)),
)
def test_the_worst_case_is_that_of_the_corners(
    x: list[int], deviation: float, budget: float | None
) -> None:
    uncertain: dict[str, Any] = {"set": "box", "deviation": deviation}
    if budget is not None:
        uncertain = {"set": "budget", "deviation": deviation, "budget": budget}
    found = certificate(x, "sum(share[t]*x[t] for t in T) <= most", uncertain)
    slack = entry(found, "robust:C")["worst"]["slack"]
    nominal = 100 - np.array([1, 2, 3]) @ np.array(x)
    # The corners of a budget set: full deviations up to it, one in part.
    limit = 3.0 if budget is None else budget
    whole, part = int(min(limit, 3.0)), min(limit, 3.0) % 1
    shares = [1.0] * whole + ([part] if part else [])
    shares = (shares + [0.0] * 3)[:3]
    worst = max(
        sum(s * sign * deviation * value for s, sign, value in zip(order, signs, x, strict=True))
        for order in permutations(shares)
        for signs in product((1, -1), repeat=3)
    )
    assert slack == pytest.approx(nominal - worst, abs=1e-9)
    assert (found.verdict == "violated") == (nominal - worst < -1e-4 * 1e-2)


def test_a_plan_for_the_nominal_case_alone_is_told_with_its_place() -> None:
    found = certificate(
        [10, 30, 20], "share[t]*x[t] <= 65[kW]", {"set": "box", "deviation": 0.25}, forall="t in T"
    )
    assert entry(found, "C")["status"] == "pass"
    (violation,) = found.violations
    assert violation["check"] == "robust:C"
    assert violation["where"] == {"t": "01:00"}
    assert violation["amount"] == pytest.approx(30 * 2.25 - 65)
    assert violation["unit"] == "kW"


@pytest.mark.parametrize(("sense", "expected"), [("minimize", 41.0), ("maximize", 15.0)])
def test_an_objective_counts_at_its_worst(sense: str, expected: float) -> None:
    goal = {"sense": sense, "unit": "kW", "expression": "sum(share[t]*x[t] for t in T)"}
    plan = [3, 5, 5], "x[first(T)] <= 9", {"set": "box", "deviation": 1}, goal
    good = certificate(*plan, objective=expected)
    assert good.objective is not None
    assert good.objective["value"] == pytest.approx(expected)
    assert good.violations == ()
    bad = certificate(*plan, objective=28.0)
    assert [v["check"] for v in bad.violations] == ["objective"]


def test_an_implication_and_a_soft_limit_count_at_their_worst() -> None:
    on = {"name": "on", "index": ["t in T"], "type": "binary"}
    share = {
        "name": "share",
        "index": ["T"],
        "value": [1, 2, 3],
        "uncertain": {"set": "box", "deviation": 0.5},
    }
    implied = rule("implies(on[t], share[t]*x[t] <= 26[kW])")
    plan = document([X, on], [implied], parameters=[share])
    found = judged(plan, {"x": [10, 11, 20], "on": [1, 1, 0]})
    (violation,) = found.violations
    assert (violation["check"], violation["where"]) == ("robust:C", {"t": "01:00"})
    assert violation["amount"] == pytest.approx(11 * 2.5 - 26)
    soft = rule("share[t]*x[t] <= 20[kW]", hard=False, penalty={"weight": "2[EUR/kW]"})
    goal = {"sense": "minimize", "unit": "EUR", "expression": "sum(x[t] for t in T)*1[EUR/kW]"}
    plan = document([X], [soft], goal, parameters=[share])
    cost = 2 * (0 + 2.5 + 1)
    found = judged(plan, {"x": [10, 9, 6]}, objective=25 + cost)
    assert found.violations == ()
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(25 + cost)
    assert found.objective["soft"][0]["slack"] == pytest.approx(3.5)
