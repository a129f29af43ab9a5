"""Effectiveness, coils, mixing and humidifying."""

import ht
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from engiagent.models.hvac import moist_air
from engiagent.models.hvac.air_streams import AirStream, heated, mix
from engiagent.models.hvac.coil import ARRANGEMENTS, Arrangement, Coil, effectiveness, exchange
from engiagent.models.ranges import ParameterError

IN_HT = {"counter": "counterflow", "parallel": "parallel", "cross": "crossflow approximate"}
COIL = Coil(air_conductance=4.0, water_conductance=8.0, rated_air_flow=2.0, rated_water_flow=1.0)


@pytest.mark.parametrize("arrangement", ARRANGEMENTS)
def test_effectiveness_is_that_of_the_ht_library(arrangement: Arrangement) -> None:
    for ntu in (0.01, 0.3, 1.0, 3.0, 9.0):
        for ratio in (0.01, 0.3, 0.99, 1.0):
            theirs = ht.effectiveness_from_NTU(ntu, ratio, IN_HT[arrangement])  # type: ignore[no-untyped-call]
            assert float(effectiveness(ntu, ratio, arrangement)) == pytest.approx(theirs, rel=1e-12)


@given(
    st.floats(0.0, 50.0),
    st.floats(0.0, 10.0),
    st.floats(0.0, 10.0),
    st.floats(-10.0, 90.0),
    st.floats(-10.0, 90.0),
    st.sampled_from(ARRANGEMENTS),
)
def test_an_exchanger_keeps_energy_and_the_second_law(
    size: float, hot: float, cold: float, warm: float, cool: float, arrangement: Arrangement
) -> None:
    got = exchange(size, hot, cold, warm, cool, arrangement)
    assert hot * (warm - got.hot_out) == pytest.approx(float(got.heat), rel=1e-9, abs=1e-9)
    assert cold * (got.cold_out - cool) == pytest.approx(float(got.heat), rel=1e-9, abs=1e-9)
    low, high = min(warm, cool) - 1e-9, max(warm, cool) + 1e-9
    assert low <= got.hot_out <= high
    assert low <= got.cold_out <= high


@given(
    st.floats(0.1, 20.0),
    st.floats(2.0, 40.0),
    st.floats(0.0, 1.0),
    st.floats(0.0, 5.0),
    st.floats(1.0, 60.0),
    st.floats(6e4, 1.05e5),
)
def test_a_coil_keeps_energy_and_water(
    flow: float, t: float, rh: float, water: float, inlet: float, p: float
) -> None:
    air = AirStream(flow=flow, temperature=t, humidity_ratio=moist_air.humidity_ratio(t, rh, p))
    got = COIL.operate(air, water_flow=water, water_in=inlet, pressure=p)
    scale = max(1.0, abs(float(air.power)))
    lost = air.power - got.air.power - got.condensate_power
    assert float(lost - got.heat) == pytest.approx(0.0, abs=1e-9 * scale)
    assert water * 4.186 * (got.water_out - inlet) == pytest.approx(
        float(got.heat) if water else 0.0, abs=1e-9 * scale
    )
    assert air.water - got.air.water == pytest.approx(float(got.condensate), abs=1e-12 * flow)
    assert got.condensate >= 0
    assert got.air.in_fog(p) <= 2e-4  # the straight line to the surface may cut the curve


def integrated_wet_coil(air: AirStream, water_out: float) -> float:
    """Return the inlet of the water by the differential equations, marched from its outlet."""
    outer, inner = (float(x) for x in COIL.conductances(air.flow, 1.0))
    flow, capacity = float(air.flow), float(moist_air.heat_capacity(air.humidity_ratio))  # type: ignore[arg-type]

    def surface(h: float, t: float) -> float:
        low, high = t, 60.0
        for _ in range(40):
            mid = 0.5 * (low + high)
            drive = outer / capacity * (h - float(moist_air.saturated_enthalpy(mid)))
            low, high = (mid, high) if drive > inner * (mid - t) else (low, mid)
        return low

    def slope(_x: float, y: np.ndarray) -> list[float]:
        heat = inner * (surface(y[0], y[1]) - y[1])
        return [-heat / flow, -heat / 4.186]

    end = solve_ivp(slope, (0.0, 1.0), [float(air.enthalpy), water_out], rtol=1e-5).y[:, -1]
    return float(end[1])


@pytest.mark.parametrize(("t", "rh"), [(27.0, 0.6), (32.0, 0.8), (24.0, 0.9)])
def test_a_wet_coil_is_near_the_integral_of_its_equations(t: float, rh: float) -> None:
    air = AirStream(flow=2.0, temperature=t, humidity_ratio=moist_air.humidity_ratio(t, rh))
    got = COIL.operate(air, water_flow=1.0, water_in=7.0)
    assert got.wet
    total = float(got.heat + got.condensate_power)
    out = brentq(lambda x: integrated_wet_coil(air, x) - 7.0, 8.0, 25.0, xtol=1e-3)
    # A mean slope of the saturation line for the true one: Braun found errors of a few percent.
    assert total == pytest.approx(4.186 * (out - 7.0), rel=0.035)


def test_a_coil_above_the_dew_point_is_dry_and_sensible() -> None:
    air = AirStream(flow=2.0, temperature=26.0, humidity_ratio=0.008)
    got = COIL.operate(air, water_flow=1.0, water_in=14.0)
    overall = 1 / (1 / 4 + 1 / 8)
    assert not got.wet
    assert got.heat == pytest.approx(
        float(exchange(overall, air.heat_rate, 4.186, 26.0, 14.0).heat), rel=1e-12
    )


@given(
    st.lists(
        st.tuples(st.floats(0.0, 9.0), st.floats(-30.0, 45.0), st.floats(0.0, 1.0)),
        min_size=1,
        max_size=5,
    )
)
def test_mixing_keeps_air_water_and_energy(parts: list[tuple[float, float, float]]) -> None:
    streams = [
        AirStream(flow=m, temperature=t, humidity_ratio=moist_air.humidity_ratio(t, rh))
        for m, t, rh in parts
    ]
    total = sum(m for m, _, _ in parts)
    if total < 1e-6:
        return
    mixed = mix(*streams)
    scale = sum(abs(float(s.power)) for s in streams) + 1e-12
    assert mixed.power == pytest.approx(float(sum(s.power for s in streams)), abs=1e-9 * scale)
    assert mixed.water == pytest.approx(float(sum(s.water for s in streams)), rel=1e-9, abs=1e-15)
    temperature = float(np.asarray(mixed.temperature))
    assert min(t for _, t, _ in parts) - 1.0 <= temperature
    assert temperature <= max(t for _, t, _ in parts) + 1e-9


def test_saturated_cold_and_warm_air_mix_to_fog_and_say_so() -> None:
    cold, warm = (
        AirStream(flow=1.0, temperature=t, humidity_ratio=moist_air.saturation_humidity_ratio(t))
        for t in (0.0, 30.0)
    )
    assert mix(cold, warm).in_fog() > 1e-3
    with pytest.raises(ParameterError, match="has no flow"):
        mix(cold.with_flow(0.0))
    with pytest.raises(ParameterError, match="does not flow"):
        heated(cold.with_flow(0.0), 1.0)


def test_bad_parameters_say_what_to_give() -> None:
    with pytest.raises(ParameterError, match="side of the air is 0 kW/K; give a number above 0"):
        Coil(air_conductance=0.0, water_conductance=1.0, rated_air_flow=1.0, rated_water_flow=1.0)
    with pytest.raises(ParameterError, match="the arrangement is 'u'; known are counter"):
        effectiveness(1.0, 0.5, "u")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match=r"humidity ratio is -0\.001 kg/kg"):
        AirStream(flow=1.0, temperature=20.0, humidity_ratio=-0.001)
