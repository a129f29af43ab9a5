"""Schedules and blueprints that were once vouched for though they are wrong."""

from typing import Any

import numpy as np
import pytest

from tests.verify import small
from tests.written import mapping

HEAT = mapping("""
    {name: heat, index: [t in T], type: continuous, lower: 0, upper: 20, unit: kW, role: decision}
""")
FREE = {"name": "dump", "index": ["t in T"], "type": "continuous", "unit": "kW", "role": "decision"}
DEMAND = {"name": "demand", "value": 12, "unit": "kW"}
GOAL = {"sense": "minimize", "unit": "kW", "expression": "sum(heat[t] for t in T)"}
HUGE = 2e9


def _two_free() -> list[dict[str, Any]]:
    return [HEAT, {**FREE, "lower": 0}, {**FREE, "name": "bought", "lower": 0}]


def test_one_huge_number_does_not_excuse_the_hours_without_heat() -> None:
    """A free number of 2e9 kW in the first hour made every row's tolerance 4000 kW."""
    blueprint = small.document(
        [HEAT, FREE],
        [
            small.rule("heat[t] + dump[t] - dump[t] >= demand"),
            small.rule("dump[t] >= heat[t]") | {"constraint_id": "above"},
        ],
        GOAL,
        parameters=[DEMAND],
    )
    found = small.judged(blueprint, {"heat": [12, 0, 0], "dump": [HUGE, 0, 0]})
    assert found.verdict == "violated"
    assert small.entry(found, "C")["status"] == "fail"


@pytest.mark.parametrize("size", [1e3, 1e6, HUGE, 1e15])
def test_a_row_whose_rounding_hides_its_data_is_no_check(size: float) -> None:
    """12 kW of heat are missing beside free numbers of 2e9 kW that nearly cancel."""
    blueprint = small.document(
        _two_free(),
        [small.rule("heat[t] + bought[t] - dump[t] >= demand")],
        GOAL,
        parameters=[DEMAND],
    )
    found = small.judged(
        blueprint, {"heat": [0, 0, 0], "bought": [size, 12, 12], "dump": [size, 0, 0]}
    )
    assert small.entry(found, "C")["status"] in ("fail", "unchecked")
    assert found.verdict in ("violated", "undecided")


def test_a_bound_keeps_its_tolerance_beside_a_huge_number() -> None:
    blueprint = small.document(
        [HEAT, {**FREE, "lower": 0}], [small.rule("heat[t] >= demand")], GOAL, parameters=[DEMAND]
    )
    found = small.judged(blueprint, {"heat": [12, 12, 12], "dump": [HUGE, -1, 0]})
    assert small.entry(found, "bounds:dump")["status"] == "fail"


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_noise_of_a_solver_still_passes_at_the_declared_scale(scale: float) -> None:
    blueprint = small.document(
        [{**HEAT, "upper": 20 * scale}],
        [small.rule("heat[t] >= demand")],
        GOAL,
        parameters=[{**DEMAND, "value": 12 * scale}],
    )
    noise = 1e-7 * scale
    found = small.judged(blueprint, {"heat": np.full(3, 12 * scale - noise)})
    assert small.entry(found, "C")["status"] == "pass"


def test_a_plan_better_than_the_recomputed_bound_is_not_vouched_for() -> None:
    """Half of the heat of two hours is missing within a tolerance; the duals prove that it is."""
    wide = {**HEAT, "upper": 2e6}
    demand = {"name": "demand", "index": ["T"], "value": [1e6, 1, 1], "unit": "kW"}
    price = {"name": "price", "index": ["T"], "value": [1e-9, 1, 1], "unit": "EUR/kW"}
    goal = {"sense": "minimize", "unit": "EUR", "expression": "sum(price[t]*heat[t] for t in T)"}
    blueprint = small.document(
        [wide], [small.rule("heat[t] >= demand[t]")], goal, parameters=[demand, price]
    )
    duals = {"dual__C": [1e-9, 1, 1]}
    right = small.judged(blueprint, {"heat": [1e6, 1, 1], **duals})
    assert right.levels["optimality"]["status"] == "pass"
    found = small.judged(blueprint, {"heat": [1e6, 0.5, 0.5], **duals})
    assert found.verdict in ("violated", "undecided")
    assert "better than the bound" in found.violations[0]["message"]


@pytest.mark.parametrize(
    "expression", ["sqrt(x[t] - 1)", "(x[t] - 1)**0.5", "1/(1 + sqrt(x[t] - 1))"]
)
@pytest.mark.parametrize("goal", ["sum(y[t] for t in T)", "sum(sqrt(x[t] - 1) for t in T)"])
@pytest.mark.parametrize("first", [1.0, 1.0 - 1e-12, 1.0 - 1e-7, 1.0 + 1e-300, 0.5])
def test_the_edge_of_a_root_is_judged_without_a_crash(
    expression: str, goal: str, first: float
) -> None:
    """There the derivative is infinite, and least squares over it did not converge."""
    x, y = (
        {"name": name, "index": ["t in T"], "type": "continuous", "lower": 0, "upper": 4}
        for name in "xy"
    )
    blueprint = small.document(
        [x, y], [small.rule(f"y[t] <= {expression}")], {"sense": "maximize", "expression": goal}
    )
    for claims in ({}, {"dual__C": [1.0, 1.0, 1.0]}):
        found = small.judged(blueprint, {"x": [first, 1, 2], "y": [0, 0, 0], **claims})
        assert found.verdict == ("violated" if first == 0.5 else "feasible")
