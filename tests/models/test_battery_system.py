from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

from engiagent.models import Battery
from engiagent.models.battery_losses import PiecewiseLoss, QuadraticLoss
from engiagent.models.battery_system import BatteryState, BatterySystem, Derating
from engiagent.models.ranges import ParameterError

LOSS = QuadraticLoss(rated_power=50.0, no_load=0.4, proportional=0.01, quadratic=0.03, standby=0.1)
POINTS = PiecewiseLoss(power=(0.0, 10.0, 30.0, 50.0), losses=(0.3, 0.5, 1.4, 3.0))


def linear(share: float) -> PiecewiseLoss:
    return PiecewiseLoss(power=(0.0, 100.0), losses=(0.0, 100.0 * share))


def test_constant_efficiencies_are_the_plain_battery() -> None:
    rng = np.random.default_rng(3)
    charge = np.where(rng.random(200) < 0.5, rng.uniform(0, 40, 200), 0.0)
    discharge = np.where(charge > 0, 0.0, rng.uniform(0, 40, 200))
    plain = Battery(
        energy_capacity=200.0, charge_efficiency=0.93, discharge_efficiency=0.9, self_discharge=0.01
    )
    system = BatterySystem(
        energy_capacity=200.0,
        self_discharge=0.01,
        charge_loss=linear(1.0 - 0.93),
        discharge_loss=linear(1.0 / 0.9 - 1.0),
    )
    ours = system.simulate(charge, discharge, 0.25, BatteryState(energy=100.0)).energy
    assert ours == pytest.approx(plain.simulate(charge, discharge, 0.25, 100.0), rel=1e-12)


def test_standby_is_drawn_from_the_store_and_no_load_only_while_it_runs() -> None:
    points = PiecewiseLoss(power=(0.0, 10.0), losses=(0.3, 0.5), standby=0.05)
    for loss, standby, running in ((LOSS, 0.1, 0.4), (points, 0.05, 0.3), (POINTS, 0.3, 0.3)):
        assert float(loss.loss(0.0)) == standby
        assert float(loss.loss(1e-12)) == pytest.approx(running)
        system = BatterySystem(energy_capacity=10.0, charge_loss=loss, discharge_loss=loss)
        idle = system.simulate(np.zeros(4), np.zeros(4), 0.5, BatteryState(energy=5.0))
        assert idle.energy[-1] == pytest.approx(5.0 - 2.0 * standby)


def test_part_load_costs_what_a_constant_efficiency_hides() -> None:
    loss = QuadraticLoss(rated_power=50.0, no_load=0.5, proportional=0.01, quadratic=0.01)
    full = loss.loss(50.0) / 50.0
    system = BatterySystem(energy_capacity=200.0, charge_loss=loss, discharge_loss=loss)
    gentle = system.simulate(np.full(50, 1.0), 0.0 * np.ones(50), 1.0, BatteryState(energy=0.0))
    assert gentle.energy[-1] < 50.0 * (1 - full) - 20.0


def random_system(rng: np.random.Generator, units: int) -> BatterySystem:
    loss = QuadraticLoss(
        rated_power=rng.uniform(20, 60, units),
        no_load=rng.uniform(0, 1, units),
        proportional=rng.uniform(0, 0.1, units),
        quadratic=rng.uniform(0, 0.1, units),
        standby=rng.uniform(0, 0.2, units),
    )
    return BatterySystem(
        energy_capacity=rng.uniform(50, 500, units),
        charge_loss=loss,
        discharge_loss=loss,
        self_discharge=rng.choice([0.0, 0.02], units),
        heat_capacity=rng.uniform(0.02, 0.2, units),
        heat_transfer=rng.choice([0.0, 0.01, 0.05], units),
        heat_fraction=rng.uniform(0, 1, units),
    )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_energy_and_heat_balance_under_random_powers(seed: int, length: int) -> None:
    rng = np.random.default_rng(seed)
    units = 3
    system = random_system(rng, units)
    charge, discharge = rng.uniform(0, 40, (2, length, units))
    ambient, hours = rng.uniform(-10, 40, (length, units)), rng.uniform(0.1, 2, length)
    start = BatteryState(
        energy=rng.uniform(3000, 4000, units), temperature=rng.uniform(0, 40, units)
    )
    path = system.simulate(charge, discharge, hours, start, ambient)
    step = hours[:, None]
    stored = (charge - discharge - path.loss) * step
    scale = np.abs(path.energy).max() + np.abs(stored).sum()
    assert np.abs(np.diff(path.energy, axis=0) - stored).max() <= 1e-9 * scale
    warmed = np.asarray(system.heat_capacity) * np.diff(path.temperature, axis=0)
    heat = (np.asarray(system.heat_fraction) * path.loss - path.heat_to_ambient) * step
    assert np.abs(warmed - heat).max() <= 1e-9 * (1 + np.abs(heat).max())
    assert (path.loss >= -1e-12).all()


def test_steps_one_by_one_are_the_path() -> None:
    rng = np.random.default_rng(11)
    system = random_system(rng, 4)
    charge, discharge = rng.uniform(0, 40, (2, 12, 4))
    state = BatteryState(energy=np.full(4, 30.0), temperature=np.full(4, 15.0))
    path = system.simulate(charge, discharge, 0.5, state, 5.0)
    for k in range(12):
        done = system.step(state, charge[k], discharge[k], 0.5, 5.0)
        state = done.state
        assert state.energy == pytest.approx(path.energy[k + 1], rel=1e-12)
        assert state.temperature == pytest.approx(path.temperature[k + 1], rel=1e-12)
        assert done.loss == pytest.approx(path.loss[k])


def test_scipy_integrates_to_the_same_energy_and_temperature() -> None:
    system = BatterySystem(
        energy_capacity=100.0,
        charge_loss=LOSS,
        discharge_loss=LOSS,
        self_discharge=0.05,
        heat_capacity=0.05,
        heat_transfer=0.02,
        heat_fraction=0.5,
    )
    path = system.simulate([20.0], [0.0], 0.01, BatteryState(energy=60.0, temperature=30.0), 10.0)
    loss = float(LOSS.loss(20.0))

    def slopes(_: float, x: np.ndarray) -> list[float]:
        heat = 0.5 * (loss + 0.05 * x[0])
        return [-0.05 * x[0] + 20.0 - loss, (0.02 * (10.0 - x[1]) + heat) / 0.05]

    exact = solve_ivp(slopes, (0, 0.01), [60.0, 30.0], rtol=1e-12, atol=1e-12).y[:, -1]
    assert path.energy[1] == pytest.approx(exact[0], rel=1e-12)
    # The standing loss enters as its mean over the step.
    assert path.temperature[1] == pytest.approx(exact[1], rel=1e-7)


def test_the_cell_warms_as_in_sam() -> None:
    # PySAM BatteryStateful 7.1.1.post1, LFP default with 10 A through 0.01 ohm, h = 20 W/(m² K),
    # room at 10 degC, steps of 10 min: mean temperature of steps 2 to 11.
    sam = [
        10.003703882172099,
        10.005940227287402,
        10.00800278290918,
        10.009905054461017,
        10.011659497841219,
        10.013277600982885,
        10.014769959075842,
        10.01614634394295,
        10.017415768025108,
        10.018586543393882,
    ]
    transfer, capacity = 20.0 * 1.53934 / 1000, 152.227 * 1500 / 3.6e6
    watt = PiecewiseLoss(power=(0.0, 1.0), losses=(0.001, 0.001))
    system = BatterySystem(
        energy_capacity=10.0,
        charge_loss=watt,
        discharge_loss=watt,
        heat_capacity=capacity,
        heat_transfer=transfer,
    )
    path = system.simulate(
        np.zeros(11), np.ones(11), 1 / 6, BatteryState(energy=9.0, temperature=10.0), 10.0
    )
    mean = 10.0 + path.heat_to_ambient / transfer
    assert mean[1:] == pytest.approx(sam, abs=2e-7)


def test_cold_locks_energy_without_losing_it_and_derates_power() -> None:
    system = BatterySystem(
        energy_capacity=100.0,
        charge_loss=LOSS,
        discharge_loss=LOSS,
        charge_power_max=50.0,
        discharge_power_max=50.0,
        minimum_charge=0.1,
        maximum_charge=0.9,
        capacity_by_temperature=Derating(at=(-20.0, 20.0), factor=(0.5, 1.0)),
        charge_by_temperature=Derating(at=(0.0, 10.0), factor=(0.0, 1.0)),
        discharge_by_charge=Derating(at=(0.1, 0.3), factor=(0.2, 1.0)),
    )
    assert [float(end) for end in system.energy_range(-20.0)] == pytest.approx([50.0, 90.0])
    assert [float(end) for end in system.energy_range(20.0)] == pytest.approx([10.0, 90.0])
    assert system.power_limits(BatteryState(energy=60.0, temperature=-20.0))[0] == 0.0
    low = system.power_limits(BatteryState(energy=20.0, temperature=20.0))
    assert low == pytest.approx((50.0, 50.0 * 0.6))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: QuadraticLoss(rated_power=10.0, proportional=0.5, quadratic=0.3), "below 1"),
        (lambda: QuadraticLoss(rated_power=0.0), "above 0"),
        (lambda: PiecewiseLoss(power=(1.0, 2.0), losses=(0.1, 0.2)), "from 0 on"),
        (lambda: PiecewiseLoss(power=(0.0, 2.0), losses=(0.0, 3.0)), "below 1"),
        (lambda: Derating(at=(0.0, 1.0), factor=(0.5,)), "one for each"),
        (
            lambda: BatterySystem(
                energy_capacity=1.0,
                charge_loss=LOSS,
                discharge_loss=LOSS,
                minimum_charge=0.9,
                maximum_charge=0.1,
            ),
            "minimum <= maximum",
        ),
        (lambda: LOSS.loss(-1.0), "at least 0"),
    ],
)
def test_what_means_nothing_is_refused(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()
