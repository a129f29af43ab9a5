import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from engiagent.models.genset import Booleans, Genset, GensetState
from engiagent.models.ranges import Floats, ParameterError

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
            "emission_factor": 2.64,
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


def loop(
    power: Floats, on: Booleans, hours: Floats, running: bool, lasted: float
) -> tuple[list[float], list[bool], list[float]]:
    """A second route: one period after another."""
    was, fuel, starts, states = running, [], [], [lasted]
    for p, u, h in zip(power, on, hours, strict=True):
        start = u and not was
        rate = 4.0 + 0.2 * p + 4e-4 * p * p
        fuel.append((rate * h if u else 0.0) + 3.0 * start)
        starts.append(bool(start))
        lasted = lasted + h if u == was else h
        states.append(lasted)
        was = u
    return fuel, starts, states


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.booleans())
def test_a_path_is_the_loop_over_time(seed: int, length: int, first: bool) -> None:
    rng = np.random.default_rng(seed)
    genset = diesel(start_fuel=3.0)
    on = rng.random(length) < 0.5
    power, hours = np.where(on, rng.uniform(20, 100, length), 0.0), rng.uniform(0.1, 2, length)
    state = GensetState(running=first, hours=1.5)
    path = genset.simulate(power, on, hours, state)
    fuel, starts, lasted = loop(power, on, hours, first, 1.5)
    assert path.fuel == pytest.approx(fuel, rel=1e-9)
    assert path.starts.tolist() == starts
    assert path.hours == pytest.approx(lasted, rel=1e-9)
    assert path.emissions == pytest.approx(2.64 * path.fuel)
    both = genset.simulate(np.column_stack((power, power)), np.column_stack((on, on)), hours, state)
    assert both.fuel[:, 1].tolist() == path.fuel.tolist()


def test_excess_names_every_limit_that_is_left() -> None:
    genset = diesel(
        minimum_load=0.3, ramp_up=40.0, ramp_down=60.0, minimum_up_hours=2.0, minimum_down_hours=3.0
    )
    power = [20.0, 70.0, 110.0, 0.0, 0.0, 50.0, 0.0, 5.0]
    on = [1, 1, 1, 0, 0, 1, 0, 0]
    excess = genset.excess(power, on, 1.0)
    assert excess.below_minimum.tolist() == [10.0, 0, 0, 0, 0, 0, 0, 0]
    assert excess.above_rated.tolist() == [0, 0, 10.0, 0, 0, 0, 0, 0]
    assert excess.ramp.tolist() == [0, 10.0, 0, 0, 0, 0, 0, 0]
    assert excess.too_short.tolist() == [0, 0, 0, 0, 0, 1.0, 1.0, 0]
    assert excess.while_standing.tolist() == [0] * 7 + [5.0]


def test_what_happened_before_the_horizon_counts() -> None:
    genset = diesel(minimum_up_hours=4.0, ramp_down=10.0)
    state = GensetState(running=True, power=80.0, hours=2.5)
    stopped = genset.excess([0.0, 0.0], [0, 0], 1.0, state)
    assert stopped.too_short.tolist() == [1.5, 0.0]
    slowed = genset.excess([50.0, 50.0], [1, 1], 1.0, state)
    assert slowed.ramp.tolist() == [20.0, 0.0]
    assert not genset.simulate([50.0], [1], 1.0, state).starts.any()


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


def test_plans_that_mean_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="neither 0 nor 1"):
        diesel().simulate([1.0, 2.0], [0.5, 1.0], 1.0)
    with pytest.raises(ParameterError, match="give both the shape"):
        diesel().simulate([1.0, 2.0], [1.0], 1.0)
    with pytest.raises(ParameterError, match="at least 0 kW"):
        diesel().simulate([-1.0], [1.0], 1.0)
