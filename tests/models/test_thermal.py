import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from engiagent.models import ThermalNetwork, ThermalZone
from engiagent.models.ranges import ParameterError


def two_rooms() -> ThermalNetwork:
    return ThermalNetwork(
        (
            ThermalZone(name="a", capacitance=2.0, resistance=4.0, neighbours={"b": 3.0}),
            ThermalZone(name="b", capacitance=5.0, resistance=8.0),
        )
    )


def test_the_exact_scheme_does_not_depend_on_the_step() -> None:
    network, heat = two_rooms(), np.array([[3.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    coarse = network.simulate([0.0, 2.0, 4.0], 1.0, heat, initial=[18.0, 22.0])
    fine = network.simulate(
        np.repeat([0.0, 2.0, 4.0], 12), 1 / 12, np.repeat(heat, 12, axis=0), initial=[18.0, 22.0]
    )
    assert fine[::12] == pytest.approx(coarse, rel=1e-11)


@pytest.mark.parametrize("scheme", ["euler", "implicit"])
def test_the_euler_schemes_converge_with_first_order(scheme: str) -> None:
    network, errors = two_rooms(), []
    for parts in (8, 16):
        heat = np.full((4 * parts, 2), 1.5)
        args = (1.0, 1 / parts, heat)
        exact = network.simulate(*args, initial=[18.0, 25.0])
        other = network.simulate(*args, initial=[18.0, 25.0], scheme=scheme)  # type: ignore[arg-type]
        errors.append(np.abs(exact - other).max())
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


@settings(deadline=None, max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 12))
def test_scipy_and_the_heat_balance_agree_with_the_simulation(
    seed: int, count: int, periods: int
) -> None:
    rng = np.random.default_rng(seed)
    capacity, outer = rng.uniform(0.5, 10, count), rng.uniform(0.5, 10, count)
    zones = []
    for i in range(count):
        walls = {
            str(j): float(rng.uniform(0.5, 10)) for j in range(i + 1, count) if rng.random() < 0.5
        }
        zones.append(
            ThermalZone(name=str(i), capacitance=capacity[i], resistance=outer[i], neighbours=walls)
        )
    network = ThermalNetwork(tuple(zones))
    ambient, steps = rng.uniform(-10, 30, periods), rng.uniform(0.1, 1.0, periods)
    heat = rng.uniform(-10, 20, (periods, count))
    start = rng.uniform(10, 30, count)
    result = network.simulate(ambient, steps, heat, start)
    u = np.column_stack((ambient, heat))
    state = start
    for k in range(periods):
        # The integral of each temperature is carried along, for the balance of the whole building.
        answer = solve_ivp(
            lambda _, y, k=k: np.concatenate(
                (network.state_matrix @ y[:count] + network.input_matrix @ u[k], y[:count])
            ),
            (0, steps[k]),
            np.concatenate((state, np.zeros(count))),
            rtol=1e-9,
            atol=1e-9,
        )
        state = answer.y[:count, -1]
        assert result[k + 1] == pytest.approx(state, rel=1e-6, abs=1e-6)
        stored = capacity @ (result[k + 1] - result[k])
        lost = ((ambient[k] * steps[k] - answer.y[count:, -1]) / outer).sum()
        assert stored == pytest.approx(lost + u[k, 1:].sum() * steps[k], rel=1e-5, abs=1e-5)


def test_an_unstable_step_is_refused_with_the_largest_stable_one() -> None:
    network = ThermalNetwork((ThermalZone(name="z", capacitance=0.1, resistance=1.0),))
    with pytest.raises(ParameterError, match=r"at most 0\.2 h"):
        network.simulate(0.0, 1.0, heating=[[0.0]], initial=[20.0], scheme="euler")


@pytest.mark.parametrize(
    "zones",
    [
        (),
        (ThermalZone(name="a", capacitance=1.0), ThermalZone(name="a", capacitance=1.0)),
        (ThermalZone(name="a", capacitance=1.0, neighbours={"b": 1.0}),),
        (
            ThermalZone(name="a", capacitance=1.0, neighbours={"b": 1.0}),
            ThermalZone(name="b", capacitance=1.0, neighbours={"a": 2.0}),
        ),
    ],
)
def test_contradictory_networks_are_refused(zones: tuple[ThermalZone, ...]) -> None:
    with pytest.raises(ParameterError):
        ThermalNetwork(zones)
