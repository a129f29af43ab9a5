"""Chillers, heat pumps, boilers, fans: the plan's inputs are those of the simulated machines."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.models.hvac.curves import Biquadratic, Polynomial
from engiagent.models.hvac.fluids import PartLoadFan, YorkCalcTower
from engiagent.models.hvac.machines import Boiler, Chiller, HeatPump
from engiagent.plant.site import Site
from engiagent.run.certify import certify
from tests.formulations.components.plans import executed, plan_of, solved

CAPACITY = (0.9, 0.01, 0.0, 0.002, -0.0001, 0.0)
EIR = (0.6, -0.005, 0.0, 0.012, 0.0001, 0.0)
PART_LOAD = (0.2, 0.3, 0.5)
EVEN = Biquadratic((1.0, 0.0, 0.0, 0.0, 0.0, 0.0))


def problem_class(site: Site) -> str:
    return classify(compile_blueprint(site.blueprint(), None)).problem_class


def cooled(need: list[float], prices: Any = 0.2, **slots: Any) -> Site:
    site = Site(start="2025-07-01T00:00", step="1 h", periods=len(need))
    site.add("grid", "grid", bus="site", import_power_max=500, export_power_max=0)
    site.add("need", "load", bus="cold", power=need)
    site.add(
        "chiller",
        "chiller",
        bus="site",
        cooling_bus="cold",
        rated_capacity=100,
        rated_cop=5,
        **slots,
    )
    site.minimise_cost({"grid": prices})
    return site


def with_tank(site: Site) -> Site:
    site.add("tank", "thermal_store", cooling_bus="cold", energy_capacity=60, initial_energy=20)
    return site


@settings(max_examples=8, deadline=None)
@given(
    st.lists(st.floats(15, 80), min_size=3, max_size=3),
    st.lists(st.floats(18, 34), min_size=3, max_size=3),
    st.integers(1, 12),
)
def test_a_chiller_by_curves_is_the_simulated_one(
    need: list[float], entering: list[float], segments: int
) -> None:
    curves = {"capacity_curve": str(CAPACITY), "eir_curve": str(EIR)}
    curves["part_load_curve"] = str(PART_LOAD)
    more = {"minimum_part_load": 0.1, "segments": segments}
    site = cooled(need, **curves, **more, entering_temperature=entering, leaving_temperature=8)
    data = executed(site)
    chiller = Chiller(
        rated_capacity=100.0,
        rated_cop=5.0,
        capacity_curve=Biquadratic(CAPACITY),
        eir_curve=Biquadratic(EIR),
        part_load_curve=Polynomial(PART_LOAD),
        minimum_part_load=0.1,
    )
    # The chords of a parabola lie above it by its bend times h^2/4 at most.
    done = chiller.operate(need, leaving=8.0, entering=entering)
    gap = data.chiller_electric_power.values - done.power
    assert np.all(gap >= -1e-6)
    full = chiller.full_load_power(8.0, entering)
    assert np.all(gap <= full * 0.5 * (0.9 / segments) ** 2 / 4 + 1e-6)


def test_curves_of_a_chiller_hold_their_value_outside_their_range_and_the_checker_says_so() -> None:
    entering, span = [-8.0, 12.0, 30.0], (18.0, 35.0)
    curves = {"capacity_curve": str(CAPACITY), "eir_curve": str(EIR)}
    site = cooled(
        [20, 20, 20],
        **curves,
        entering_temperature=entering,
        leaving_temperature=8,
        entering_range=str(span),
        leaving_range="(5[degC], 12[degC])",
    )
    data = solved(site)
    # As EnergyPlus has it: what lies outside counts as the nearest end.
    full = Biquadratic(EIR).at(8.0, np.clip(entering, *span))
    np.testing.assert_allclose(data.chiller_electric_power, 20 / 5 * full, rtol=1e-6)
    found = certify(None, data, site.blueprint(), folder=Path(), name="cooling")
    assert found.verdict != "violated", found.violations
    (note,) = found.levels["physics"]["notes"]
    assert "leaves the range of the curves, 18 to 35 degC, in 2 of 3 periods (-8 to 30" in note
    plain = cooled([20, 20, 20], **curves, entering_temperature=entering, leaving_temperature=8)
    far = solved(plain)
    assert far.chiller_electric_power[0] < 0.95 * data.chiller_electric_power[0]
    notes = certify(None, far, plain.blueprint(), folder=Path(), name="cooling").levels["physics"]
    assert any("no entering_range is given" in note for note in notes["notes"])


def test_a_straight_chiller_with_a_tank_is_exact_and_linear_in_states() -> None:
    site = with_tank(
        cooled([10, 60, 90], [0.1, 0.2, 0.9], part_load_curve="(0.1, 0.9)", minimum_part_load=0.2)
    )
    assert problem_class(site) == "MILP"
    data = solved(site)
    load, on = data.chiller_cooling.values, data.chiller_on.values.round()
    chiller = Chiller(
        rated_capacity=100.0,
        rated_cop=5.0,
        capacity_curve=EVEN,
        eir_curve=EVEN,
        part_load_curve=Polynomial((0.1, 0.9)),
        minimum_part_load=0.2,
    )
    power = chiller.operate(load, leaving=7.0, entering=29.0).power
    np.testing.assert_allclose(data.chiller_electric_power, power * on, atol=1e-6)
    assert np.all((load <= 1e-6) | (load >= 20 - 1e-6))
    supply = load + (data.tank_discharge - data.tank_charge).values
    np.testing.assert_allclose(supply, [10, 60, 90], atol=1e-6)


def test_a_polynomial_of_part_load_stays_one_without_segments() -> None:
    site = cooled([30, 60], part_load_curve="(0, 0.5, 0.5)")
    assert problem_class(site) not in ("LP", "MILP")
    site = cooled([30, 60], part_load_curve="(0, 0.5, 0.5)", segments=4)
    assert problem_class(site) in ("LP", "MILP")


def test_chillers_alike_share_the_load_and_as_many_run_as_pay() -> None:
    # f = 0.2 + 0.3 x + 0.5 x^2 a chiller: n running at the load L take 20 (0.2 n + 0.3 L/100
    # + 0.5 (L/100)^2/n) kW, least at n = sqrt(2.5) L/100.
    need = [40.0, 90.0, 130.0, 260.0]
    site = cooled(need, count=4, part_load_curve=str(PART_LOAD), segments=40, minimum_part_load=0.2)
    data = solved(site)
    best = [
        min((20 * (0.2 * n + 0.3 * x + 0.5 * x * x / n), n) for n in range(1, 5) if n >= x)
        for x in (load / 100 for load in need)
    ]
    assert data.chiller_on.values.round().astype(int).tolist() == [n for _, n in best]
    np.testing.assert_allclose(data.chiller_electric_power, [p for p, _ in best], rtol=2e-3)


def test_sequencing_keeps_the_least_times_of_every_machine() -> None:
    need = [150.0, 50.0, 150.0, 50.0, 50.0, 50.0]
    free = solved(cooled(need, count=2, part_load_curve="(0.3, 0.7)", minimum_part_load=0.1))
    assert free.chiller_on.values.round().tolist() == [2, 1, 2, 1, 1, 1]
    held = solved(
        cooled(
            need,
            count=2,
            part_load_curve="(0.3, 0.7)",
            minimum_part_load=0.1,
            minimum_up_hours=2,
            minimum_down_hours=2,
            start_cost=0.01,
        )
    )
    # Both started at once and last two hours; whichever stops then may not be back in the next.
    assert held.chiller_on.values.round().tolist() == [2, 2, 2, 1, 1, 1]
    assert float(held.chiller_start_cost.sum()) == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("step", "least", "periods"),
    [("1 h", 3, 3), ("1 h", 2.5, 3), ("15 min", 1, 4), ("6 min", 0.3, 3), ("42 min", 2.1, 3)],
)
def test_least_times_bind_as_many_periods_as_they_touch_and_name_their_slot(
    step: str, least: float, periods: int
) -> None:
    site = Site(start="2025-07-01T00:00", step=step, periods=8)
    site.add("grid", "grid", bus="site", import_power_max=500, export_power_max=0)
    site.add("need", "load", bus="cold", power=[50.0] * 8)
    site.add(
        "chiller",
        "chiller",
        bus="site",
        cooling_bus="cold",
        rated_capacity=100,
        rated_cop=5,
        minimum_part_load=0.1,
        minimum_up_hours=f"{least}[h]",
    )
    site.minimise_cost({"grid": 0.2})
    expanded = expand(site.blueprint()).core.constraints
    row = next(c for c in expanded if c.constraint_id == "chiller_minimum_up")
    assert set(re.findall(r"\d[\d.]*", row.expression)) <= {"1", str(least)}
    program = compile_blueprint(site.blueprint(), None)
    block = next(b for b in program.rows if b.constraint_id == "chiller_minimum_up")
    last = block.stop - 1
    assert program.row_starts[last + 1] - program.row_starts[last] == periods + 1


def pumped(need: list[float], **slots: Any) -> Site:
    site = Site(start="2025-01-01T00:00", step="1 h", periods=len(need))
    site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=0)
    site.add("need", "load", bus="warm", power=need)
    site.add("pump", "heat_pump", bus="site", heat_bus="warm", rated_capacity=10, **slots)
    site.minimise_cost({"grid": 0.3})
    return site


@settings(max_examples=10, deadline=None)
@given(
    st.floats(0.3, 0.6),
    st.floats(0, 6),
    st.lists(st.floats(-15, 40), min_size=3, max_size=3),
    st.floats(30, 55),
    st.lists(st.floats(0, 9), min_size=3, max_size=3),
)
def test_a_heat_pump_by_carnot_is_the_simulated_one(
    share: float, approach: float, source: list[float], sink: float, need: list[float]
) -> None:
    ends = {"source_temperature": source, "sink_temperature": sink, "sink_approach": approach}
    executed(pumped(need, **ends, carnot_fraction=share, source_approach=2, standby_power=0.02))


def test_a_heat_pump_that_modulates_is_within_the_chords_of_the_simulated_one() -> None:
    curve = (1.2, -0.3, 0.1)
    need, source = [3.0, 5.5, 9.0], [-5.0, 2.0, 7.0]
    slots: dict[str, Any] = {
        "cop_curve": "(3, 0.06, 0, 0.01, 0, -0.0005)",
        "modulation_curve": str(curve),
        "capacity_curve": "(1, 0.01, 0, 0, 0, 0)",
        "source_temperature": source,
        "sink_temperature": 35,
        "minimum_part_load": 0.25,
    }
    pump = HeatPump(
        rated_capacity=10.0,
        cop_map=Biquadratic((3, 0.06, 0, 0.01, 0, -0.0005)),
        capacity_map=Biquadratic((1, 0.01, 0, 0, 0, 0)),
        modulation=Polynomial(curve),
        minimum_part_load=0.25,
    )
    power = pump.operate(need, source=source, sink=35.0).power
    data = solved(pumped(need, **slots, segments=20))
    np.testing.assert_allclose(data.pump_electric_power, power, rtol=1e-3)
    assert problem_class(pumped(need, **slots)) == "MINLP"


def test_a_heat_pump_that_switches_needs_a_tank_below_its_least_part_load() -> None:
    slots = {"cop": 3, "minimum_part_load": 0.5}
    assert plan_of(pumped([2, 2, 2], **slots)).attrs["status"] == "infeasible"
    site = pumped([2, 2, 2, 2], **slots)
    site.add("tank", "thermal_store", heat_bus="warm", energy_capacity=8, initial_energy=0)
    heat = solved(site).pump_heat.values
    assert np.all((heat < 1e-6) | (heat > 5 - 1e-6))
    assert heat.sum() == pytest.approx(8)


def test_a_hybrid_of_boiler_and_heat_pump_takes_whichever_is_cheaper() -> None:
    site = Site(start="2025-01-01T00:00", step="1 h", periods=4)
    site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=0)
    site.add("gas", "grid", bus="gas", import_power_max=50, export_power_max=0)
    site.add("need", "load", bus="warm", power=8)
    site.add("pump", "heat_pump", bus="site", heat_bus="warm", rated_capacity=6, cop=[4, 3, 2.5, 2])
    site.add(
        "boiler", "boiler", fuel_bus="gas", heat_bus="warm", rated_capacity=20, rated_efficiency=0.9
    )
    site.minimise_cost({"grid": 0.3, "gas": 0.1})
    data = solved(site)
    # Heat costs 0.1/0.9 = 0.111 from gas and 0.3/COP from the pump: cheaper only above 2.7.
    np.testing.assert_allclose(data.pump_heat, [6, 6, 0, 0], atol=1e-7)
    np.testing.assert_allclose(data.gas_import * 0.9 + data.pump_heat, 8, atol=1e-7)
    assert data.attrs["objective"] == pytest.approx(
        6 * (0.3 / 4 + 0.3 / 3) + (2 + 2 + 8 + 8) * 0.1 / 0.9
    )


def test_a_boiler_by_part_load_burns_what_the_simulated_one_does() -> None:
    curve = (0.8, 0.4, -0.2, 0.0, 0.0, 0.0)
    need, water = [30.0, 55.0, 90.0], [40.0, 45.0, 50.0]
    site = Site(start="2025-01-01T00:00", step="1 h", periods=3)
    site.add("gas", "grid", bus="gas", import_power_max=500, export_power_max=0)
    site.add("need", "load", bus="warm", power=need)
    site.add(
        "boiler",
        "boiler",
        fuel_bus="gas",
        heat_bus="warm",
        rated_capacity=100,
        rated_efficiency=0.9,
        efficiency_curve=str(curve),
        water_temperature=water,
        minimum_part_load=0.2,
        segments=30,
    )
    site.minimise_cost({"gas": 0.08})
    boiler = Boiler(
        rated_capacity=100.0,
        rated_efficiency=0.9,
        minimum_part_load=0.2,
        efficiency_curve=Biquadratic(curve),
    )
    fuel = boiler.operate(need, temperature=water).fuel
    np.testing.assert_allclose(solved(site).boiler_fuel, fuel, rtol=1e-3)


def ventilated(**slots: Any) -> Site:
    site = Site(start="2025-01-01T00:00", step="1 h", periods=4)
    site.add("grid", "grid", bus="site", import_power_max=50, export_power_max=0)
    site.add("fan", "fan", bus="site", rated_flow=10, rated_power=8, **slots)
    site.require("sum(fan_flow[t]*dt(t) for t in T) >= 20[kg/s*h]", over=None)
    site.minimise_cost({"grid": 0.3})
    return site


def test_a_fan_by_the_affinity_laws_runs_evenly() -> None:
    data = solved(ventilated())
    assert problem_class(ventilated()) == "NLP"
    np.testing.assert_allclose(data.fan_flow, 5.0, atol=1e-3)
    np.testing.assert_allclose(data.fan_electric_power, 1.0, atol=1e-3)
    piecewise = solved(ventilated(segments=10))
    gap = piecewise.fan_electric_power.values - 8 * (piecewise.fan_flow.values / 10) ** 3
    assert gap.min() >= -1e-6
    assert gap.max() <= 0.75 * 8 / 10**2


def test_a_fan_by_coefficients_is_the_simulated_one_at_the_ends_of_its_chords() -> None:
    curve = (0.0013, 0.1470, 0.9506, -0.0998)
    data = executed(ventilated(power_curve=str(curve), segments=10, minimum_flow=0.3))
    flow, on = data.fan_flow.values, data.fan_on.values.round()
    fan = PartLoadFan(rated_flow=10.0, rated_power=8.0)
    np.testing.assert_allclose(data.fan_electric_power, fan.power(flow) * on, atol=0.02)
    assert np.all((flow < 1e-6) | (flow >= 3 - 1e-6))


def rejected(heat: list[float], limit: float, **slots: Any) -> Site:
    site = Site(start="2025-07-01T00:00", step="1 h", periods=len(heat))
    site.add("grid", "grid", bus="site", import_power_max=500, export_power_max=0)
    site.add("condenser", "generator_profile", bus="loop", available_power=heat, curtailable=False)
    site.add(
        "tower",
        "cooling_tower",
        bus="site",
        heat_bus="loop",
        rated_water_flow=20,
        rated_fan_power=15,
        water_temperature_max=limit,
        **slots,
    )
    site.minimise_cost({"grid": 0.2})
    return site


def test_a_tower_turns_as_fast_as_the_water_has_to_be_cold() -> None:
    heat, wet = [465.0, 300.0, 600.0], [22.0, 18.0, 20.0]
    site = rejected(heat, 29.0, wet_bulb_temperature=wet)
    assert problem_class(site) == "NLP"
    data = solved(site)
    speed = data.tower_speed.values
    tower = YorkCalcTower(rated_water_flow=20.0, rated_fan_power=15.0)
    out = tower.water_out(heat, wet_bulb=wet, water_flow=20.0, speed=speed)
    np.testing.assert_allclose(data.tower_water_temperature, out, atol=1e-5)
    np.testing.assert_allclose(data.tower_electric_power, tower.fan_power(speed), atol=1e-5)
    np.testing.assert_allclose(data.tower_heat_rejected, heat, atol=1e-5)
    # Fan power is all that costs, so that the water is as warm as it may be.
    np.testing.assert_allclose(out, 29.0, atol=1e-4)
