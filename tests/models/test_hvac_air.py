"""Economisers, air handlers, VAV boxes and the air of zones."""

import casadi
import numpy as np
import psychrolib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.models.hvac import moist_air
from engiagent.models.hvac.air_handler import CONTROLS, AirHandler, Control, Economiser, cooled
from engiagent.models.hvac.air_streams import AirStream, Humidifier, mix
from engiagent.models.hvac.turbomachines import PartLoadFan
from engiagent.models.hvac.vav_box import VavBox
from engiagent.models.hvac.zone_air import ZoneAir, ZoneAirState
from engiagent.models.ranges import ParameterError

psychrolib.SetUnitSystem(psychrolib.SI)


def air(t: float, rh: float, flow: float = 1.0, p: float = 101_325.0) -> AirStream:
    return AirStream(flow=flow, temperature=t, humidity_ratio=moist_air.humidity_ratio(t, rh, p))


@given(st.floats(-20.0, 13.9), st.floats(0.1, 1.0), st.floats(20.0, 27.0), st.floats(0.1, 0.9))
def test_free_cooling_meets_the_mixed_temperature_exactly(
    out: float, rh_out: float, back: float, rh_back: float
) -> None:
    outdoor, return_air = air(out, rh_out), air(back, rh_back)
    share = Economiser().share(outdoor, return_air, target=14.0)
    mixed = mix(outdoor.with_flow(share), return_air.with_flow(1.0 - share))
    assert mixed.temperature == pytest.approx(14.0, abs=1e-10)


@pytest.mark.parametrize(
    ("control", "outdoor", "more"),
    [
        ("none", air(10.0, 0.5), False),
        ("fixed_dry_bulb", air(20.0, 0.99), True),
        ("fixed_dry_bulb", air(24.5, 0.1), False),
        ("differential_dry_bulb", air(23.5, 0.9), True),
        ("differential_dry_bulb", air(24.5, 0.1), False),
        ("fixed_enthalpy", air(23.0, 0.3), True),
        ("fixed_enthalpy", air(23.9, 0.99), False),
        ("differential_enthalpy", air(26.0, 0.1), True),
        ("differential_enthalpy", air(20.0, 0.99), False),
    ],
)
def test_limits_of_economisers(control: Control, outdoor: AirStream, more: bool) -> None:
    economiser = Economiser(control=control, minimum_share=0.15)
    share = economiser.share(outdoor, air(24.0, 0.5), target=14.0)
    assert (float(share) > 0.15) == more
    assert bool(economiser.enabled(outdoor, air(24.0, 0.5))) == more
    with_floor = Economiser(control=control, minimum_share=0.15, temperature_min=30.0)
    assert with_floor.share(outdoor, air(24.0, 0.5), target=14.0) == 0.15


@given(
    st.sampled_from(CONTROLS),
    st.floats(-20.0, 38.0),
    st.floats(0.05, 1.0),
    st.floats(18.0, 27.0),
    st.floats(0.1, 0.9),
    st.floats(11.0, 32.0),
    st.floats(0.3, 4.0),
    st.sampled_from([0, 2676, 63]),
    st.floats(8e4, 1.04e5),
)
def test_an_air_handler_keeps_air_water_and_energy_and_its_set_point(
    control: Control,
    out: float,
    rh_out: float,
    back: float,
    rh_back: float,
    supply: float,
    flow: float,
    steam: int,
    p: float,
) -> None:
    humidifier = Humidifier(water_enthalpy=steam, feed_enthalpy=42.0) if steam else None
    handler = AirHandler(
        fan=PartLoadFan(rated_flow=4.0, rated_power=6.0),
        economiser=Economiser(control=control, minimum_share=0.2),
        humidifier=humidifier,
    )
    outdoor, return_air = air(out, rh_out, p=p), air(back, rh_back, flow, p)
    done = handler.operate(
        outdoor, return_air, supply_temperature=supply, humidity_ratio_min=0.006, pressure=p
    )
    fresh = outdoor.with_flow(done.exhaust.flow)
    assert done.supply.temperature == pytest.approx(supply, abs=1e-8)
    into = fresh.power + return_air.power + done.heating + done.fan_heat + done.water * steam
    out_of = done.supply.power + done.exhaust.power + done.cooling + done.condensate_power
    scale = abs(float(fresh.power)) + abs(float(return_air.power)) + 10.0
    assert float(into - out_of) == pytest.approx(0.0, abs=1e-9 * scale)
    water = fresh.water + return_air.water + done.water
    assert float(water) == pytest.approx(
        float(done.supply.water + done.exhaust.water + done.condensate), rel=1e-9
    )
    assert min(float(done.heating), float(done.cooling)) == 0.0
    assert done.heating >= 0
    assert done.condensate >= 0
    if steam:
        assert np.asarray(done.supply.humidity_ratio) >= 0.006 - 1e-12


@given(st.floats(20.0, 40.0), st.floats(0.2, 0.95), st.floats(8.0, 20.0), st.floats(0.0, 0.4))
def test_cooling_follows_the_line_to_the_apparatus_dew_point(
    t: float, rh: float, leaving: float, bypass: float
) -> None:
    entering = air(t, rh)
    after, condensate, _ = cooled(entering, leaving, bypass)
    plate = (leaving - bypass * t) / (1 - bypass)
    on_plate = psychrolib.GetSatHumRatio(plate, 101_325.0)
    start = float(np.asarray(entering.humidity_ratio))
    wanted = on_plate + bypass * (start - on_plate) if on_plate < start else start
    assert after.humidity_ratio == pytest.approx(wanted, rel=1e-9)
    assert condensate == pytest.approx(start - wanted, abs=1e-12)


def test_an_air_handler_reports_its_capacities() -> None:
    handler = AirHandler(
        fan=PartLoadFan(rated_flow=2.0, rated_power=1.0), heating_max=5.0, cooling_max=5.0
    )
    hot = handler.operate(air(35.0, 0.4), air(25.0, 0.5, 2.0), supply_temperature=13.0)
    cold = handler.operate(air(-10.0, 0.6), air(20.0, 0.3, 2.0), supply_temperature=30.0)
    assert handler.violations(hot)["cooling"] == pytest.approx(float(hot.cooling) - 5.0)
    assert handler.violations(cold)["heating"] == pytest.approx(float(cold.heating) - 5.0)
    assert handler.violations(hot)["heating"] == 0.0
    assert handler.violations(cold)["cooling"] == 0.0
    with pytest.raises(ParameterError, match="flow of return air is 0 kg/s"):
        handler.operate(air(0.0, 0.5), air(20.0, 0.5, 0.0), supply_temperature=20.0)
    with pytest.raises(ParameterError, match="known are none, fixed_dry_bulb"):
        Economiser(control="enthalpy")  # type: ignore[arg-type]


BOX = VavBox(
    flow_min=0.2, flow_cooling_max=1.0, flow_heating_max=0.5, discharge_max=32.0, reheat_max=8.0
)
SUPPLY = AirStream(flow=1.0, temperature=13.0, humidity_ratio=0.008)


@given(st.floats(-1.0, 1.0), st.floats(18.0, 27.0))
def test_a_box_keeps_energy_and_finds_its_signal(signal: float, zone: float) -> None:
    done = BOX.operate(signal, SUPPLY, zone_temperature=zone)
    supplied = SUPPLY.with_flow(done.discharge.flow)
    assert done.discharge.power == pytest.approx(float(supplied.power + done.reheat), rel=1e-9)
    left = AirStream(flow=done.discharge.flow, temperature=zone, humidity_ratio=0.008)
    assert left.power - done.discharge.power == pytest.approx(float(done.zone_cooling), abs=1e-9)
    back = BOX.signal(done.zone_cooling, SUPPLY, zone_temperature=zone)
    again = BOX.operate(back, SUPPLY, zone_temperature=zone)
    assert again.zone_cooling == pytest.approx(float(done.zone_cooling), abs=1e-9)


def test_dual_maximum_never_reheats_more_than_its_minimum_before_the_air_is_warm() -> None:
    signal = np.linspace(-1, 1, 201)
    done = BOX.operate(signal, SUPPLY, zone_temperature=22.0)
    flow, warm = np.asarray(done.discharge.flow), np.asarray(done.discharge.temperature)
    assert (np.diff(done.zone_cooling) >= 0).all()
    assert (flow[(signal >= -0.5) & (signal <= 0)] == 0.2).all()
    assert warm[signal <= -0.5] == pytest.approx(32.0)
    assert (flow[0], flow[-1]) == (0.5, 1.0)
    assert (done.reheat[signal >= 0] == 0).all()
    over = BOX.violations(done)
    assert over.max() == pytest.approx(float(done.reheat.max()) - 8.0)
    assert BOX.signal([-50.0, 50.0], SUPPLY, zone_temperature=22.0).tolist() == [-1.0, 1.0]
    with pytest.raises(ParameterError, match="give temperatures in this order"):
        BOX.signal(1.0, SUPPLY, zone_temperature=10.0)
    with pytest.raises(ParameterError, match="give minimum <= maximum"):
        VavBox(flow_min=0.5, flow_cooling_max=0.2)


@given(st.integers(0, 2**32 - 1))
def test_the_air_of_zones_keeps_energy_water_and_gas(seed: int) -> None:
    rng = np.random.default_rng(seed)
    zone = ZoneAir(dry_air=rng.uniform(50, 2000, 2))
    hours = rng.uniform(0.05, 1.0, 12)
    flows = rng.choice([0.0, 1.0], (2, 12, 2)) * rng.uniform(0, 0.5, (2, 12, 2))
    streams = [
        AirStream(flow=flow, temperature=rng.uniform(10, 35, (12, 2)), humidity_ratio=0.007)
        for flow in flows
    ]
    heat, water = rng.uniform(-2, 2, (12, 2)), rng.uniform(0, 1e-4, (12, 2))
    path = zone.simulate(
        ZoneAirState(temperature=22.0, humidity_ratio=0.008, trace=6e-4),
        streams,
        step_hours=hours,
        heat=heat,
        water=water,
        trace=1e-6,
        stream_traces=[6e-4, 7e-4],
    )
    seconds, mass = hours[:, None] * 3600, np.asarray(zone.dry_air)
    total = flows.sum(axis=0)
    enthalpy = moist_air.enthalpy(path.temperature, path.humidity_ratio)
    into = sum(s.power for s in streams) + heat + water * 2568.0 - total * path.mean_enthalpy
    assert mass * np.diff(enthalpy, axis=0) == pytest.approx(into * seconds, rel=1e-9, abs=1e-6)
    moist = sum(s.water for s in streams) + water - total * path.mean_humidity_ratio
    assert mass * np.diff(path.humidity_ratio, axis=0) == pytest.approx(
        moist * seconds, rel=1e-9, abs=1e-10
    )
    gas = 6e-4 * flows[0] + 7e-4 * flows[1] + 1e-6 - total * path.mean_trace
    assert mass * np.diff(path.trace, axis=0) == pytest.approx(gas * seconds, rel=1e-9, abs=1e-10)


def test_the_air_of_a_zone_is_cvodes_and_settles_at_its_balance() -> None:
    zone, inflow = ZoneAir.of_volume(100.0), air(16.0, 0.7, 0.12)
    start = ZoneAirState(temperature=26.0, humidity_ratio=0.011)
    after = zone.step(start, [inflow], step_hours=0.3, heat=0.8, water=5e-5).state
    h, w = casadi.MX.sym("h"), casadi.MX.sym("w")
    mass = float(np.asarray(zone.dry_air))
    ratio = float(np.asarray(inflow.humidity_ratio))
    rate = casadi.vertcat(
        0.12 * (float(inflow.enthalpy) - h) + 0.8 + 5e-5 * 2568.0, 0.12 * (ratio - w) + 5e-5
    )
    method = casadi.integrator(
        "s",
        "cvodes",
        {"x": casadi.vertcat(h, w), "ode": rate / mass},
        0.0,
        1080.0,
        {"abstol": 1e-12, "reltol": 1e-12},
    )
    end = np.asarray(method(x0=[float(start.enthalpy), 0.011])["xf"]).ravel()
    assert after.enthalpy == pytest.approx(end[0], rel=1e-8)
    assert after.humidity_ratio == pytest.approx(end[1], rel=1e-8)
    late = zone.step(start, [inflow], step_hours=500.0, heat=0.8, water=5e-5).state
    assert late.humidity_ratio == pytest.approx(ratio + 5e-5 / 0.12, rel=1e-9)
    assert late.enthalpy == pytest.approx(
        float(inflow.enthalpy) + (0.8 + 5e-5 * 2568.0) / 0.12, rel=1e-9
    )
    with pytest.raises(ParameterError, match="1 streams have 2 traces"):
        zone.step(start, [inflow], step_hours=1.0, stream_traces=[0.0, 0.0])
