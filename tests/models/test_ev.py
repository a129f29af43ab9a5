from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.battery import Battery
from engiagent.models.ev import EvFleet, Sessions
from engiagent.models.ranges import ParameterError


def random_sessions(rng: np.random.Generator, vehicles: int, horizon: float) -> Sessions:
    """Sessions with gaps of at least an hour, some of which reach beyond the horizon."""
    rows = []
    for vehicle in range(vehicles):
        at = float(rng.uniform(-3, 4))
        while at < horizon:
            end = at + float(rng.uniform(1, 8))
            rows.append((vehicle, at, end, rng.uniform(5, 30), rng.uniform(0, 45)))
            at = end + float(rng.uniform(1.0, 5))
    order = rng.permutation(len(rows))
    columns = [np.array(column)[order] for column in zip(*rows, strict=True)]
    names = ("vehicle", "arrival", "departure", "arrival_energy", "required_energy")
    return Sessions(**dict(zip(names, columns, strict=True)))


def fleet(**change: npt.ArrayLike) -> EvFleet:
    return EvFleet(
        **{
            "energy_capacity": [50.0, 60.0, 40.0],
            "charge_power_max": [11.0, 22.0, 7.4],
            "discharge_power_max": [11.0, 0.0, 5.0],
            "charge_efficiency": 0.93,
            "discharge_efficiency": 0.9,
            "minimum_energy": 5.0,
            **change,
        }
    )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.25, 0.5, 1.0, 0.1]))
def test_availability_is_the_overlap_with_each_period(seed: int, step: float) -> None:
    sessions = random_sessions(np.random.default_rng(seed), 3, 24.0)
    count = round(24 / step)
    expected = np.zeros((count, 3))
    edges = step * np.arange(count + 1)
    rows = (np.asarray(v) for v in (sessions.vehicle, sessions.arrival, sessions.departure))
    for vehicle, a, d in zip(*rows, strict=True):
        overlap = np.minimum(d, edges[1:]) - np.maximum(a, edges[:-1])
        expected[:, vehicle] += np.maximum(overlap, 0.0) / step
    assert sessions.availability(count, 3, step) == pytest.approx(expected, abs=1e-9)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_every_session_is_a_battery_of_its_own(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sessions, step, count = random_sessions(rng, 3, 24.0), 0.5, 48
    cars = fleet()
    plugged = sessions.availability(count, 3, step) > 0
    charge, discharge = rng.uniform(0, 7, (2, count, 3)) * plugged
    path = cars.simulate(sessions, charge, discharge, step)
    battery = Battery(energy_capacity=1e6, charge_efficiency=0.93, discharge_efficiency=0.9)
    away = np.ones((count + 1, 3), dtype=bool)
    arrival, departure = np.asarray(sessions.arrival), np.asarray(sessions.departure)
    arrived = np.asarray(sessions.arrival_energy)
    for number, vehicle in enumerate(np.asarray(sessions.vehicle).tolist()):
        begin = max(int(np.floor(arrival[number] / step)), 0)
        end = int(np.ceil(departure[number] / step))
        stop = min(end, count)
        if begin >= count or stop <= 0:
            continue
        energy = battery.simulate(
            charge[begin:stop, vehicle],
            discharge[begin:stop, vehicle],
            step,
            float(arrived[number]),
        )
        assert path.energy[begin : stop + 1, vehicle] == pytest.approx(energy, rel=1e-9)
        away[begin : stop + 1, vehicle] = False
        left = path.departure_energy[number]
        if end <= count:
            assert left == pytest.approx(energy[-1], rel=1e-9)
        else:
            assert np.isnan(left)
    assert np.isnan(path.energy[away]).all()


def test_excess_says_who_leaves_too_empty_and_who_charges_while_away() -> None:
    cars = EvFleet(energy_capacity=[50.0, 40.0], charge_power_max=10.0)
    sessions = Sessions(
        vehicle=[0, 1],
        arrival=[0.0, 1.5],
        departure=[2.0, 4.0],
        arrival_energy=[20.0, 35.0],
        required_energy=[45.0, 38.0],
    )
    charge = [[10.0, 4.0], [12.0, 6.0], [0.0, 5.0], [1.0, 0.0]]
    excess = cars.excess(sessions, charge, 0.0, 1.0)
    assert excess.shortfall.tolist() == [3.0, 0.0]
    assert excess.charge.tolist() == [[0.0, 4.0], [2.0, 1.0], [0.0, 0.0], [1.0, 0.0]]
    assert excess.above[:, 1].tolist() == [0.0, 0.0, 1.0, 6.0, 6.0]
    assert not excess.both.any()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: fleet(charge_power_max=[1.0, 2.0]), "one for each of 3"),
        (lambda: fleet(minimum_energy=45.0), "above the capacity"),
        (lambda: EvFleet(energy_capacity=50.0, charge_power_max=1.0), "one for each vehicle"),
        (
            lambda: Sessions(vehicle=[0], arrival=[2.0], departure=[1.0], arrival_energy=[1.0]),
            "later departure",
        ),
        (
            lambda: Sessions(
                vehicle=[0, 0], arrival=[0.0, 1.0], departure=[2.0, 3.0], arrival_energy=[1.0, 1.0]
            ),
            "sessions 0 and 1 of vehicle 0 overlap",
        ),
        (
            lambda: Sessions(vehicle=[0.5], arrival=[0.0], departure=[2.0], arrival_energy=[1.0]),
            "not a whole number",
        ),
        (
            lambda: Sessions(
                vehicle=[0, 1], arrival=[0.0, 1.0], departure=[2.0], arrival_energy=[1.0]
            ),
            "departure has the shape",
        ),
    ],
)
def test_what_means_nothing_is_refused(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()


def test_sessions_that_no_period_tells_apart_are_refused() -> None:
    sessions = Sessions(
        vehicle=[0, 0], arrival=[0.0, 1.6], departure=[1.5, 3.0], arrival_energy=[5.0, 6.0]
    )
    cars = EvFleet(energy_capacity=[50.0], charge_power_max=10.0)
    with pytest.raises(ParameterError, match="share a period of 1 h; give shorter periods"):
        cars.simulate(sessions, np.zeros((4, 1)), 0.0, 1.0)
    stranger = Sessions(vehicle=[3], arrival=[0.0], departure=[1.0], arrival_energy=[5.0])
    with pytest.raises(ParameterError, match="names vehicle 3 and the fleet has 1"):
        cars.simulate(stranger, np.zeros((4, 1)), 0.0, 1.0)
    with pytest.raises(ParameterError, match="at least 0 kW"):
        cars.simulate(sessions, np.full((4, 1), -1.0), 0.0, 0.5)
