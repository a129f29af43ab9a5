import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from engiagent.models import Battery
from engiagent.models.ranges import ParameterError

powers = st.lists(st.floats(0, 100), min_size=1, max_size=40)


def test_five_fifteen_and_sixty_minutes_agree_under_hourly_powers() -> None:
    battery = Battery(
        energy_capacity=500.0,
        self_discharge=0.02,
        charge_efficiency=0.93,
        discharge_efficiency=0.96,
        initial_energy=100.0,
    )
    rng = np.random.default_rng(1)
    charge, discharge = rng.uniform(0, 20, (2, 24))
    hourly = battery.simulate(charge, discharge, 1.0)
    for parts in (4, 12):
        fine = battery.simulate(np.repeat(charge, parts), np.repeat(discharge, parts), 1 / parts)
        assert fine[::parts] == pytest.approx(hourly, rel=1e-12)


def test_scipy_integrates_to_the_same_energy() -> None:
    battery = Battery(energy_capacity=500.0, self_discharge=0.05, discharge_efficiency=0.9)
    charge, discharge = np.array([3.0, 0.0, 7.0]), np.array([0.0, 5.0, 1.0])
    steps = np.array([0.5, 2.0, 1.0])
    energy = battery.simulate(charge, discharge, steps, initial_energy=50.0)
    value = 50.0
    for k in range(3):
        net = charge[k] - discharge[k] / 0.9
        result = solve_ivp(
            lambda _, e, net=net: -0.05 * e + net, (0, steps[k]), [value], rtol=1e-11, atol=1e-11
        )
        value = result.y[0, -1]
        assert energy[k + 1] == pytest.approx(value, rel=1e-9)


@settings(deadline=None)
@given(powers, st.floats(0.05, 1.0), st.integers(0, 2**32 - 1))
def test_energy_is_conserved_without_standing_loss(
    charge: list[float], efficiency: float, seed: int
) -> None:
    discharge = np.random.default_rng(seed).uniform(0, 50, len(charge))
    battery = Battery(
        energy_capacity=1e6, charge_efficiency=efficiency, discharge_efficiency=efficiency
    )
    energy = battery.simulate(charge, discharge, 0.25, initial_energy=5.0)
    stored = (efficiency * sum(charge) - discharge.sum() / efficiency) * 0.25
    assert abs(energy[-1] - energy[0] - stored) <= 1e-9 * (1 + abs(stored) + sum(charge))


def test_fifteen_years_of_hours_stay_accurate_under_strong_decay() -> None:
    count = 131_400
    battery = Battery(energy_capacity=1e3, self_discharge=2.0, initial_energy=0.0)
    energy = battery.simulate(np.full(count, 6.0), np.zeros(count), 1.0)
    assert energy[-1] == pytest.approx(3.0, rel=1e-14)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"energy_capacity": -5.0}, "-5 kWh"),
        ({"energy_capacity": float("nan")}, "nan"),
        ({"charge_efficiency": 95.0}, "95.0 % is 0.95"),
        ({"discharge_efficiency": 0.0}, "above 0"),
        ({"self_discharge": -0.1}, "-0.1 1/h"),
        ({"minimum_energy": 60.0, "maximum_energy": 50.0}, "minimum <= maximum <= capacity"),
        ({"maximum_energy": 200.0}, "0 to 100.0 kWh"),
        ({"charge_power_max": float("nan")}, "charge power limit"),
    ],
)
def test_impossible_parameters_are_refused_with_value_and_range(
    change: dict[str, float], words: str
) -> None:
    with pytest.raises(ParameterError, match=words):
        Battery(**{"energy_capacity": 100.0, **change})
