"""Stages against deterministic equivalents written by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from engiagent.blueprint import Blueprint
from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from tests.blueprints import blueprint
from tests.written import listing

LEAVES = ["uu", "ud", "du", "dd"]


def reservoir(needs: np.ndarray, prices: np.ndarray, chances: list[float]) -> Blueprint:
    """A store that is filled in each of three periods before the next demand is known."""
    table = {s: {str(t): float(needs[k, t - 1]) for t in (1, 2, 3)} for k, s in enumerate(LEAVES)}
    return blueprint(
        sets=[
            {"name": "T", "kind": "periods", "periods": 3},
            {
                "name": "S",
                "kind": "scenario",
                "elements": LEAVES,
                "probabilities": chances,
                "tree": [["root"] * 4, ["u", "u", "d", "d"], LEAVES],
            },
        ],
        parameters=[
            {"name": "need", "index": ["S", "T"], "value": table, "unit": "kWh"},
            {"name": "price", "index": ["T"], "value": prices.tolist(), "unit": "EUR/kWh"},
        ],
        decision_variables=listing("""
            - {name: buy, index: [s in S, t in T], lower: 0, upper: 50, stage: t, unit: kWh}
            - {name: late, index: [s in S, t in T], lower: 0, upper: 50, unit: kWh}
        """),
        constraints=listing("""
            - {constraint_id: met, forall: [s in S, t in T],
              expression: "sum(buy[s, k] + late[s, k] for k in T if k <= t) >= sum(need[s, k] for k
                in T if k <= t)"}
        """),
        objective_function={
            "sense": "minimize",
            "unit": "EUR",
            "scenario": "s in S",
            "expression": "sum(price[t]*buy[s, t] + 10[EUR/kWh]*late[s, t] for t in T)",
        },
    )


def equivalent(needs: np.ndarray, prices: np.ndarray, chances: list[float]) -> float:
    """The same over the nodes of the tree: 1 + 2 + 4 purchases, one late purchase each of 4 × 3."""
    node = {(1, s): 0 for s in range(4)} | {(2, s): 1 + s // 2 for s in range(4)}
    node |= {(3, s): 3 + s for s in range(4)}
    cost = np.zeros(7 + 12)
    rows, limits = [], []
    for s in range(4):
        for t in (1, 2, 3):
            cost[node[t, s]] += chances[s] * prices[t - 1]
            cost[7 + 3 * s + t - 1] += chances[s] * 10.0
            row = np.zeros(19)
            for k in range(1, t + 1):
                row[node[k, s]] = row[7 + 3 * s + k - 1] = -1.0
            rows.append(row)
            limits.append(-needs[s, :t].sum())
    found = linprog(cost, np.array(rows), limits, bounds=(0, 50))
    assert found.success
    return float(found.fun)


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.floats(0, 12), min_size=12, max_size=12),
    st.lists(st.floats(0.5, 9), min_size=3, max_size=3),
)
def test_three_stages_are_the_deterministic_equivalent(
    needs: list[float], prices: list[float]
) -> None:
    demand, chances = np.array(needs).reshape(4, 3), [0.1, 0.2, 0.3, 0.4]
    program = compile_blueprint(reservoir(demand, np.array(prices), chances))
    result = solve(program, isolate=False)
    expected = equivalent(demand, np.array(prices), chances)
    assert result.objective == pytest.approx(expected, rel=1e-7, abs=1e-7)
    buy = to_dataset(program, result)["buy"].values
    np.testing.assert_allclose(buy[:, 0], buy[0, 0], atol=1e-9)
    np.testing.assert_allclose(buy[[0, 2], 1], buy[[1, 3], 1], atol=1e-9)


def test_knowing_earlier_never_costs_more() -> None:
    """Here-and-now, the tree, and perfect foresight cost less and less."""
    random = np.random.default_rng(5)
    needs, prices = random.uniform(0, 12, (4, 3)), np.array([2.0, 3.0, 4.0])
    core = reservoir(needs, prices, [0.25] * 4).to_dict()
    costs = []
    for stage in (1, "t", 4):
        core["core_model_elements"]["decision_variables"][0]["stage"] = stage
        result = solve(compile_blueprint(Blueprint.from_dict(core)), isolate=False)
        assert result.objective is not None
        costs.append(result.objective)
    assert costs[0] > costs[1] > costs[2]


def test_expanding_twice_changes_nothing_and_plain_documents_stay_as_they_are() -> None:
    staged = reservoir(np.ones((4, 3)), np.ones(3), [0.25] * 4)
    once = expand(staged)
    assert expand(once) == once
    assert [c.constraint_id for c in once.core.constraints] == [
        "met",
        "buy__stage_1",
        "buy__stage_2",
    ]
    assert Blueprint.from_json(once.to_json()) == once
    assert analyse(once).errors == ()


def test_without_a_tree_stage_one_is_here_and_now_and_stage_two_is_recourse() -> None:
    def columns(stage: int | None) -> int:
        variable: dict[str, Any] = {"name": "x", "index": ["S"], "lower": 0, "upper": 1}
        core = blueprint(
            sets=[{"name": "S", "kind": "scenario", "elements": ["a", "b", "c"]}],
            decision_variables=[variable | ({} if stage is None else {"stage": stage})],
        )
        count: int = compile_blueprint(core).row_count
        return count

    assert [columns(1), columns(2), columns(None)] == [2, 0, 0]


@pytest.mark.parametrize(
    ("change", "place", "words"),
    [
        ({"tree": [["r", "r"]]}, "sets[0].tree", "2 nodes for 3 scenarios"),
        ({"tree": [["l", "m", "m"], ["r", "r", "r"]]}, "sets[0].tree", "stays known"),
        ({"stage": 4}, "decision_variables[0].stage", "does not exist"),
        ({"index": []}, "decision_variables[0].stage", "no scenario index"),
        (
            {"stage": "k + 1", "index": ["k in K", "s in S"]},
            "decision_variables[0].stage",
            "stage 4",
        ),
        ({"where": "s != 'a'"}, "decision_variables[0].stage", "exists in all"),
        ({"index": ["s in P"]}, "decision_variables[0].stage", "by the set itself"),
        ({"index": ["s in S", "r in S"]}, "decision_variables[0].stage", "two scenario sets"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, Any], place: str, words: str) -> None:
    tree = change.pop("tree", [["r", "r", "r"], ["l", "m", "m"]])
    wrong = blueprint(
        sets=[
            {"name": "S", "kind": "scenario", "elements": ["a", "b", "c"], "tree": tree},
            {"name": "P", "kind": "subset", "of": "S", "elements": ["a", "b"]},
            {"name": "K", "kind": "range", "start": 1, "stop": 3},
        ],
        decision_variables=[
            {"name": "x", "index": ["s in S"], "lower": 0, "upper": 1, "stage": 2} | change
        ],
    )
    found = [d for d in analyse(expand(wrong)).errors if d.code == "EB030"]
    assert [d.path for d in found] == [f"core_model_elements.{place}"]
    assert words in str(found[0])
    with pytest.raises(BlueprintError, match="EB030"):
        compile_blueprint(wrong)
