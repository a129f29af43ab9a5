from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.battery import Battery
from engiagent.models.ev import Sessions, Vehicle
from engiagent.models.ranges import ParameterError

CAR = Vehicle(
    energy_capacity=50.0,
    charge_power_max=11.0,
    discharge_power_max=5.0,
    charge_efficiency=0.93,
    discharge_efficiency=0.9,
    minimum_energy=5.0,
)


def random_sessions(rng: np.random.Generator, horizon: float) -> Sessions:
    """Sessions with gaps of at least an hour, some of which reach beyond the horizon."""
    rows, at = [], float(rng.uniform(-3, 4))
    while at < horizon:
        end = at + float(rng.uniform(1, 8))
        rows.append((at, end, rng.uniform(5, 30), rng.uniform(0, 45)))
        at = end + float(rng.uniform(1.0, 5))
    return Sessions(*rng.permutation(rows).T)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.25, 0.5, 1.0, 0.1]))
def test_availability_is_the_overlap_with_each_period(seed: int, step: float) -> None:
    sessions = random_sessions(np.random.default_rng(seed), 24.0)
    count = round(24 / step)
    expected, edges = np.zeros(count), step * np.arange(count + 1)
    for a, d in zip(sessions.arrival, sessions.departure, strict=True):
        overlap = np.minimum(d, edges[1:]) - np.maximum(a, edges[:-1])
        expected += np.maximum(overlap, 0.0) / step
    assert sessions.availability(count, step) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_every_session_is_a_battery_of_its_own(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sessions, step, count = random_sessions(rng, 24.0), 0.5, 48
    charge, discharge = rng.uniform(0, 7, (2, count)) * (sessions.availability(count, step) > 0)
    path = CAR.simulate(sessions, charge, discharge, step)
    battery = Battery(energy_capacity=1e6, charge_efficiency=0.93, discharge_efficiency=0.9)
    away = np.ones(count + 1, dtype=bool)
    for number, arrived in enumerate(sessions.arrival_energy):
        begin = max(int(np.floor(sessions.arrival[number] / step)), 0)
        end = int(np.ceil(sessions.departure[number] / step))
        stop = min(end, count)
        if begin >= count or stop <= 0:
            continue
        within = slice(begin, stop)
        energy = battery.simulate(charge[within], discharge[within], step, float(arrived))
        assert path.energy[begin : stop + 1] == pytest.approx(energy, rel=1e-9)
        away[begin : stop + 1] = False
        left = path.departure_energy[number]
        if end <= count:
            assert left == pytest.approx(energy[-1], rel=1e-9)
        else:
            assert np.isnan(left)
    assert np.isnan(path.energy[away]).all()


def test_excess_says_who_leaves_too_empty_and_who_charges_while_away() -> None:
    car = Vehicle(energy_capacity=50.0, charge_power_max=10.0)
    sessions = Sessions([0.0, 3.5], [2.0, 4.0], [20.0, 35.0], [45.0, 38.0])
    excess = car.excess(sessions, [10.0, 12.0, 1.0, 6.0], [0.0, 1.0, 0.0, 0.0], 1.0)
    assert excess.shortfall.tolist() == [4.0, 0.0]
    assert excess.charge.tolist() == [0.0, 2.0, 1.0, 1.0]
    assert excess.discharge.tolist() == excess.both.tolist() == [0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (
            lambda: Vehicle(energy_capacity=5.0, charge_power_max=1.0, minimum_energy=6.0),
            "above the capacity",
        ),
        (lambda: Sessions([2.0], [1.0], [1.0]), "later departure"),
        (lambda: Sessions([0.0, 1.0], [2.0, 3.0], [1.0, 1.0]), "sessions 0 and 1 overlap"),
        (lambda: Sessions([0.0, 1.0], [2.0], [1.0]), "departure has the shape"),
        (
            lambda: CAR.simulate(
                Sessions([0.0, 1.6], [1.5, 3.0], [5.0, 6.0]), np.zeros(4), 0.0, 1.0
            ),
            "share a period of 1 h; give shorter periods",
        ),
        (
            lambda: CAR.simulate(Sessions([0.0], [1.0], [5.0]), np.full(4, -1.0), 0.0, 0.5),
            "at least 0 kW",
        ),
    ],
)
def test_what_means_nothing_is_refused(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()
