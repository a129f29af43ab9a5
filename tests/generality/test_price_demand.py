"""A demand on a price, the dual of a balance, stated by the conditions that make it one."""

import pytest

from engiagent.blueprint import Blueprint
from tests.blueprints import blueprint

COST = {"wind": 0, "coal": 45, "gas": 110}
CAPACITY = {"wind": 30, "coal": 40, "gas": 200}
LOAD = [60, 95]


def market(price_cap: float) -> Blueprint:
    """Return the least new coal capacity with which the price of no hour is above a cap."""
    over = ["g in G", "t in T"]
    sets = [
        {"name": "T", "kind": "time", "start": "2026-01-01T00:00", "step": "1 h", "periods": 2},
        {"name": "G", "kind": "labels", "elements": list(COST)},
    ]
    parameters = [
        {"name": "cost", "index": ["G"], "value": COST, "unit": "EUR/MWh"},
        {"name": "capacity", "index": ["G"], "value": CAPACITY, "unit": "MW"},
        {"name": "load", "index": ["T"], "value": LOAD, "unit": "MW"},
        {"name": "price_cap", "value": price_cap, "unit": "EUR/MWh"},
    ]
    variables = [
        {"name": "new", "lower": 0, "upper": 100, "unit": "MW", "role": "decision"},
        {"name": "output", "index": over, "lower": 0, "upper": 300, "unit": "MW"},
        {"name": "price", "index": ["t in T"], "lower": 0, "upper": 500, "unit": "EUR/MWh"},
        {"name": "rent", "index": over, "lower": 0, "upper": 500, "unit": "EUR/MWh"},
    ]
    room = "capacity[g] + (new if g == 'coal' else 0[MW]) - output[g, t]"
    rules = {
        "balance": (["t in T"], "sum(output[g, t] for g in G) == load[t]"),
        "merit": (over, "complements(cost[g] + rent[g, t] - price[t] >= 0, output[g, t] >= 0)"),
        "scarcity": (over, f"complements({room} >= 0, rent[g, t] >= 0)"),
        "affordable": (["t in T"], "price[t] <= price_cap"),
    }
    constraints = [
        {"constraint_id": name, "forall": forall, "expression": expression}
        for name, (forall, expression) in rules.items()
    ]
    return blueprint(
        sets=sets,
        parameters=parameters,
        decision_variables=variables,
        constraints=constraints,
        objective_function={"sense": "minimize", "expression": "new", "unit": "MW"},
    )


@pytest.mark.parametrize("price_cap", [60.0, 109.0, 120.0])
def test_the_least_capacity_that_keeps_a_price_below_a_cap(price_cap: float) -> None:
    """Below the cost of gas wind and coal have to carry the peak by themselves."""
    solution = market(price_cap).solve(progress=False)
    needed = max(LOAD) - CAPACITY["wind"] - CAPACITY["coal"] if price_cap < COST["gas"] else 0
    assert solution.objective == pytest.approx(needed, abs=1e-6)
    assert solution.certificate.plan["holds"] == "pass"
