"""Studies from Python: the blueprint that comes out, its values and its errors."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.document import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.plant.site import Site
from engiagent.run.certify import certify
from tests.formulations.components.plans import plan_of

BATTERY: dict[str, Any] = {
    "energy_capacity": "10 kWh",
    "charge_power_max": "5 kW",
    "discharge_power_max": "5000 W",
    "initial_energy": 0,
}


def home(**more: Any) -> Site:
    site = Site(start="2025-07-01T00:00", step="1 h", periods=4, zone="Europe/Berlin", **more)
    site.add("grid", "grid", bus="home", import_power_max="0.02 MW", export_power_max=0)
    site.add("load", "load", bus="home", power=[3.0, 3.0, 6.0, 6.0])
    site.add("battery", "battery", bus="home", **BATTERY)
    return site


def test_a_study_becomes_a_blueprint_that_can_be_stored_and_certified(tmp_path: Path) -> None:
    site = home(title="a house with a battery")
    site.minimise_cost({"grid": [0.1, 0.1, 0.4, 0.4]})
    document = site.blueprint()
    assert Blueprint.from_json(document.to_json()) == document
    written = expand(document)
    assert not [d for d in analyse(written, None).diagnostics if d.severity == "error"]
    data = plan_of(site)
    certificate = certify(None, data, written, folder=tmp_path, name="house")
    assert certificate.verdict == "certified"
    assert data.attrs["objective"] == pytest.approx(2.4)


def test_values_come_as_numbers_units_series_pairs_expressions_and_files(tmp_path: Path) -> None:
    rows = "\n".join(f"2025-07-01T0{h}:00+02:00,{p}" for h, p in enumerate([10, 20, 30, 40]))
    (tmp_path / "prices.csv").write_text(f"time,price\n{rows}\n", encoding="utf-8")
    site = home(currency="USD")
    site.parameter("price", "prices.csv#price", "USD/MWh")
    site.add("shed", "load", bus="home", power=([1000.0, 0, 0, 500.0], "W"))
    site.add("pump", "load", bus="home", power="0.5*battery_share[t]*1[kW]")
    site.parameter("battery_share", [0, 0, 1, 1])
    site.minimise_cost({"grid": "price"})
    data = plan_of(site, tmp_path)
    assert data.attrs["status"] == "optimal"
    assert data.attrs["objective_unit"] == "USD"
    np.testing.assert_allclose(data.shed_power, [1, 0, 0, 0.5])
    np.testing.assert_allclose(data.pump_power, [0, 0, 0.5, 0.5])


def test_costs_of_components_are_in_the_currency_and_count_whenever_they_are_added() -> None:
    site = home(currency="CHF")
    site.minimise_cost({"grid": "0.2 CHF/kWh"})
    before = plan_of(site).attrs["objective"]
    site.add("lamp", "curtailable_load", bus="home", power=2, lost_load_value=0.05)
    # Its own price is below that of energy: it is left dark for 8 kWh.
    assert plan_of(site).attrs["objective"] == pytest.approx(before + 8 * 0.05)


def test_a_table_of_its_own_is_named_and_shared() -> None:
    site = Site(start="00:00", step="1 h", periods=1)
    site.table("powers", [30, 65, 100], "kW", over="curve")
    site.table("rates", [11, 18, 28], "l/h", over="curve")
    site.add("need", "load", bus="site", power=65)
    site.add("set", "genset", bus="site", rated_power=100, fuel_power="powers", fuel_rate="rates")
    site.minimise("sum(set_fuel[t]*dt(t) for t in T)", "l")
    assert plan_of(site).attrs["objective"] == pytest.approx(18)


def test_a_requirement_with_a_penalty_may_be_broken() -> None:
    site = home()
    site.require("grid_import[t] <= 2[kW]", penalty=0.5, name="a quiet connection")
    site.minimise_cost({"grid": 0.1})
    # 18 kWh are needed, and 10 of them at most lie under the limit of four hours.
    assert plan_of(site).attrs["objective"] == pytest.approx(18 * 0.1 + (18 - 8) * 0.5)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda s: s.add("x", "reactor"), "unknown model 'reactor'; expected .*heater"),
        (
            lambda s: s.add("x", "load", colour=1),
            "unknown slot 'colour'; expected one of power, bus",
        ),
        (lambda s: s.add("x", "load", power=[1, 2]), r"x_power_given has the shape \(2,\)"),
        (lambda s: s.add("x", "load", power=[1, [2, 3]]), "x_power_given holds more than numbers"),
        (lambda s: s.add("x", "load", power=None), "x_power_given holds more than numbers"),
        (lambda s: s.minimise_cost({"gas": 1}), "there is no grid gas; expected grid"),
        (lambda s: s.parameter("p", np.ones((2, 2))), r"p has the shape \(2, 2\)"),
    ],
)
def test_what_does_not_fit_is_said_at_once(act: Any, message: str) -> None:
    with pytest.raises(EngiagentError, match=message):
        act(home())


def hours(start: str = "2025-07-01", **more: Any) -> pd.DatetimeIndex:
    return pd.date_range(start, periods=4, **({"freq": "h", "tz": "Europe/Berlin"} | more))


def test_a_table_of_pandas_gives_horizon_and_series(tmp_path: Path) -> None:
    price = pd.Series([0.1, 0.3, 0.05, 0.5], index=hours())
    site = Site.over(price.index, title="Depot")
    site.add("grid", "grid", import_price=price)
    site.add("load", "load", power=4)
    site.add("battery", "battery", **BATTERY)
    site.minimise_cost()
    plan = site.solve(progress=False)
    assert plan.certificate.verdict == "certified"
    table = plan.to_dataframe(units=False)
    assert table.index[0] == price.index[0]
    page = plan.report(tmp_path / "depot.html").read_text("utf-8")
    assert "Certified" in page
    assert "Depot" in page
    # Nobody names a bus, so all are on one; without losses a store goes one way at a time.
    assert (table[["battery.charge", "battery.discharge"]].min(axis=1).dropna() == 0).all()


@pytest.mark.parametrize(
    ("stamps", "message"),
    [
        (hours("2025-07-02"), "begins at 2025-07-02"),
        (hours(freq="30min"), r"has steps of 30 min.*resample\(…\)\.mean\(\)"),
        (hours(freq="2h"), r"has steps of 120 min.*reindex\(index, method='ffill'\)"),
    ],
)
def test_a_series_with_other_stamps_is_refused(stamps: pd.DatetimeIndex, message: str) -> None:
    site = Site.over(hours())
    with pytest.raises(EngiagentError, match=message):
        site.add("load", "load", power=pd.Series([1.0] * 4, index=stamps))


def test_a_name_with_another_unit_is_refused_and_a_pair_converts() -> None:
    """A price in cents taken as euros would give a certified plan that is a hundred times off."""
    cents = pd.Series([10.0, 30, 5, 50], index=hours(), name="Preis [ct/kWh]")
    costs = []
    for price in ((cents, "ct/kWh"), (cents / 100).rename("Preis [€/kWh]"), (cents / 100).values):
        site = Site.over(hours())
        site.add("grid", "grid", import_price=price)
        site.add("load", "load", power=pd.Series([4.0] * 4, hours(), name="Last in kW"))
        site.minimise_cost()
        costs.append(site.solve(progress=False).objective)
    assert costs == pytest.approx([3.8] * 3)
    with pytest.raises(EngiagentError, match=r"is in EUR/kWh; found 'Preis \[ct/kWh\]'.*series, "):
        Site.over(hours()).add("grid", "grid", import_price=cents)


def test_the_same_instants_in_utc_are_the_same_series() -> None:
    load = pd.Series([1.0, 2, 3, 4], hours())
    one, other = Site.over(hours()), Site.over(hours())
    one.add("load", "load", power=load)
    other.add("load", "load", power=load.tz_convert("UTC"))
    assert one.to_yaml() == other.to_yaml()


def test_a_hole_in_a_series_is_named() -> None:
    load = pd.Series([1.0, 2, np.nan, 4], hours())
    with pytest.raises(EngiagentError, match="more than numbers at 2025-07-01 02:00"):
        Site.over(hours()).add("load", "load", power=load)


def test_local_stamps_over_a_change_of_clocks_need_a_zone() -> None:
    local = pd.date_range("2026-03-29", periods=4, freq="h", tz="Europe/Berlin").tz_localize(None)
    with pytest.raises(EngiagentError, match=r"01:00:00, then .*03:00:00.*tz_localize"):
        Site.over(local)


def test_stamps_with_a_gap_are_no_horizon() -> None:
    with pytest.raises(EngiagentError, match=r"not evenly spaced.*02:00.*04:00"):
        Site.over(hours().append(hours("2025-07-01T04:00"))[[0, 1, 2, 4]])
