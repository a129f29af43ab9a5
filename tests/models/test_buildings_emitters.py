import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from engiagent.models.buildings.emitters import Radiator, log_mean
from engiagent.models.hvac.water import SPECIFIC_HEAT
from engiagent.models.ranges import ParameterError


@settings(deadline=None, max_examples=40)
@given(st.floats(0.001, 1.0), st.floats(25.0, 90.0), st.floats(5.0, 24.0), st.floats(1.0, 1.6))
def test_a_radiator_gives_what_water_and_characteristic_agree_on(
    flow: float, supply: float, room: float, exponent: float
) -> None:
    radiator = Radiator(nominal_power=1.5, exponent=exponent)
    gap = supply - room

    def lack(back: float) -> float:
        mean = (gap - back) / np.log(gap / back)
        lm = 10.0 / np.log(55.0 / 45.0)
        return float(1.5 * (mean / lm) ** exponent - flow * SPECIFIC_HEAT * (gap - back))

    # The logarithm of the return's difference, which may be tiny where little flows.
    back = float(
        np.exp(
            brentq(
                lambda x: lack(np.exp(x)), np.log(gap) - 600.0, np.log(gap * (1 - 1e-9)), xtol=1e-14
            )
        )
    )
    result = radiator.emission(flow, supply, room)
    assert result.heat == pytest.approx(flow * SPECIFIC_HEAT * (gap - back), rel=1e-6)
    assert result.return_temperature == pytest.approx(room + back, abs=1e-6)


def test_limits_of_a_radiator() -> None:
    radiator = Radiator(nominal_power=[1.0, 2.0])
    still = radiator.emission(0.0, 60.0, 20.0)
    assert still.heat.tolist() == [0.0, 0.0]
    assert still.return_temperature.tolist() == [20.0, 20.0]
    much = radiator.emission(1e4, 60.0, 20.0)
    assert much.heat == pytest.approx(radiator.characteristic(40.0), rel=1e-4)
    warm, cool = radiator.emission(0.05, 50.0, 20.0), radiator.emission(0.05, -10.0, 20.0)
    assert cool.heat == pytest.approx(-warm.heat)
    with pytest.raises(ParameterError, match="do not fall"):
        Radiator(nominal_power=1.0, nominal_return=80.0)
    # Manufacturers' factor for 55/45/20 at n = 1.3 against 75/65/20: 0.51 (EN 442 tables).
    assert Radiator(nominal_power=1.0).characteristic(log_mean(35.0, 25.0)) == pytest.approx(
        0.51, abs=0.01
    )
