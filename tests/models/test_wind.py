from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from windpowerlib import power_output as their_power

from engiagent.models.ranges import ParameterError
from engiagent.models.renewables import WindTurbine

# Enercon E-82/2000 as of its data sheet, 2 to 25 m/s.
SPEEDS = tuple(float(speed) for speed in range(2, 26))
POWERS = (3, 25, 82, 174, 321, 532, 815, 1180, 1580, 1810, 1980, *(2050,) * 13)
TURBINE = WindTurbine(speeds=SPEEDS, powers=tuple(float(power) for power in POWERS))
WINDS = np.linspace(0.0, 30.0, 301)


def test_power_is_that_of_windpowerlib_on_the_curve() -> None:
    theirs = their_power.power_curve(WINDS, np.array(SPEEDS), np.array(POWERS, dtype=float))
    assert TURBINE.power(WINDS) == pytest.approx(np.asarray(theirs), rel=1e-12)


def test_thin_air_moves_the_speed() -> None:
    thin = 1.225 * 0.8
    assert TURBINE.power(9.0, thin) == pytest.approx(TURBINE.power(9.0 * 0.8 ** (1 / 3)), rel=1e-12)
    assert TURBINE.power(20.0, thin) == TURBINE.power(20.0)


def test_a_storm_stops_the_turbine_until_the_wind_is_down() -> None:
    turbine = WindTurbine(speeds=SPEEDS, powers=TURBINE.powers, restart_speed=20.0)
    wind = np.array([24.0, 26.0, 24.0, 21.0, 20.0, 19.9, 24.0, 25.0])
    running = turbine.running(wind)
    assert running.tolist() == [True, False, False, False, False, True, True, True]
    assert (turbine.power(wind, running=running) > 0).tolist() == running.tolist()
    assert TURBINE.running(wind).tolist() == [True, False, *[True] * 6]


@settings(deadline=None)
@given(st.lists(st.floats(0, 35), min_size=1, max_size=60), st.floats(2, 25))
def test_running_is_the_loop_over_time(wind: list[float], restart: float) -> None:
    turbine = WindTurbine(speeds=SPEEDS, powers=TURBINE.powers, restart_speed=restart)
    expected, state = [], True
    for speed in wind:
        state = False if speed > 25.0 else True if speed < restart else state
        expected.append(state)
    assert turbine.running(wind).tolist() == expected


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: WindTurbine(speeds=(3.0, 3.0), powers=(0.0, 1.0)), "numbers that rise"),
        (lambda: WindTurbine(speeds=(3.0, 4.0), powers=(0.0,)), "one for each"),
        (lambda: WindTurbine(speeds=(3.0, 4.0), powers=(0.0, -1.0)), "at least 0 kW"),
        (
            lambda: WindTurbine(speeds=(3.0, 9.0), powers=(0.0, 1.0), restart_speed=20.0),
            "at most 9",
        ),
        (lambda: TURBINE.power(-1.0), "at least 0 m/s"),
    ],
)
def test_what_means_nothing_is_refused(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()
