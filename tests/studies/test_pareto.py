"""Fronts against closed forms."""

from typing import Any

import numpy as np
import pytest

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.study import Pareto, Setting, Study, run_study
from engiagent.study.modes import parse_goal
from tests.blueprints import blueprint, variable

Json = dict[str, Any]
HERE = Setting(isolate=False)
DIRTY = parse_goal("co2=min:dirty")


def plant(whole: bool = False) -> Blueprint:
    """Three units for a demand of 10: cheap and dirty, middling, dear and clean, each up to 6."""
    units = ["a", "b", "c"]
    core: Json = {
        "sets": [{"name": "U", "kind": "labels", "elements": units}],
        "parameters": [
            {"name": "price", "index": ["U"], "value": [1, 2, 4], "unit": "EUR/kWh"},
            {"name": "soot", "index": ["U"], "value": [5, 2, 0], "unit": "kg/kWh"},
            {"name": "noise", "index": ["U"], "value": [1, 3, 1]},
        ],
        "decision_variables": [
            variable("x", "u in U", upper=6, unit="kWh", type="integer" if whole else "continuous")
        ],
        "expressions": [
            {"name": "dirty", "expression": "sum(soot[u]*x[u] for u in U)", "unit": "kg"},
            {"name": "loud", "expression": "sum(noise[u]*x[u] for u in U)", "unit": "kWh"},
        ],
        "constraints": [{"constraint_id": "D", "expression": "sum(x[u] for u in U) >= 10[kWh]"}],
        "objective_function": {
            "name": "cost",
            "sense": "minimize",
            "unit": "EUR",
            "expression": "sum(price[u]*x[u] for u in U)",
        },
    }
    return blueprint(**core)


def front(outcome: Study) -> list[tuple[float, ...]]:
    return sorted(tuple(r["goals"].values()) for r in outcome.rows if r.get("efficient"))


def best_cost(dirt: float) -> float:
    """Return the least cost at a limit of soot, by a solver of another house."""
    from scipy.optimize import linprog

    found = linprog([1, 2, 4], A_ub=[[-1, -1, -1], [5, 2, 0]], b_ub=[-10, dirt], bounds=(0, 6))
    return float(found.fun)


def test_every_point_is_on_the_front() -> None:
    found = run_study(Pareto((DIRTY,), 7), plant(), HERE)
    points = front(found)
    assert points[0] == pytest.approx((14, 38), abs=1e-6)
    assert points[-1] == pytest.approx((32, 8), abs=1e-6)
    for cost, dirt in points:
        assert cost == pytest.approx(best_cost(dirt + 1e-9), abs=1e-5)


def test_whole_numbers_have_fronts_too() -> None:
    points = front(run_study(Pareto((DIRTY,), points=6), plant(whole=True), HERE))
    assert len(points) >= 4
    assert all(value == round(value) for point in points for value in np.round(point, 6))


def test_of_three_goals_no_point_is_worse_in_all() -> None:
    loud = parse_goal("loudness=min:loud")
    points = front(run_study(Pareto((DIRTY, loud), 4), plant(), HERE))
    assert len(points) >= 3
    for one in points:
        assert not any(
            all(b <= a - 1e-4 for a, b in zip(one, other, strict=True)) for other in points
        )


def test_a_goal_that_is_maximised_goes_the_other_way() -> None:
    clean = parse_goal("clean=max:x['c']")
    points = front(run_study(Pareto((clean,), points=4), plant(), HERE))
    assert points[0] == pytest.approx((14, 0), abs=1e-6)
    assert points[-1] == pytest.approx((4 * 1 + 6 * 4, 6), abs=1e-6)


def test_without_a_plan_the_study_says_so() -> None:
    document = plant().to_dict()
    document["core_model_elements"]["constraints"][0]["expression"] = (
        "sum(x[u] for u in U) >= 100[kWh]"
    )
    found = run_study(Pareto((DIRTY,)), Blueprint.from_dict(document), HERE)
    assert [row["status"] for row in found.rows] == ["infeasible"]


@pytest.mark.parametrize("text", ["co2", "co2=dirty", "co2=least:dirty", "=min:dirty", "co2=min:"])
def test_what_is_no_goal_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="no goal"):
        parse_goal(text)


def test_one_goal_two_of_a_name_and_curved_ones_are_refused() -> None:
    with pytest.raises(InputError, match="two or 3"):
        run_study(Pareto(()), plant(), HERE)
    with pytest.raises(InputError, match="one name"):
        run_study(Pareto((parse_goal("cost=min:dirty"),)), plant(), HERE)
    with pytest.raises(EngiagentError):
        run_study(Pareto((parse_goal("q=min:sum(x[u]**2 for u in U)"),)), plant(), HERE)
