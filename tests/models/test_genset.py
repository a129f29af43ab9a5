import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from engiagent.models.engines import Genset, GensetState
from engiagent.models.ranges import ParameterError

# Approximate diesel fuel consumption chart of Diesel Service & Supply: gallons per hour at 1/4,
# 1/2, 3/4 and full load, by rated power in kW.
CHART = {100: (2.6, 4.1, 5.8, 7.4), 250: (5.7, 9.5, 13.6, 18.0), 1000: (21.6, 36.4, 52.1, 71.1)}
LITRES = 3.785411784


def diesel(**change: float) -> Genset:
    return Genset(
        **{
            "rated_power": 100.0,
            "fuel_no_load": 4.0,
            "fuel_slope": 0.2,
            "fuel_quadratic": 4e-4,
            "heating_value": 9.96,
            **change,
        }
    )


@pytest.mark.parametrize("rated", CHART)
def test_the_published_consumption_chart(rated: int) -> None:
    power = rated * np.array([0.25, 0.5, 0.75, 1.0])
    litres = LITRES * np.array(CHART[rated])
    columns = np.column_stack((np.ones(4), power / rated, (power / rated) ** 2))
    none, slope, square = nnls(columns, litres)[0] / [1.0, rated, rated**2]
    genset = Genset(
        rated_power=rated,
        fuel_no_load=none,
        fuel_slope=slope,
        fuel_quadratic=square,
        heating_value=9.96,
    )
    # Four points and three coefficients: within 1 % of a chart rounded to a tenth of a gallon.
    missed = np.abs(genset.fuel_rate(power, True) - litres)
    assert (missed <= 0.05 * LITRES + 0.01 * litres).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.booleans())
def test_excess_is_that_of_the_loop_over_time(seed: int, length: int, first: bool) -> None:
    rng = np.random.default_rng(seed)
    genset = diesel(ramp_up=40.0, ramp_down=60.0, minimum_up_hours=2.0, minimum_down_hours=3.0)
    on = rng.random(length) < 0.5
    power, hours = np.where(on, rng.uniform(20, 100, length), 0.0), rng.uniform(0.1, 2, length)
    excess = genset.excess(power, on, hours, GensetState(running=first, power=50.0, hours=1.5))
    was, before, lasted, last = first, 50.0, 1.5, hours[0]
    for n in range(length):
        short = (2.0 if was else 3.0) - lasted if on[n] != was else 0.0
        assert excess.too_short[n] == pytest.approx(max(short, 0.0), abs=1e-9)
        rise, between = power[n] - before, 0.5 * (hours[n] + last)
        over = max(rise - 40.0 * between, -rise - 60.0 * between, 0.0) if on[n] and was else 0.0
        assert excess.ramp[n] == pytest.approx(over, abs=1e-9)
        lasted = lasted + hours[n] if on[n] == was else hours[n]
        was, before, last = bool(on[n]), power[n], hours[n]


def test_what_happened_before_the_horizon_counts() -> None:
    genset = diesel(minimum_up_hours=4.0, ramp_down=10.0)
    state = GensetState(running=True, power=80.0, hours=2.5)
    stopped = genset.excess([0.0, 0.0], [0, 0], 1.0, state)
    assert stopped.too_short.tolist() == [1.5, 0.0]
    slowed = genset.excess([50.0, 50.0], [1, 1], 1.0, state)
    assert slowed.ramp.tolist() == [20.0, 0.0]


def test_tenths_of_hours_that_add_up_are_long_enough() -> None:
    genset = diesel(minimum_up_hours=0.3)
    on = [1, 1, 1, 0]
    assert not genset.excess([50.0, 50.0, 50.0, 0.0], on, 0.1).too_short.any()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rated_power": 0.0}, "above 0 kW"),
        ({"fuel_slope": 0.05, "fuel_no_load": 0.0, "fuel_quadratic": 0.0}, "efficiency of 2"),
        ({"minimum_load": 30.0}, "at most 1"),
        ({"ramp_up": 0.0}, "above 0 kW/h"),
        ({"start_fuel": float("nan")}, "nan"),
    ],
)
def test_impossible_parameters_are_refused(change: dict[str, float], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        diesel(**change)
