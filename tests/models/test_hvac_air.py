"""VAV boxes with reheat under dual-maximum control."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.models.hvac.moist_air import enthalpy
from engiagent.models.hvac.vav_box import VavBox
from engiagent.models.ranges import ParameterError

BOX = VavBox(
    flow_min=0.2, flow_cooling_max=1.0, flow_heating_max=0.5, discharge_max=32.0, reheat_max=8.0
)
SUPPLY = {"supply_temperature": 13.0, "humidity_ratio": 0.008}


@given(st.floats(-1.0, 1.0), st.floats(18.0, 27.0))
def test_a_box_keeps_energy(signal: float, zone: float) -> None:
    done = BOX.operate(signal, **SUPPLY, zone_temperature=zone)
    supplied, blown, left = (done.flow * enthalpy(t, 0.008) for t in (13.0, done.temperature, zone))
    assert blown == pytest.approx(float(supplied + done.reheat), rel=1e-9)
    assert left - blown == pytest.approx(float(done.zone_cooling), abs=1e-9)
    back = BOX.signal(done.zone_cooling, **SUPPLY, zone_temperature=zone)
    again = BOX.operate(back, **SUPPLY, zone_temperature=zone)
    assert again.zone_cooling == pytest.approx(float(done.zone_cooling), abs=1e-9)


def test_dual_maximum_never_reheats_more_than_its_minimum_before_the_air_is_warm() -> None:
    signal = np.linspace(-1, 1, 201)
    done = BOX.operate(signal, **SUPPLY, zone_temperature=22.0)
    flow, warm = done.flow, done.temperature
    assert (np.diff(done.zone_cooling) >= 0).all()
    assert (flow[(signal >= -0.5) & (signal <= 0)] == 0.2).all()
    assert warm[signal <= -0.5] == pytest.approx(32.0)
    assert (flow[0], flow[-1]) == (0.5, 1.0)
    assert (done.reheat[signal >= 0] == 0).all()
    with pytest.raises(ParameterError, match="give minimum <= maximum"):
        VavBox(flow_min=0.5, flow_cooling_max=0.2)
