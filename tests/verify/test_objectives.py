"""Objectives evaluated again: scenarios and risk, several goals, and what broken limits cost."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.verify.arithmetic import tail_weights
from tests.verify.small import document, entry, judged, rule

X = {"name": "x", "index": ["t in T"], "lower": -100, "upper": 100, "unit": "kW"}
LATER = {"name": "later", "index": ["s in S"], "lower": 0, "upper": 90, "unit": "kWh"}


def scenarios(probabilities: Any) -> list[dict[str, Any]]:
    given_: dict[str, Any] = {"name": "S", "kind": "scenario", "elements": ["low", "mid", "high"]}
    return [given_ | ({} if probabilities is None else {"probabilities": probabilities})]


def bill(risk: dict[str, Any] | None, sense: str = "minimize") -> dict[str, Any]:
    objective: dict[str, Any] = {
        "sense": sense,
        "unit": "EUR",
        "scenario": "s in S",
        "expression": "0.5[EUR/kWh]*later[s]",
    }
    return objective | ({} if risk is None else {"risk": risk})


@pytest.mark.parametrize(
    ("risk", "sense", "expected"),
    [
        (None, "minimize", 0.2 * 5 + 0.5 * 10 + 0.3 * 20),
        ({"measure": "expected"}, "maximize", 12.0),
        ({"measure": "worst"}, "minimize", 20.0),
        ({"measure": "worst"}, "maximize", 5.0),
        ({"measure": "cvar", "alpha": 0.0}, "minimize", 12.0),
        ({"measure": "cvar", "alpha": 0.7}, "minimize", 20.0),
        ({"measure": "cvar", "alpha": 0.5}, "minimize", (0.3 * 20 + 0.2 * 10) / 0.5),
        ({"measure": "cvar", "alpha": 0.99}, "minimize", 20.0),
        ({"measure": "cvar", "alpha": 0.75}, "maximize", (0.2 * 5 + 0.05 * 10) / 0.25),
    ],
)
def test_scenarios_count_by_their_risk(
    risk: dict[str, Any] | None, sense: str, expected: float
) -> None:
    blueprint = document([LATER], [], bill(risk, sense), sets=scenarios([0.2, 0.5, 0.3]))
    good = judged(blueprint, {"later": [10, 20, 40]}, objective=expected)
    assert good.violations == ()
    assert good.objective is not None
    assert good.objective["value"] == pytest.approx(expected)
    over = good.objective["scenarios"]  # expected and worst side by side, whatever is optimised
    assert over["expected"] == pytest.approx(12.0)
    name, value = ("high", 20.0) if sense == "minimize" else ("low", 5.0)
    assert over["worst"] == {"scenario": name, "value": pytest.approx(value)}
    assert over["values"] == pytest.approx({"low": 5.0, "mid": 10.0, "high": 20.0})
    bad = judged(blueprint, {"later": [10, 20, 40]}, objective=expected + 0.01)
    assert [v["check"] for v in bad.violations] == ["objective"]


def test_the_worst_case_needs_no_probabilities_and_the_mean_does() -> None:
    worst = document([LATER], [], bill({"measure": "worst"}), sets=scenarios(None))
    found = judged(worst, {"later": [10, 60, 40]})
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(30.0)
    mean = document([LATER], [], bill(None), sets=scenarios(None))
    assert any("no probabilities" in note for note in judged(mean, {"later": [1, 2, 3]}).notes)
    even = document([LATER], [], bill(None), sets=scenarios("uniform"))
    found = judged(even, {"later": [10, 60, 50]})
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(20.0)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 9)), min_size=1, max_size=6),
    st.floats(0.0, 0.95),
)
def test_the_tail_is_the_worst_that_any_reweighting_reaches(
    pairs: list[tuple[int, int]], alpha: float
) -> None:
    losses = np.array([float(loss) for loss, _ in pairs])
    chances = np.array([weight for _, weight in pairs], dtype=float)
    chances /= chances.sum()
    share = 1.0 - alpha
    mean = float(tail_weights(losses, chances, share, True) @ losses)
    # Rockafellar and Uryasev: the least over the threshold, which is one of the losses.
    other = min(eta + (chances * np.maximum(losses - eta, 0)).sum() / share for eta in losses)
    assert mean == pytest.approx(other, abs=1e-9)
    low = float(tail_weights(losses, chances, share, False) @ losses)
    assert -low == pytest.approx(
        min(eta + (chances * np.maximum(-losses - eta, 0)).sum() / share for eta in -losses),
        abs=1e-9,
    )


def goals(combination: str, *terms: dict[str, Any]) -> dict[str, Any]:
    objective: dict[str, Any] = {"sense": "minimize", "combination": combination}
    return (
        objective | {"terms": list(terms)} | ({"unit": "EUR"} if combination == "weighted" else {})
    )


COST = {"name": "cost", "expression": "sum(2[EUR/kW]*x[t] for t in T)", "unit": "EUR"}
LAST = {"name": "last", "sense": "maximize", "expression": "x[last(T)]", "unit": "kW"}


def test_weighted_goals_add_up_with_their_senses() -> None:
    blueprint = document([X], [], goals("weighted", COST, {**LAST, "weight": "0.5[EUR/kW]"}))
    found = judged(blueprint, {"x": [1, 2, 4]}, objective=14 - 2.0)
    assert found.violations == ()
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(12.0)


def test_the_first_goal_is_the_headline_and_all_are_listed() -> None:
    blueprint = document([X], [], goals("lexicographic", COST, LAST))
    found = judged(blueprint, {"x": [1, 2, 4]}, objective=14.0)
    assert found.violations == ()
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(14.0)
    assert [(t["name"], t["value"], t["unit"]) for t in found.objective["terms"]] == [
        ("cost", pytest.approx(14.0), "EUR"),
        ("last", pytest.approx(4.0), "kW"),
    ]


@pytest.mark.parametrize(("limit", "fails"), [("4[kW]", False), ("0.0041[MW]", True), (5, True)])
def test_a_goal_keeps_its_limit(limit: Any, fails: bool) -> None:
    blueprint = document([X], [], goals("epsilon", COST, {**LAST, "limit": limit}))
    found = judged(blueprint, {"x": [1, 2, 4]})
    assert [v["check"] for v in found.violations] == (["goal:last"] if fails else [])
    if fails:
        assert found.violations[0]["unit"] == "kW"


@pytest.mark.parametrize(
    ("text", "penalty", "x", "slack", "cost"),
    [
        ("x[t] <= 5", {"weight": "50[EUR/kW]"}, [4, 7, 5.5], 2.5, 125.0),
        ("x[t] >= 5", {"weight": "0.05[EUR/W]"}, [4, 7, 5.5], 1.0, 50.0),
        ("x[t] == 5", {"weight": 50, "form": "linear"}, [4, 7, 5], 3.0, 150.0),
        ("2 <= x[t] <= 5", {"weight": 10}, [1, 7, 3], 3.0, 30.0),
        ("x[t] <= 5", {"weight": "2[EUR/kW^2]", "form": "quadratic"}, [4, 7, 6], 3.0, 10.0),
        ("x[t] <= 5", {"weight": 2, "form": "quadratic"}, [4, 7, 6], 3.0, 10.0),
        ("x[t] <= 5", {"weight": "(1 + pos(t))*1[EUR/kW]"}, [6, 7, 6], 4.0, 8.0),
    ],
)
@pytest.mark.parametrize("sense", ["minimize", "maximize"])
def test_a_broken_soft_limit_costs_and_is_no_violation(
    text: str, penalty: dict[str, Any], x: list[float], slack: float, cost: float, sense: str
) -> None:
    objective = {"sense": sense, "unit": "EUR", "expression": "sum(x[t] for t in T)*1[EUR/kW]"}
    blueprint = document([X], [rule(text, hard=False, penalty=penalty)], objective)
    total = sum(x) + (cost if sense == "minimize" else -cost)
    good = judged(blueprint, {"x": x}, objective=total)
    assert good.violations == ()
    assert good.verdict != "violated"
    assert entry(good, "C")["status"] == "soft"
    assert good.objective is not None
    assert good.objective["value"] == pytest.approx(total)
    (soft,) = good.objective["soft"]
    assert soft["constraint"] == "C"
    assert soft["slack"] == pytest.approx(slack)
    assert soft["cost"] == pytest.approx(cost)
    bad = judged(blueprint, {"x": x}, objective=total - np.sign(cost) * 0.01)
    assert [v["check"] for v in bad.violations] == ["objective"]


def test_a_soft_limit_that_holds_costs_nothing() -> None:
    objective = {"sense": "minimize", "unit": "EUR", "expression": "sum(x[t] for t in T)*1[EUR/kW]"}
    blueprint = document([X], [rule("x[t] <= 5", hard=False, penalty={"weight": 3})], objective)
    good = judged(blueprint, {"x": [1, 2, 5]}, objective=8.0)
    assert good.violations == ()
    assert entry(good, "C")["status"] == "pass"


def test_an_objective_without_a_value_is_a_violation() -> None:
    r = {"name": "r", "index": ["t in T"], "lower": -5, "upper": 5}
    for text in ("sum(log(r[t]) for t in T)", "sum(sqrt(r[t]) for t in T)"):
        objective = {"sense": "maximize", "expression": text}
        bad = judged(document([r], [], objective), {"r": [1, -1, 2]})
        assert bad.verdict == "violated"
        assert bad.violations[0]["where"] == {"t": "01:00"}
