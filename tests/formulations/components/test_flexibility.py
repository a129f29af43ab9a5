"""Vehicles, batteries beyond a constant efficiency, and loads that give way."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.models.battery import QuadraticLoss
from engiagent.plant.site import Site
from engiagent.run.certify import certify
from tests.formulations.components.plans import executed, plan_of, solved
from tests.written import mapping


def priced(prices: list[float], step: str = "1 h", sell: float | list[float] | None = None) -> Site:
    site = Site(start="2025-07-01T00:00", step=step, periods=len(prices))
    site.add(
        "grid",
        "grid",
        bus="site",
        import_power_max=200,
        export_power_max=0 if sell is None else 200,
    )
    site.minimise_cost({"grid": prices}, None if sell is None else {"grid": sell})
    return site


# --- vehicles --------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.floats(0.01, 1), min_size=8, max_size=8),
    st.sampled_from([("(1, 5)", "(3.5, 8)"), ("(0, 3)", "(3, 8)"), ("(-2, 4)", "(2, 11)")]),
    st.floats(5, 22),
    st.booleans(),
)
def test_a_vehicle_is_charged_as_simulated_and_leaves_as_it_must(
    prices: list[float], times: tuple[str, str], need: float, both: bool
) -> None:
    site = priced(prices, sell=0.3)
    slots = mapping("""
        {bus: site, energy_capacity: 40, charge_power_max: 11, charge_efficiency: 0.9,
          discharge_efficiency: 0.95, minimum_energy: 4, arrival_energy: "(6, 10)"}
    """)
    slots |= {"arrival": times[0], "departure": times[1], "required_energy": f"({need}, 25)"}
    site.add("car", "ev", **slots, discharge_power_max=10 if both else 0)
    executed(site)


def test_a_vehicle_charges_in_the_cheapest_hours_of_its_stay() -> None:
    site = priced([0.1, 0.5, 0.3, 0.2, 0.05])
    site.add(
        "car",
        "ev",
        bus="site",
        energy_capacity=50,
        charge_power_max=10,
        arrival="(1)",
        departure="(4)",
        arrival_energy="(20)",
        required_energy="(35)",
    )
    data = solved(site)
    np.testing.assert_allclose(data.car_charge, [0, 0, 5, 10, 0], atol=1e-7)
    assert data.attrs["objective"] == pytest.approx(5 * 0.3 + 10 * 0.2)


def test_a_vehicle_that_cannot_be_full_in_time_says_by_how_much_when_soft() -> None:
    slots: dict[str, Any] = mapping("""
        {energy_capacity: 50, charge_power_max: 10, arrival: (1), departure: (2.5),
          arrival_energy: (20), required_energy: (45)}
    """)
    site = priced([0.1] * 4)
    site.add("car", "ev", bus="site", **slots)
    assert plan_of(site).attrs["status"] == "infeasible"
    site = priced([0.1] * 4)
    site.add("car", "ev", bus="site", **slots, soft=True)
    site.minimise("sum(car_shortfall[t] for t in T)", "kWh")
    # Plugged in for an hour and a half at 10 kW.
    assert float(solved(site).car_shortfall.sum()) == pytest.approx(10)


# --- batteries -------------------------------------------------------------------------------

BATTERY: dict[str, Any] = mapping("""
    {energy_capacity: 20, charge_power_max: 10, discharge_power_max: 10, initial_energy: 10}
""")


def test_a_quadratic_loss_is_that_of_the_model_and_evens_out_power() -> None:
    site = Site(start="00:00", step="1 h", periods=4)
    site.add("b", "battery", **BATTERY, quadratic_loss=0.1, rated_power=10)
    site.require("b_state_of_charge[last(I)] >= 14[kWh]", over=None)
    site.minimise("sum(b_charge[t]*dt(t) for t in T)", "kWh")
    assert classify(compile_blueprint(site.blueprint(), None)).problem_class not in ("LP", "MILP")
    data = solved(site)
    # Evenly: x - 0.01 x^2 = 1 in every period, where the loss is least in all.
    even = (1 - np.sqrt(1 - 4 * 0.01)) / 0.02
    np.testing.assert_allclose(data.b_charge, even, atol=1e-3)
    loss = QuadraticLoss(rated_power=10.0, quadratic=0.1)
    np.testing.assert_allclose(data.b_loss, loss.loss(data.b_charge.values), atol=1e-5)


@pytest.mark.parametrize("scheme", ["exact", "euler"])
@pytest.mark.parametrize(
    "losses",
    [
        {"no_load_loss": 0.2, "proportional_loss": 0.03},
        {"loss_power": "(0, 5, 10)", "loss": "(0.1, 0.3, 0.9)", "exclusive_on": "T"},
    ],
)
def test_a_plan_with_losses_and_self_discharge_passes_and_its_loss_is_the_converters(
    losses: dict[str, Any], scheme: str
) -> None:
    site = priced([0.1, 0.9, 0.1, 0.9], sell=0.4)
    site.add("b", "battery", bus="site", **BATTERY, **losses, self_discharge=0.01, scheme=scheme)
    data = solved(site)
    found = certify(None, data, site.blueprint(), folder=Path(), name="b")
    assert found.verdict != "violated", found.violations
    # A claim that counts the standing loss as the converter's is another number.
    more = data.assign(b_loss=data.b_loss + 0.01 * data.b_state_of_charge.values[:-1])
    assert certify(None, more, site.blueprint(), folder=Path(), name="b").verdict == "violated"


@pytest.mark.parametrize("named", [False, True])
def test_without_a_rated_power_the_quadratic_loss_refers_to_the_larger_limit(named: bool) -> None:
    site = priced([0.1, 0.9], sell=0.4)
    limit = site.parameter("most", 10, "kW") if named else 10
    uneven = {**BATTERY, "charge_power_max": limit, "discharge_power_max": 4}
    site.add("b", "battery", bus="site", **uneven, quadratic_loss=0.1)
    site.require("b_discharge[t] <= 0[kW]", over="t in T")
    site.require("b_charge[t] == 5[kW]", over="t in T")
    data = solved(site)
    np.testing.assert_allclose(data.b_loss, 0.1 * 5**2 / 10, atol=1e-6)
    found = certify(None, data, site.blueprint(), folder=Path(), name="b")
    assert found.verdict != "violated", found.violations


def test_cycles_are_capped_by_horizon_and_by_day() -> None:
    prices = [0.1, 0.9] * 24
    caps: list[tuple[dict[str, Any], float]] = [
        ({"cycles_max": 1.5}, 30.0),
        ({"daily_cycles_max": 0.5}, 20.0),
    ]
    for cap, most in caps:
        site = priced(prices, sell=prices)
        site.add("b", "battery", bus="site", **BATTERY, **cap)
        thrown = solved(site).b_discharge.values
        assert thrown.sum() == pytest.approx(most)
        if "daily_cycles_max" in cap:
            assert thrown[:24].sum() == pytest.approx(10)


def test_wear_is_paid_and_stops_trades_that_earn_less() -> None:
    for wear, traded in ((0.1, True), (0.5, False)):
        site = Site(start="00:00", step="1 h", periods=2)
        site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=50)
        site.add("b", "battery", bus="site", **{**BATTERY, "initial_energy": 0}, wear_cost=wear)
        site.minimise_cost({"grid": [0.1, 0.5]}, {"grid": [0.1, 0.5]})
        data = solved(site)
        assert data.attrs["objective"] == pytest.approx(-10 * 0.3 if traded else 0)


def test_reserve_needs_power_and_energy_for_as_long_as_it_has_to_last() -> None:
    site = Site(start="00:00", step="1 h", periods=1)
    site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=50)
    site.add(
        "b",
        "battery",
        bus="site",
        **BATTERY,
        discharge_efficiency=0.8,
        reserve_up_max=50,
        reserve_down_max=50,
        reserve_hours=2,
    )
    site.maximise("b_reserve_up[first(T)] + b_reserve_down[first(T)]", "kW")
    data = solved(site)
    # Up: 10 kWh serve 4 kW for two hours at 0.8. Down: 10 kWh of room take 5 kW for two hours.
    assert data.attrs["objective"] == pytest.approx(9)


# --- loads -----------------------------------------------------------------------------------


def test_load_is_lost_where_it_is_worth_less_than_its_energy() -> None:
    site = Site(start="00:00", step="1 h", periods=3)
    site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=0)
    site.add(
        "shop",
        "curtailable_load",
        bus="site",
        power=[10, 10, 10],
        lost_load_value=0.4,
        curtailable_share=0.6,
        unmet_energy_max=8,
    )
    site.minimise_cost({"grid": [0.3, 0.5, 0.9]})
    data = solved(site)
    np.testing.assert_allclose(data.shop_unmet, [0, 2, 6], atol=1e-7)
    np.testing.assert_allclose(data.grid_import, data.shop_power, atol=1e-9)
    assert data.attrs["objective"] == pytest.approx(3 + 8 * 0.5 + 4 * 0.9 + 8 * 0.4)


def shifted(**more: Any) -> xr.Dataset:
    site = priced([0.5, 0.1, 0.3, 0.2])
    site.add(
        "load",
        "shiftable_load",
        bus="site",
        power=[4, 4, 4, 4],
        shift_up_max=3,
        shift_down_max=2,
        **more,
    )
    return solved(site)


def test_shifted_load_is_served_within_the_horizon_and_in_time() -> None:
    free = shifted()
    np.testing.assert_allclose(free.load_power, [2, 7, 2, 5], atol=1e-7)
    assert free.load_power.sum() == pytest.approx(16)
    near = shifted(shift_hours=1)
    assert near.load_power.sum() == pytest.approx(16)
    assert near.attrs["objective"] >= free.attrs["objective"] - 1e-9
    late = shifted(ahead_energy_max=0)
    assert late.load_shifted_energy.values.max() <= 1e-7


def test_a_job_runs_as_a_whole_in_the_cheapest_place_of_its_window() -> None:
    site = priced([0.1, 0.1, 0.9, 0.2, 0.2, 0.05])
    site.add("wash", "job", bus="site", power=2, duration="2 h", earliest="1 h", latest="6 h")
    data = solved(site)
    np.testing.assert_allclose(data.wash_power, [0, 0, 0, 0, 2, 2], atol=1e-7)
    site = priced([0.1, 0.1, 0.9, 0.2, 0.2, 0.05])
    site.add("wash", "job", bus="site", power=2, duration="2 h", runs=2)
    np.testing.assert_allclose(solved(site).wash_power, [2, 2, 0, 0, 2, 2], atol=1e-7)


def test_an_event_is_met_by_the_battery_and_paid() -> None:
    site = Site(start="00:00", step="1 h", periods=3)
    site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=0)
    site.add("load", "load", bus="site", power=10)
    site.add(
        "b",
        "battery",
        bus="site",
        energy_capacity=8,
        initial_energy=0,
        charge_power_max=8,
        discharge_power_max=6,
    )
    site.add("event", "demand_response", grid="grid", event=[0, 1, 0], baseline=10, reward=0.5)
    site.minimise_cost({"grid": 0.2})
    data = solved(site)
    np.testing.assert_allclose(data.event_reduction, [0, 6, 0], atol=1e-7)
    assert data.attrs["objective"] == pytest.approx(30 * 0.2 - 6 * 0.5)
