"""Economisers, air handlers, VAV boxes and the air of zones."""

import numpy as np
import psychrolib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.models.hvac import moist_air
from engiagent.models.hvac.air_streams import AirStream
from engiagent.models.hvac.vav_box import VavBox
from engiagent.models.ranges import ParameterError

psychrolib.SetUnitSystem(psychrolib.SI)


def air(t: float, rh: float, flow: float = 1.0, p: float = 101_325.0) -> AirStream:
    return AirStream(flow=flow, temperature=t, humidity_ratio=moist_air.humidity_ratio(t, rh, p))


BOX = VavBox(
    flow_min=0.2, flow_cooling_max=1.0, flow_heating_max=0.5, discharge_max=32.0, reheat_max=8.0
)
SUPPLY = AirStream(flow=1.0, temperature=13.0, humidity_ratio=0.008)


@given(st.floats(-1.0, 1.0), st.floats(18.0, 27.0))
def test_a_box_keeps_energy(signal: float, zone: float) -> None:
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
    with pytest.raises(ParameterError, match="give minimum <= maximum"):
        VavBox(flow_min=0.5, flow_cooling_max=0.2)
