import numpy as np
import pvlib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.ranges import ParameterError
from engiagent.models.renewables import PvArray

SUN = np.linspace(0.0, 1300.0, 40)[:, None, None]
AIR = np.linspace(-30.0, 45.0, 11)[None, :, None]
WIND = np.array([0.0, 1.0, 4.0, 15.0])[None, None, :]


def test_cell_temperature_is_pvlibs_faiman_model() -> None:
    array = PvArray(dc_capacity=1.0, heat_loss=22.0, heat_loss_by_wind=5.0)
    theirs = pvlib.temperature.faiman(SUN, AIR, WIND, 22.0, 5.0)
    assert array.cell_temperature(SUN, AIR, WIND) == pytest.approx(theirs, rel=1e-12)


def test_powers_are_pvlibs_pvwatts() -> None:
    array = PvArray(
        dc_capacity=130.0,
        ac_capacity=90.0,
        temperature_coefficient=-0.0035,
        losses=0.1,
        inverter_efficiency=0.97,
    )
    cell = pvlib.temperature.faiman(SUN, AIR, WIND)
    dc = pvlib.pvsystem.pvwatts_dc(SUN, cell, 130.0, -0.0035) * 0.9
    ac = pvlib.inverter.pvwatts(dc, 90.0 / 0.97, 0.97)
    assert array.dc_power(SUN, cell) == pytest.approx(dc, rel=1e-12)
    power = array.power(SUN, AIR, WIND)
    assert power == pytest.approx(np.maximum(ac, 0.0), rel=1e-12, abs=1e-12)
    assert power.max() == 90.0


@settings(deadline=None)
@given(st.floats(0, 1500), st.floats(-40, 50), st.floats(0, 30), st.floats(1, 200))
def test_no_power_comes_from_nowhere(sun: float, air: float, wind: float, rating: float) -> None:
    array = PvArray(dc_capacity=100.0, ac_capacity=rating)
    power = float(array.power(sun, air, wind))
    direct = float(array.dc_power(sun, array.cell_temperature(sun, air, wind)))
    assert 0.0 <= power <= min(rating, direct + 1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"dc_capacity": -1.0}, "above 0 kW"),
        ({"temperature_coefficient": -0.4}, "at least -0.02"),
        ({"losses": 14.0}, "below 1"),
        ({"inverter_efficiency": 96.0}, "96.0 % is 0.96"),
    ],
)
def test_impossible_parameters_are_refused(change: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        PvArray(**{"dc_capacity": 1.0, **change})
