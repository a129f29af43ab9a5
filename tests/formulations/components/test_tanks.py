"""Stores of heat, cold and ice: what the plan believes is what the simulation does."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.errors import EngiagentError
from engiagent.formulations.expansion import expand
from engiagent.models.hvac.fluids import SPECIFIC_HEAT
from engiagent.models.storage import IceTankCurves, StratifiedTank
from engiagent.plant.site import Site
from tests.formulations.components.plans import executed, solved
from tests.written import mapping

KILO = 3600 / SPECIFIC_HEAT  # kg of water that one kWh warms by a kelvin
CURVE = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)


def heated(periods: int = 4, step: str = "1 h", demand: float = 2.0) -> Site:
    """Return a site with a source of heat and a demand on one bus."""
    site = Site(start="2025-01-01T00:00", step=step, periods=periods)
    site.add("source", "grid", bus="warm", import_power_max=20, export_power_max=0)
    site.add("need", "load", bus="warm", power=demand)
    return site


@settings(max_examples=15, deadline=None)
@given(
    st.floats(0.0, 0.3),
    st.floats(-10, 25),
    st.sampled_from(["1 h", "15 min", "2 h"]),
    st.lists(st.floats(0.01, 1), min_size=4, max_size=4),
    st.booleans(),
)
def test_a_tank_follows_its_simulation(
    loss: float, around: float, step: str, prices: list[float], cold: bool
) -> None:
    site = Site(start="00:00", step=step, periods=4)
    bus: dict[str, Any] = {"cooling_bus" if cold else "heat_bus": "loop"}
    site.add("source", "grid", bus="loop", import_power_max=20, export_power_max=0)
    site.add("need", "load", bus="loop", power=[0.2, 0.3, 0.2, 0.1])
    slots = mapping("""
        {initial_temperature: 40, temperature_max: 60, temperature_min: 4, charge_power_max: 8}
    """)
    slots |= {"loss_conductance": loss, "ambient_temperature": [around, 20, 21, 22]}
    site.add("tank", "tank", **bus, **slots, mass=KILO)
    site.minimise_cost({"source": prices})
    data = executed(site)
    energy = 60 - data.tank_temperature if cold else data.tank_temperature - 4
    np.testing.assert_allclose(data.tank_energy, energy, atol=1e-6)


def test_a_tank_without_loss_moves_heat_to_the_dear_hours() -> None:
    site = heated()
    site.add(
        "tank",
        "tank",
        heat_bus="warm",
        mass=KILO,
        initial_temperature=40,
        temperature_min=40,
        temperature_max=43,
    )
    site.minimise_cost({"source": [0.1, 0.1, 0.5, 0.5]})
    # 3 K of a tank of 1 kWh/K are bought at 0.1 and save 3 kWh at 0.5.
    assert solved(site).attrs["objective"] == pytest.approx(0.1 * 7 + 0.5 * 1)


def test_a_lossy_tank_pays_only_while_the_price_falls_faster_than_the_heat() -> None:
    for late, worth in ((0.5, True), (0.12, False)):
        site = Site(start="00:00", step="1 h", periods=2)
        site.add("source", "grid", bus="warm", import_power_max=20, export_power_max=0)
        site.add("need", "load", bus="warm", power=[0, 1.0])
        site.add(
            "tank",
            "tank",
            heat_bus="warm",
            mass=KILO,
            loss_conductance=0.4,
            initial_temperature=20,
            temperature_min=20,
            temperature_max=90,
        )
        site.minimise_cost({"source": [0.1, late]})
        bought = float(solved(site).source_import[0])
        # Of heat charged over the first hour e^-k is there at the second's end; what is drawn
        # evenly over it was charged with the same profile an hour earlier.
        assert bought == pytest.approx(math.exp(0.4) if worth else 0.0, abs=1e-7)


def test_two_zones_hold_the_energy_of_layers() -> None:
    site = heated(demand=1.0)
    slots = mapping("""
        {heat_bus: warm, loss_conductance: 0.02, ambient_temperature: 15, hot_temperature: 60,
          cold_temperature: 30, initial_fraction: 0.5}
    """)
    site.add("tank", "two_zone_tank", mass=KILO, **slots)
    site.minimise_cost({"source": [0.4, 0.1, 0.6, 0.2]})
    data = solved(site)
    # All layers lose alike, so that the energy does not depend on how the heat is layered.
    start = [60.0] * 5 + [30.0] * 5
    tank = StratifiedTank(mass=KILO, layers=10, loss_conductance=0.02)
    heat = np.repeat((data.tank_charge - data.tank_discharge).values[:, None] / 10, 10, axis=1)
    layers = tank.simulate(start, step_hours=1.0, heat=heat, ambient=15.0)
    np.testing.assert_allclose(data.tank_energy, layers.temperature.mean(axis=-1) - 30.0, atol=1e-6)
    np.testing.assert_allclose(data.tank_fraction, data.tank_energy / 30, atol=1e-9)


def hot_water(**more: Any) -> Site:
    site = Site(start="00:00", step="1 h", periods=3)
    site.add("boiler", "grid", bus="warm", import_power_max=20, export_power_max=0)
    site.add(
        "dhw",
        "hot_water_tank",
        heat_bus="warm",
        mass=KILO,
        loss_conductance=0.01,
        initial_temperature=50,
        use=[0.0, 0.05, 0.0],
        use_temperature=45,
        cold_temperature=10,
        temperature_max=70,
        **more,
    )
    return site


def test_draws_of_hot_water_take_their_heat_and_find_it_warm() -> None:
    site = hot_water()
    site.minimise_cost({"boiler": [0.1, 1.0, 1.0]})
    data = executed(site)
    np.testing.assert_allclose(data.dhw_draw, [0, 0.05 * SPECIFIC_HEAT * 35, 0], rtol=1e-12)
    assert data.dhw_temperature[1:3].min() >= 45 - 1e-7
    # It is charged in the cheap hour until the end of the draw is just warm enough.
    assert float(data.dhw_temperature[2]) == pytest.approx(45, abs=1e-6)


def test_soft_hot_water_is_missed_where_heat_costs_more_than_the_lack() -> None:
    for penalty, missed in ((0.01, True), (100.0, False)):
        site = hot_water(soft=True)
        site.minimise_cost(
            {"boiler": 1.0}, also=f"{penalty}[EUR/kWh]*sum(dhw_unmet[t]*dt(t) for t in T)"
        )
        unmet = float(solved(site).dhw_unmet.sum())
        assert (unmet > 0.1) == missed


def iced(**slots: Any) -> Site:
    site = Site(start="00:00", step="1 h", periods=4)
    site.add("plant", "grid", bus="cold", import_power_max=100, export_power_max=0)
    site.add("need", "load", bus="cold", power=[10, 10, 45, 45])
    site.add("ice", "ice_tank", cooling_bus="cold", energy_capacity=100, initial_energy=20, **slots)
    site.minimise_cost({"plant": [0.1, 0.1, 0.5, 0.5]})
    return site


def test_ice_keeps_the_limits_of_its_table() -> None:
    shares, limits = (0, 0.5, 1), (40.0, 30.0, 0.0)
    data = solved(iced(charge_limit_share=str(shares), charge_limit=str(limits)))
    share = data.ice_energy.values[:-1] / 100
    assert np.all(data.ice_charge.values <= np.interp(share, shares, limits) + 1e-6)
    # By hand: 36 kW at the share 0.2, then 56 % of ice allow 30 kW less 0.06/0.5 of them.
    np.testing.assert_allclose(data.ice_charge[:2], [36, 30 - 0.06 / 0.5 * 30], atol=1e-6)


@pytest.mark.parametrize("segments", [1, 8])
def test_ice_by_curves_stays_within_a_stated_gap_of_the_model(segments: int) -> None:
    curves = {"charge_curve": str(CURVE), "discharge_curve": str(CURVE), "segments": segments}
    ends = {"charge_difference": [4, 5, 4, 4], "discharge_difference": [4, 4, 6, 8]}
    data = executed(iced(**curves, **ends, self_discharge=0.01))
    ice = IceTankCurves(energy_capacity=100.0, charge_curve=CURVE, discharge_curve=CURVE)
    # The curves are concave, so that chords lie below them.
    content = np.clip(data.ice_energy.values[:-1], 0.0, 100.0)
    freezing = ice.charge_limit(content, difference=[4, 5, 4, 4])
    melting = ice.discharge_limit(content, difference=[4, 4, 6, 8])
    assert np.all(data.ice_charge.values <= freezing + 1e-6)
    assert np.all(data.ice_discharge.values <= melting + 1e-6)


WRONG = [
    ("mass", {"mass": -3}, "mass is -3 kg; expected above 0 kg"),
    ("a fraction", {"mass": "-0.5[t]"}, "mass is -500 kg"),
    ("no start", {"initial_temperature": None}, "the parameter initial_temperature is not given"),
    (
        "boiling",
        {"temperature_max": "300 degC"},
        "temperature_max is 300 degC; expected at least 0",
    ),
    ("pressure", {"mass": "3 bar"}, "mass is in bar"),
]


@pytest.mark.parametrize(("slots", "message"), [w[1:] for w in WRONG], ids=[w[0] for w in WRONG])
def test_a_tank_that_cannot_be_is_refused(slots: dict[str, Any], message: str) -> None:
    good = {"mass": KILO, "initial_temperature": 40}
    given = {name: value for name, value in {**good, **slots}.items() if value is not None}
    site = heated()
    site.add("tank", "tank", heat_bus="warm", **given)
    with pytest.raises(EngiagentError) as caught:
        expand(site.blueprint())
    assert "component tank (tank)" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ({"charge_curve": "(1, 2)", "charge_difference": 4}, "charge_curve is no curve"),
        ({"charge_curve": str(CURVE)}, "charge_curve and charge_difference belong together"),
        ({"charge_limit_share": 0.3, "charge_limit": 4}, "charge_limit_share is no table"),
        ({"charge_curve": str(CURVE), "charge_difference": 4, "segments": 0}, "read segments"),
    ],
)
def test_ice_that_cannot_be_is_refused(slots: dict[str, Any], message: str) -> None:
    site = Site(start="00:00", step="1 h", periods=4)
    site.add("need", "load", bus="cold", power=1)
    site.add("ice", "ice_tank", cooling_bus="cold", energy_capacity=9, initial_energy=2, **slots)
    with pytest.raises(EngiagentError, match=message):
        expand(site.blueprint())


def test_a_store_is_on_one_kind_of_bus() -> None:
    site = heated()
    site.add("tank", "tank", heat_bus="warm", cooling_bus="cold", mass=1, initial_temperature=30)
    with pytest.raises(EngiagentError, match="on a bus of heat and on one of cold"):
        expand(site.blueprint())
