"""Gensets, CHP, PV and wind: plans of the optimiser executed by the models, and by hand."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.models.engines import PartLoadChp
from engiagent.models.renewables import WindTurbine
from engiagent.plant.site import Site
from tests.formulations.components.plans import executed, solved
from tests.written import mapping


def island(need: list[float], step: Any = "1 h", **slots: Any) -> Site:
    """Return a genset and a demand that may be left unserved at 5 EUR/kWh."""
    site = Site(start="2025-07-01T00:00", step=step, periods=len(need))
    site.add("need", "load", bus="site", power=need)
    site.add("lack", "grid", bus="site", import_power_max=500, export_power_max=500)
    site.add("set", "genset", bus="site", rated_power=100, **slots)
    site.minimise_cost({"lack": 5.0}, also="1.5[EUR/l]*sum(set_fuel[t]*dt(t) for t in T)")
    return site


@settings(max_examples=12, deadline=None)
@given(
    st.lists(st.floats(0, 120), min_size=6, max_size=6),
    st.sampled_from([1.0, 1.5, 2.0, 3.0]),
    st.sampled_from([1.0, 2.0, 2.5]),
    st.sampled_from(["1 h", "30 min", ["30 min", "1 h", "1 h", "2 h", "15 min", "45 min"]]),
    st.booleans(),
)
def test_a_plan_of_a_genset_is_one_that_the_simulation_accepts(
    need: list[float], up: float, down: float, step: Any, hot: bool
) -> None:
    slots = mapping("""
        {fuel_slope: 0.24 l/kWh, fuel_no_load: 4, start_fuel: 2, minimum_load: 0.3, ramp_up: 60,
          ramp_down: 70, initial_hours: 0.5}
    """)
    before = {"initially_on": int(hot), "initial_power": 50 if hot else 0}
    executed(island(need, step, **slots, **before, minimum_up_hours=up, minimum_down_hours=down))


def test_a_quadratic_fuel_curve_splits_by_equal_marginal_fuel() -> None:
    site = Site(start="00:00", step="1 h", periods=1)
    site.add("need", "load", bus="site", power=90)
    for name, slope, square in (("a", 0.2, 0.001), ("b", 0.25, 0.0005)):
        site.add(
            name,
            "genset",
            bus="site",
            rated_power=100,
            fuel_slope=f"{slope} l/kWh",
            fuel_quadratic=f"{square} l/(kW**2*h)",
        )
    site.minimise("sum((a_fuel[t] + b_fuel[t])*dt(t) for t in T)", "l")
    assert classify(compile_blueprint(site.blueprint(), None)).problem_class == "QP"
    data = solved(site)
    # 0.2 + 0.002 a = 0.25 + 0.001 (90 - a): a = 140/3.
    assert float(data.a_power[0]) == pytest.approx(140 / 3, abs=1e-4)


def test_a_table_of_fuel_is_met_at_its_points_and_costs_nothing_at_rest() -> None:
    site = island([0, 30, 100, 65], fuel_power="(30, 65, 100)", fuel_rate="(11, 18, 28)")
    data = solved(site)
    np.testing.assert_allclose(data.set_fuel, [0, 11, 28, 18], atol=1e-6)


def test_sets_alike_are_counted_and_reserve_is_of_those_that_run() -> None:
    site = island(
        [70, 150, 250],
        fuel_slope="0.24 l/kWh",
        fuel_no_load=4,
        minimum_load=0.3,
        count=3,
        reserve_max=100,
    )
    assert solved(site).set_on.values.round().tolist() == [1, 2, 3]
    site.require("set_reserve[t] >= 60[kW]", where="pos(t) < 2")
    assert solved(site).set_on.values.round().tolist() == [2, 3, 3]


def test_fuel_is_drawn_from_a_bus_by_its_heating_value() -> None:
    site = Site(start="00:00", step="1 h", periods=2)
    site.add("need", "load", bus="site", power=[50, 100])
    site.add("gas", "grid", bus="gas", import_power_max=900, export_power_max=0)
    site.add(
        "set",
        "genset",
        bus="site",
        fuel_bus="gas",
        rated_power=100,
        fuel_slope="0.24 l/kWh",
        fuel_no_load="4 l/h",
        heating_value=9.96,
        emission_factor=2.64,
    )
    site.minimise_cost({"gas": 0.1})
    data = solved(site)
    np.testing.assert_allclose(data.gas_import, np.array([16, 28]) * 9.96, atol=1e-6)
    np.testing.assert_allclose(data.set_emissions, np.array([16, 28]) * 2.64, atol=1e-6)


def cogeneration(model: str, heat: list[float], price: Any, **slots: Any) -> Site:
    site = Site(start="2025-01-01T00:00", step="1 h", periods=len(heat))
    site.add("grid", "grid", bus="site", import_power_max=500, export_power_max=500)
    site.add("gas", "grid", bus="gas", import_power_max=2000, export_power_max=0)
    site.add("need", "load", bus="warm", power=heat)
    site.add(
        "backup",
        "boiler",
        fuel_bus="gas",
        heat_bus="warm",
        rated_capacity=500,
        rated_efficiency=0.9,
    )
    site.add("unit", model, bus="site", heat_bus="warm", fuel_bus="gas", **slots)
    site.minimise_cost({"grid": price, "gas": 0.06}, {"grid": price})
    return site


TURBINE: dict[str, Any] = mapping("""
    {condensing_power_max: 100, power_loss: 0.15, power_to_heat: 0.6, fuel_slope: 2.5}
""")
STANDING = {"condensing_power_min": 40, "fuel_no_load": 10}
ENGINE: dict[str, Any] = {
    "rated_power": 100,
    "load": "(0.5, 0.75, 1)",
    "electric_efficiency": "(0.32, 0.35, 0.36)",
    "thermal_efficiency": "(0.55, 0.52, 0.5)",
}


def test_an_engine_follows_the_heat_and_the_price_as_simulated() -> None:
    chp = PartLoadChp(
        rated_power=100.0,
        load=(0.5, 0.75, 1.0),
        electric_efficiency=(0.32, 0.35, 0.36),
        thermal_efficiency=(0.55, 0.52, 0.5),
    )
    site = cogeneration("chp", [300, 100, 60, 110], [0.2, 0.2, 0.2, 0.01], **ENGINE, segments=8)
    data = executed(site)
    power, on = data.unit_power.values, data.unit_on.values.round()
    assert on.tolist() == [1, 1, 0, 0]  # too much heat even at the least load, then a poor price
    done = chp.output(power)
    np.testing.assert_allclose(data.unit_fuel, done.fuel * on, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(data.unit_heat, done.heat * on, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(data.unit_heat + data.backup_heat, [300, 100, 60, 110], atol=1e-6)
    assert float(power[0]) == pytest.approx(100)
    # At a step (full load) the table is met exactly.
    assert float(data.unit_fuel[0]) == pytest.approx(100 / 0.36)
    dumping = solved(cogeneration("chp", [60.0], [0.9], **ENGINE, dump=True))
    assert float(dumping.unit_dumped[0]) == pytest.approx(100 / 0.36 * 0.5 - 60)


def test_an_engine_of_one_load_runs_at_it_or_stands() -> None:
    data = solved(
        cogeneration(
            "chp",
            [200.0, 10.0],
            [0.2, 0.2],
            rated_power=100,
            load=1,
            electric_efficiency=0.36,
            thermal_efficiency=0.5,
        )
    )
    np.testing.assert_allclose(data.unit_power, [100, 0], atol=1e-6)
    np.testing.assert_allclose(data.unit_heat, [100 / 0.36 * 0.5, 0], atol=1e-6)


@settings(max_examples=10, deadline=None)
@given(
    st.lists(st.floats(0, 130), min_size=3, max_size=3),
    st.lists(st.floats(0.0, 0.4), min_size=3, max_size=3),
)
@example([130.0, 60.0, 100.0], [0.1, 0.3, 0.0])  # along the back-pressure line, condensing, off
def test_an_extraction_turbine_stays_in_its_polygon(heat: list[float], price: list[float]) -> None:
    executed(cogeneration("extraction_chp", heat, price, **TURBINE, **STANDING))


def test_an_extraction_turbine_gives_up_power_for_heat_where_that_is_cheaper() -> None:
    # A unit of heat costs 0.15 kWh of power (0.075 EUR) or 0.067 EUR of gas: none is extracted.
    data = solved(cogeneration("extraction_chp", [100.0], [0.5], **TURBINE))
    assert float(data.unit_heat[0]) == pytest.approx(0, abs=1e-6)
    data = solved(cogeneration("extraction_chp", [100.0], [0.4], **TURBINE))
    assert float(data.unit_heat[0]) == pytest.approx(100)
    assert float(data.unit_power[0]) == pytest.approx(85)


def exported(model: str, **slots: Any) -> Site:
    site = Site(start="2025-06-01T00:00", step="1 h", periods=4)
    site.add("grid", "grid", bus="site", import_power_max=0, export_power_max=900)
    site.add("unit", model, bus="site", **slots)
    site.minimise_cost({}, {"grid": 0.1})
    return site


def test_the_wind_gives_what_the_turbine_makes_of_it() -> None:
    speed, density = [2.0, 7.5, 24.9, 26.0], [1.2, 1.1, 1.25, 1.2]
    slots: dict[str, Any] = {"speeds": "(3, 6, 12, 25)", "powers": "(0, 200, 800, 800)"}
    turbine = WindTurbine(speeds=(3.0, 6.0, 12.0, 25.0), powers=(0.0, 200.0, 800.0, 800.0))
    data = solved(exported("wind_turbine", **slots, wind_speed=speed))
    np.testing.assert_allclose(data.unit_power, turbine.power(speed), atol=1e-6)
    data = solved(exported("wind_turbine", **slots, wind_speed=speed, air_density=density))
    np.testing.assert_allclose(data.unit_power, turbine.power(speed, density), atol=1e-6)
    data = solved(
        exported("wind_turbine", **slots, wind_speed=speed, curtailable=False, losses=0.1)
    )
    np.testing.assert_allclose(data.unit_power, 0.9 * turbine.power(speed), atol=1e-6)


@pytest.mark.parametrize("written", [False, "no", 0])
def test_what_has_to_be_taken_is_taken_and_checked(written: object) -> None:
    site = Site("2026-01-01T00:00", "1 h", 3)
    site.add("grid", "grid", import_price=[0.1, 0.2, 0.3], import_power_max=10)
    site.add("house", "load", power=[3, 3, 3])
    site.add("sun", "generator_profile", available_power=[1, 2, 3], curtailable=written)
    assert executed(site).grid_import.values == pytest.approx([2, 1, 0], abs=1e-9)
