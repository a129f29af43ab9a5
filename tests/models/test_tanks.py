"""Mixed and stratified tanks of water, and ice storage."""

import casadi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.optimize import isotonic_regression

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.storage import IceTankCurves, MixedTank, StratifiedTank, advanced, settled

HEAT = 4.186  # kJ/(kg K)


def by_cvodes(rate: casadi.MX, state: casadi.MX, start: Floats, hours: float) -> Floats:
    """Return the state after some hours of a differential equation, by SUNDIALS."""
    method = casadi.integrator(
        "s", "cvodes", {"x": state, "ode": rate}, 0.0, hours, {"abstol": 1e-11, "reltol": 1e-11}
    )
    return np.asarray(method(x0=start)["xf"]).ravel()


def test_a_mixed_tank_is_cvodes() -> None:
    tank = MixedTank(mass=500.0, loss_conductance=0.004)
    ours = tank.step(55.0, step_hours=1.7, heat=3.0, ambient=15.0)
    t = casadi.MX.sym("t")
    exact = by_cvodes((0.004 * (15 - t) + 3.0) * 3600 / (500 * HEAT), t, np.array([55.0]), 1.7)
    assert ours.temperature == pytest.approx(exact[0], abs=1e-8)


@given(st.integers(0, 2**32 - 1))
def test_mixed_tanks_keep_energy_and_do_not_depend_on_the_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tank = MixedTank(mass=rng.uniform(50, 5000), loss_conductance=rng.choice([0.0, 0.003]))
    heat, hours = rng.uniform(-5, 20, 20), rng.uniform(0.05, 2.0, 20)
    around = rng.uniform(-5, 25, 20)
    path = tank.simulate(rng.uniform(10, 80), step_hours=hours, heat=heat, ambient=around)
    into = (heat - path.loss) * hours
    assert np.diff(tank.energy(path.temperature)) == pytest.approx(
        into, rel=1e-9, abs=1e-9 * float(np.abs(into).max())
    )
    half = {"step_hours": hours[0] / 2, "heat": heat[0], "ambient": around[0]}
    one = tank.step(path.temperature[0], **half)
    two = tank.step(one.temperature, **half)
    assert two.temperature == pytest.approx(path.temperature[1], rel=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_buoyancy_is_isotonic_regression_and_keeps_heat(seed: int, count: int) -> None:
    layers = np.random.default_rng(seed).uniform(5.0, 90.0, count)
    mixed = settled(layers)
    assert mixed == pytest.approx(isotonic_regression(layers, increasing=False).x, abs=1e-11)
    assert mixed.sum() == pytest.approx(layers.sum(), rel=1e-14)
    assert (np.diff(mixed) <= 1e-12).all()
    assert settled(mixed) == pytest.approx(mixed, abs=1e-12)


def test_a_stratified_tank_is_cvodes() -> None:
    tank = StratifiedTank(
        mass=800.0, layers=8, height=1.6, conductivity=0.9, loss_conductance=0.003
    )
    start = np.array([64.0, 63.0, 60.0, 52.0, 45.0, 40.0, 33.0, 28.0])
    x, heat = casadi.MX.sym("x", 8), np.zeros((1, 8))
    heat[0, 2] = 0.15
    # A draw of 0.05 kg/s at 64 degC is all tank water: cold water comes up from the bottom.
    conduction, up, rows = 0.9e-3 * 0.5 / (1.6 / 8), 0.05 * HEAT, []
    for i in range(8):
        net = 0.003 / 8 * (18.0 - x[i]) + heat[0, i] - up * x[i]
        net += conduction * (x[i - 1] - x[i]) if i else 0.0
        net += (conduction * (x[i + 1] - x[i]) + up * x[i + 1]) if i < 7 else up * 10.0
        rows.append(net)
    rate = casadi.vertcat(*rows) * 3600 / (100.0 * HEAT)
    exact = settled(by_cvodes(rate, x, start, 0.4))
    ours = tank.simulate(
        start, step_hours=0.4, heat=heat, ambient=18.0, use=0.05, use_temperature=64.0
    )
    assert ours.temperature[-1] == pytest.approx(exact, abs=1e-7)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_stratified_tanks_keep_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, periods = int(rng.integers(1, 9)), 6
    tank = StratifiedTank(mass=rng.uniform(100, 3000), layers=count, loss_conductance=0.004)
    heat = rng.uniform(-1, 4, (periods, count))
    use = rng.uniform(0, 0.3, periods) * rng.choice([0.0, 1.0], periods)
    hours, cold = rng.uniform(0.05, 3.0, periods), rng.uniform(5, 15, periods)
    path = tank.simulate(
        rng.uniform(10, 90, count),
        step_hours=hours,
        heat=heat,
        ambient=12.0,
        use=use,
        use_temperature=45.0,
        cold_temperature=cold,
    )
    into = (heat.sum(axis=-1) - path.drawn - path.loss) * hours
    stored = np.diff(tank.energy(path.temperature))
    assert stored == pytest.approx(into, rel=1e-9, abs=1e-9 * float(np.abs(stored).max() + 100))
    assert (np.diff(path.temperature[1:], axis=-1) <= 1e-9).all()
    wanted = use * HEAT * (45.0 - cold)
    assert (path.drawn + path.missing >= wanted * (1 - 1e-9)).all()


@pytest.mark.parametrize("size", [1e-3, 0.3, 20.0, 5e3])
def test_the_exact_scheme_is_the_matrix_exponential(size: float) -> None:
    rng = np.random.default_rng(8)
    matrix = rng.uniform(0, 1, (7, 7)) * size
    matrix -= np.eye(7) * (matrix.sum(axis=-1, keepdims=True) + 0.1 * size)
    drive, start = rng.uniform(0, 50, 7) * size, rng.uniform(10, 90, 7)
    end, _ = advanced(matrix, drive, start, 0.5)
    steady = np.linalg.solve(matrix, -drive)
    exact = steady + expm(matrix * 0.5) @ (start - steady)
    assert end == pytest.approx(exact, rel=1e-11)


def test_hot_water_runs_out_and_says_how_much_is_missing() -> None:
    tank, idle = StratifiedTank(mass=200.0, layers=8, loss_conductance=0.0015), np.zeros((60, 8))
    path = tank.simulate([60.0] * 8, step_hours=1 / 60, heat=idle, use=0.15)
    wanted = 0.15 * HEAT * 30.0
    assert path.missing.mean() > 0.3 * wanted  # 540 kg of use against 200 kg of tank
    # Short steps: the share lags a little.
    assert (path.drawn + path.missing).mean() == pytest.approx(wanted, rel=0.02)


# EnergyPlus, testfiles/5ZoneDetailedIceStorage.idf, also in the Modelica Buildings library.
CURVE = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)


def test_ice_by_curves_is_energypluss_polynomial() -> None:
    tank = IceTankCurves(energy_capacity=200.0, charge_curve=CURVE, discharge_curve=CURVE)
    x, star = 0.3, 0.5
    by_hand = 0.09 * x - 0.15 * x * x + (0.612 - 0.324 * x - 0.216 * x * x) * star
    assert tank.charge_limit(60.0, difference=5.0) == pytest.approx(200 * by_hand, rel=1e-12)
    assert tank.discharge_limit(140.0, difference=5.0) == pytest.approx(200 * by_hand, rel=1e-12)
    with pytest.raises(ParameterError, match=r"the fraction of ice is 1\.05"):
        tank.charge_limit(210.0, difference=5.0)


def test_bad_tanks_say_what_to_give() -> None:
    tank = StratifiedTank(mass=100.0, layers=5)
    with pytest.raises(ParameterError, match="the tank has 0 layers; give 1 to 200"):
        StratifiedTank(mass=1.0, layers=0)
    with pytest.raises(ParameterError, match="layers"):
        tank.simulate([50.0] * 4, step_hours=1.0, heat=np.zeros((1, 5)))
