"""A slot of a component may hold a decision: capacities and powers that are still to be chosen."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from engiagent.blueprint.document import Blueprint
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.run.certify import certify
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve

HOURS = 6
LOSS = 0.9


def site(
    price: list[float],
    load: list[float],
    components: list[dict[str, Any]],
    decisions: list[dict[str, Any]],
    cost: str,
) -> Blueprint:
    """Return a site on one bus whose decisions cost ``cost`` beside the energy drawn."""
    time = {"name": "T", "kind": "time", "start": "2025-07-01", "step": "1 h", "periods": HOURS}
    grid = {"name": "grid", "model": "grid", "parameters": {"import_price": "price"}}
    shop = {"name": "shop", "model": "load", "parameters": {"power": "load"}}
    parts = [{**c, "connections": {"bus": "el"}} for c in (grid, shop, *components)]
    core = {
        "sets": [time],
        "parameters": [
            {"name": "price", "index": ["T"], "value": price, "unit": "EUR/kWh"},
            {"name": "load", "index": ["T"], "value": load, "unit": "kW"},
        ],
        "decision_variables": decisions,
        "components": parts,
        "constraints": [],
        "objective_function": {
            "sense": "minimize",
            "unit": "EUR",
            "expression": f"sum(grid_import_cost[t] for t in T) + {cost}",
        },
    }
    head = {"schema": "engiagent-blueprint/1", "kind": "programme"}
    context = {"modeling_context": {"problem_essence": "a size to be found"}}
    return Blueprint.from_dict({**head, **context, "core_model_elements": core})


def battery(**slots: Any) -> dict[str, Any]:
    """Return a battery that loses a tenth each way and ends as it began."""
    given = {
        "initial_energy": "0[kWh]",
        "charge_efficiency": LOSS,
        "discharge_efficiency": LOSS,
        **slots,
    }
    return {"name": "store", "model": "battery", "parameters": given}


def size(name: str, unit: str, most: float, **more: Any) -> dict[str, Any]:
    """Return a decision between zero and its most."""
    return {"name": name, "lower": 0, "upper": most, "unit": unit, **more}


def planned(blueprint: Blueprint) -> Any:
    """Return the best plan, which the checker holds for the best as well."""
    program = compile_blueprint(blueprint)
    data = to_dataset(program, solve(program, isolate=False))
    assert data.attrs["status"] == "optimal", data.attrs.get("reason")
    certificate = certify(None, data, expand(blueprint), folder=Path(), name="size")
    assert certificate.levels["physics"]["status"] == "pass"
    assert certificate.levels["algebra"]["status"] == "pass"
    assert certificate.plan["optimum"] == "recomputed"
    return data


def by_hand(price: Any, load: Any, energy: float, power: float) -> float:
    """Return the least cost: charge, discharge, content and import by hour, and two sizes."""
    n = HOURS
    zero, one = np.zeros((n, n)), np.eye(n)
    later = np.eye(n) - np.eye(n, k=-1)  # content after each hour less that before
    none = np.zeros((n, 2))
    equal = np.block([[-LOSS * one, one / LOSS, later, zero, none], [-one, one, zero, one, none]])
    limits = np.block(
        [
            [zero, zero, one, zero, np.tile([-1.0, 0.0], (n, 1))],
            [one, zero, zero, zero, np.tile([0.0, -1.0], (n, 1))],
            [zero, one, zero, zero, np.tile([0.0, -1.0], (n, 1))],
        ]
    )
    cost = np.concatenate([np.zeros(3 * n), price, [energy, power]])
    most = [(0, None)] * (4 * n) + [(0, 500), (0, 200)]
    right = np.concatenate([np.zeros(n), load])
    found = linprog(cost, limits, np.zeros(3 * n), equal, right, most)
    assert found.status == 0
    return float(found.fun)


prices = st.lists(st.integers(1, 60).map(lambda c: c / 100), min_size=HOURS, max_size=HOURS)
loads = st.lists(st.integers(0, 90).map(float), min_size=HOURS, max_size=HOURS)


@settings(max_examples=15, deadline=None)
@given(price=prices, load=loads, energy=st.integers(1, 30), power=st.integers(1, 30))
def test_capacity_and_power_of_a_battery_are_the_best_ones(
    price: list[float], load: list[float], energy: int, power: int
) -> None:
    slots = {"energy_capacity": "E", "charge_power_max": "P", "discharge_power_max": "P"}
    cost = f"E*{energy / 100}[EUR/kWh] + P*{power / 100}[EUR/kW]"
    decisions = [size("E", "kWh", 500), size("P", "kW", 200)]
    data = planned(site(price, load, [battery(**slots)], decisions, cost))
    best = by_hand(np.array(price), np.array(load), energy / 100, power / 100)
    assert data.attrs["objective"] == pytest.approx(best, rel=1e-7, abs=1e-7)
    assert float(data["store_state_of_charge"].max()) <= float(data["E"]) + 1e-6


PRICE = [0.1, 0.1, 0.4, 0.5, 0.4, 0.1]
LOAD = [20.0, 20.0, 60.0, 80.0, 60.0, 20.0]
POWERS = {"charge_power_max": "100[kW]", "discharge_power_max": "100[kW]"}


def cost_at(energy: float) -> float:
    """Return the cost of energy with a battery of a given size, whose powers do not matter."""
    store = battery(energy_capacity=f"{energy}[kWh]", **POWERS)
    return float(planned(site(PRICE, LOAD, [store], [], "0[EUR]")).attrs["objective"])


def test_sizes_that_come_in_steps() -> None:
    modules = size("modules", "1", 12, type="integer")
    store = battery(energy_capacity="modules*25[kWh]", **POWERS)
    data = planned(site(PRICE, LOAD, [store], [modules], "modules*4[EUR]"))
    each = {n: cost_at(25.0 * n) + 4 * n for n in range(13)}
    assert data.attrs["objective"] == pytest.approx(min(each.values()))
    assert each[round(float(data["modules"]))] == pytest.approx(min(each.values()))


@pytest.mark.parametrize(("fixed", "bought"), [(5, True), (500, False)])
def test_a_price_of_having_it_at_all(fixed: float, bought: bool) -> None:
    decisions = [size("E", "kWh", 300), size("buy", "1", 1, type="binary")]
    blueprint = site(
        PRICE,
        LOAD,
        [battery(energy_capacity="E", **POWERS)],
        decisions,
        f"E*0.02[EUR/kWh] + buy*{fixed}[EUR]",
    )
    rule = {"constraint_id": "only_if_bought", "expression": "E <= 300[kWh]*buy"}
    data = planned(Blueprint.from_dict(_with_rule(blueprint, rule)))
    assert (float(data["E"]) > 1) is bought
    assert round(float(data["buy"])) == bought


def _with_rule(blueprint: Blueprint, rule: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = blueprint.to_dict()
    document["core_model_elements"]["constraints"] = [rule]
    return document


def test_a_roof_per_kilowatt_and_an_engine_that_switches() -> None:
    sun = {"name": "sun", "index": ["T"], "value": [0, 0.2, 0.8, 0.9, 0.5, 0], "unit": "1"}
    roof = {
        "name": "roof",
        "model": "generator_profile",
        "parameters": {"available_power": "sun[t]*S"},
    }
    engine = {
        "name": "engine",
        "model": "genset",
        "parameters": {"rated_power": "G", "minimum_load": 0.5, "fuel_slope": "0.3[l/kWh]"},
    }
    decisions = [size("S", "kW", 100), size("G", "kW", 60)]
    cost = "S*0.5[EUR/kW] + G*0.15[EUR/kW] + sum(engine_fuel[t]*dt(t) for t in T)*0.7[EUR/l]"
    document = site(PRICE, LOAD, [roof, engine], decisions, cost).to_dict()
    document["core_model_elements"]["parameters"].append(sun)
    data = planned(Blueprint.from_dict(document))
    size_, power = float(data["G"]), data["engine_power"].values
    assert size_ > 1
    running = power > 1e-6
    assert (power[running] >= 0.5 * size_ - 1e-6).all()
    assert (power <= size_ + 1e-6).all()


def test_a_plan_beyond_the_size_that_it_chose_is_a_violation() -> None:
    store = battery(energy_capacity="E", **POWERS)
    blueprint = site(PRICE, LOAD, [store], [size("E", "kWh", 300)], "E*0.02[EUR/kWh]")
    data = planned(blueprint)
    data["E"] = data["E"] * 0.9
    certificate = certify(None, data, expand(blueprint), folder=Path(), name="size")
    assert certificate.verdict == "violated"
    found = {v["check"] for v in certificate.violations}
    assert any("state_of_charge" in name for name in found), found


def test_a_size_where_a_number_is_needed_is_refused_by_name() -> None:
    tower = {"name": "store", "model": "tank", "parameters": {"volume": "V"}}
    blueprint = site(PRICE, LOAD, [tower], [size("V", "m3", 10)], "V*1[EUR/m3]")
    with pytest.raises(Exception, match="store"):
        expand(blueprint)
