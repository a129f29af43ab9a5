"""Components that stand once for every unit or scenario: built, executed, balanced and refused."""

from pathlib import Path
from typing import Any

import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.run.certify import certify
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.verify.certificate import Certificate
from tests.verify.small import document

HOURS = {"name": "T", "kind": "time", "start": "2025-07-01T00:00", "step": "1 h", "periods": 4}
UNITS = {"name": "B", "kind": "labels", "elements": ["A", "C"]}
CHANCES = {"calm": 0.25, "windy": 0.75}
WIND = {"calm": [0, 1, 0, 2], "windy": [6, 9, 8, 3]}
BREEZE = {"name": "breeze", "index": ["S", "T"], "value": WIND, "unit": "kW"}
SCENARIOS = {
    "name": "S",
    "kind": "scenario",
    "elements": list(CHANCES),
    "probabilities": list(CHANCES.values()),
}
ON = {"connections": {"bus": "site"}}
PRICED = {"import_price": "price", "export_price": 0.01}
GRID = {"name": "grid", "model": "grid", "parameters": PRICED, **ON}
LOAD = {"name": "load", "model": "load", "parameters": {"power": "need"}, **ON}
COST = "sum(grid_import_cost[t] + grid_export_cost[t] for t in T)"


def site(
    components: list[Any], end: list[Any], cost: str = COST, sets: Any = (), parameters: Any = ()
) -> Blueprint:
    """Return a load beside components on one bus."""
    given = [
        {"name": "price", "index": ["T"], "value": [0.1, 0.3, 0.05, 0.5], "unit": "EUR/kWh"},
        {"name": "need", "index": ["T"], "value": [4, 6, 3, 12], "unit": "kW"},
    ]
    goal = {"sense": "minimize", "expression": cost, "unit": "EUR"}
    return document(
        [], end, goal, sets=[HOURS, *sets], parameters=[*given, *parameters],
        components=[*components, LOAD],
    )  # fmt: off


def store(name: str, size: Any, rate: Any, start: Any, **fields: Any) -> dict[str, Any]:
    """Return a battery on the bus."""
    slots = {"energy_capacity": size, "charge_power_max": rate, "discharge_power_max": rate}
    slots |= {"charge_efficiency": 0.9, "self_discharge": 0.01, "initial_energy": start}
    return {"name": name, "model": "battery", "parameters": slots, **ON, **fields}


def fleet(sizes: list[float], rates: list[float], size: str = "0.5*size[b]") -> Blueprint:
    """Return two batteries as one component over a set."""
    parameters = [
        {"name": "size", "index": ["B"], "value": sizes, "unit": "kWh"},
        {"name": "rate", "index": ["B"], "value": rates, "unit": "kW"},
    ]
    component = store("store", "size", "rate", size, index=["b in B", "t in T"])
    end = "store_state_of_charge[b, last(I)] >= 0.5*size[b]"
    rows = [{"constraint_id": "end", "forall": ["b in B"], "expression": end}]
    return site([component, GRID], rows, sets=[UNITS], parameters=parameters)


def answer(blueprint: Blueprint) -> xr.Dataset:
    program = compile_blueprint(blueprint)
    return to_dataset(program, solve(program, isolate=False))


def judged(blueprint: Blueprint, schedule: Any) -> Certificate:
    return certify(None, schedule, blueprint, folder=Path(), name="site")


def best(blueprint: Blueprint) -> float:
    """Return the objective of a plan that is certified."""
    certificate = judged(blueprint, answer(blueprint))
    assert certificate.verdict == "certified", certificate.violations
    assert certificate.objective is not None
    return float(certificate.objective["value"])


@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.floats(1.0, 30.0), min_size=2, max_size=2),
    st.lists(st.floats(0.5, 10.0), min_size=2, max_size=2),
)
def test_units_of_a_set_are_worth_what_they_are_worth_one_by_one(
    sizes: list[float], rates: list[float]
) -> None:
    apart = site(
        [*(store(f"s{k}", sizes[k], rates[k], 0.5 * sizes[k]) for k in (0, 1)), GRID],
        [
            {
                "constraint_id": f"end_{k}",
                "expression": f"s{k}_state_of_charge[last(I)] >= {0.5 * sizes[k]!r}[kWh]",
            }
            for k in (0, 1)
        ],
    )
    assert best(fleet(sizes, rates)) == pytest.approx(best(apart), rel=1e-8)


def windy(power: Any, **index: Any) -> list[Any]:
    """Return a battery, wind and a grid, each in every scenario where there is an index."""
    wind = {
        "name": "wind",
        "model": "generator_profile",
        "parameters": {"available_power": power},
        **ON,
    }
    return [store("store", 12, 4, 6, **index), wind | index, GRID | index]


def test_each_scenario_has_its_own_balance() -> None:
    """A deterministic problem for each, weighted by hand, is the second route."""
    cost = "sum(prob(s)*(grid_import_cost[s, t] + grid_export_cost[s, t]) for s in S for t in T)"
    parts = windy("breeze", index=["s in S", "t in T"])
    together = site(parts, [], cost, [SCENARIOS], [BREEZE])
    expected = 0.0
    for name, chance in CHANCES.items():
        alone = BREEZE | {"index": ["T"], "value": WIND[name]}
        expected += chance * best(site(windy("breeze"), [], parameters=[alone]))
    assert best(together) == pytest.approx(expected, rel=1e-8)


def test_what_is_decided_once_serves_every_scenario() -> None:
    parts = windy("breeze", index=["k in S", "t in T"])
    written = expand(site([*parts[:2], GRID], [], COST, [SCENARIOS], [BREEZE]))
    balance = next(c for c in written.core.constraints if c.constraint_id == "balance_site")
    assert balance.forall == ("k in S", "t in T")
    # The import of the hour is the same whatever the wind; only the store and the wind react.
    assert "grid_import[t]" in balance.expression
    assert best(written) > 0


@pytest.mark.parametrize(
    ("series", "place", "check"),
    [
        ("store_state_of_charge", {"B": 1, "I": 2}, "step:store[C].state_of_charge"),
        ("store_charge", {"B": 0, "T": 0}, "balance:site"),
        ("store_discharge", {"B": 1, "T": 3}, "limit:store[C].discharge"),
    ],
)
def test_a_fault_is_found_in_the_unit_that_has_it(
    series: str, place: dict[str, int], check: str
) -> None:
    blueprint = fleet([10, 20], [5, 8])
    schedule = answer(blueprint)
    schedule[series][place] = schedule[series].isel(place) + 3.0
    certificate = judged(blueprint, schedule)
    assert certificate.verdict == "violated"
    assert check in {violation["check"] for violation in certificate.violations}


def test_states_that_a_schedule_leaves_out_are_recomputed_for_all_units() -> None:
    blueprint = fleet([10, 20], [5, 8])
    schedule = answer(blueprint).drop_vars("store_state_of_charge")
    certificate = judged(blueprint, schedule)
    assert certificate.verdict in ("certified", "feasible")
    executed = {state["quantity"] for state in certificate.levels["physics"]["states"]}
    assert executed == {"store[A].state_of_charge", "store[C].state_of_charge"}


def test_a_heater_of_every_flat_heats_its_own_zone() -> None:
    """Series of another component are used with the same index, or the component is refused."""
    zone = {"capacitance": 5, "resistance": 4, "ambient_temperature": "outside"}
    zone |= {"initial_temperature": 20}
    outside = {"name": "outside", "index": ["T"], "value": [0, -2, -4, 0], "unit": "degC"}
    warm = "19[degC] <= flat_temperature[b, i]"
    rows = [{"constraint_id": "warm", "forall": ["b in B", "i in I"], "expression": warm}]
    parts = [
        {"name": "flat", "model": "thermal_zone", "parameters": zone, "index": ["b in B", "T"]},
        {
            "name": "heater",
            "model": "heater",
            "parameters": {"electric_power_max": 3, "cop": 3},
            "connections": {"bus": "site", "zone": "flat"},
        },
        GRID,
    ]
    with pytest.raises(EngiagentError, match="whose indices differ"):
        expand(site(parts, rows, sets=[UNITS], parameters=[outside]))
    parts[1]["index"] = ["b in B", "T"]
    two = best(site(parts, rows, sets=[UNITS], parameters=[outside]))
    one = {**UNITS, "elements": ["A"]}
    base = best(site([GRID], []))
    assert two - base == pytest.approx(
        2 * (best(site(parts, rows, sets=[one], parameters=[outside])) - base), rel=1e-7
    )
