"""Mixed and stratified tanks of water, ice storage and domestic hot water."""

import casadi
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import expm
from scipy.optimize import isotonic_regression

from engiagent.models.ranges import Floats, ParameterError
from engiagent.models.storage.hot_water import HotWaterTank, draw
from engiagent.models.storage.ice_tank import IceTankCurves
from engiagent.models.storage.mixed_tank import MixedTank
from engiagent.models.storage.stratified_tank import Port, StratifiedTank, advanced, settled

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
    tank = MixedTank(mass=rng.uniform(50, 5000, 3), loss_conductance=rng.choice([0.0, 0.003], 3))
    heat, hours = rng.uniform(-5, 20, (20, 3)), rng.uniform(0.05, 2.0, 20)
    around = rng.uniform(-5, 25, 20)
    path = tank.simulate(rng.uniform(10, 80, 3), step_hours=hours, heat=heat, ambient=around)
    stored = tank.capacity * np.diff(path.temperature, axis=0)
    into = (heat - path.loss) * hours[:, None]
    assert stored == pytest.approx(into, rel=1e-9, abs=1e-9 * float(np.abs(into).max()))
    half = {"step_hours": hours[0] / 2, "heat": heat[0], "ambient": around[0]}
    one = tank.step(path.temperature[0], **half)
    two = tank.step(one.temperature, **half)
    assert two.temperature == pytest.approx(path.temperature[1], rel=1e-12)


@given(st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_buoyancy_is_isotonic_regression_and_keeps_heat(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    layers = rng.uniform(5.0, 90.0, (4, count))
    mixed = settled(layers)
    for ours, theirs in zip(mixed, layers, strict=True):
        assert ours == pytest.approx(isotonic_regression(theirs, increasing=False).x, abs=1e-11)
    assert mixed.sum(axis=-1) == pytest.approx(layers.sum(axis=-1), rel=1e-14)
    assert (np.diff(mixed, axis=-1) <= 1e-12).all()
    assert settled(mixed) == pytest.approx(mixed, abs=1e-12)


TANK = StratifiedTank(
    mass=800.0,
    layers=8,
    height=1.6,
    area=0.5,
    conductivity=0.9,
    loss_conductance=0.003,
    ports=(Port(inlet=7, outlet=0), Port(inlet=0, outlet=5)),
)


def derivative(x: casadi.MX, flows: tuple[float, float]) -> casadi.MX:
    """Return the layers' heating [kW] written out by hand: cold water up, hot water down."""
    conduction = 0.9e-3 * 0.5 / (1.6 / 8)
    up, down = flows[0] * HEAT, flows[1] * HEAT
    rows = []
    for i in range(8):
        net = 0.003 / 8 * (18.0 - x[i])
        above = x[i - 1] if i else None
        below = x[i + 1] if i < 7 else None
        if above is not None:
            net += conduction * (above - x[i])
        if below is not None:
            net += conduction * (below - x[i])
        # Net flow between neighbours: up everywhere, down above layer 5.
        flow_below = up - (down if i < 5 else 0.0)
        if below is not None:
            net += flow_below * (below if flow_below > 0 else x[i])
        if above is not None:
            flow_above = up - (down if i - 1 < 5 else 0.0)
            net -= flow_above * (x[i] if flow_above > 0 else above)
        net += (up * 10.0 if i == 7 else 0.0) - (up * x[0] if i == 0 else 0.0)
        net += (down * 65.0 if i == 0 else 0.0) - (down * x[5] if i == 5 else 0.0)
        net += 0.15 if i == 2 else 0.0
        rows.append(net)
    return casadi.vertcat(*rows)


@pytest.mark.parametrize("flows", [(0.05, 0.02), (0.02, 0.05), (0.0, 0.04)])
def test_a_stratified_tank_is_cvodes(flows: tuple[float, float]) -> None:
    start = np.array([64.0, 63.0, 60.0, 52.0, 45.0, 40.0, 33.0, 28.0])
    x = casadi.MX.sym("x", 8)
    rate = derivative(x, flows) * 3600 / (100.0 * HEAT)
    exact = settled(by_cvodes(rate, x, start, 0.4))
    heat = [0, 0, 0.15, 0, 0, 0, 0, 0]
    ours = TANK.step(
        start, step_hours=0.4, flows=flows, inlets=(10.0, 65.0), heat=heat, ambient=18.0
    )
    assert ours.temperature == pytest.approx(exact, abs=1e-7)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_stratified_tanks_keep_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count, units = int(rng.integers(1, 9)), 3
    ends = rng.integers(0, count, (2, 2))
    tank = StratifiedTank(
        mass=rng.uniform(100, 3000, units),
        layers=count,
        loss_conductance=0.004,
        ports=tuple(Port(inlet=int(a), outlet=int(b)) for a, b in ends),
    )
    start = rng.uniform(10, 90, (units, count))
    heat, flows = rng.uniform(-1, 4, (units, count)), rng.uniform(0, 0.3, (2, units))
    flows *= rng.choice([0.0, 1.0], flows.shape)
    inlets, hours = rng.uniform(5, 90, (2, units)), float(rng.uniform(0.05, 3.0))
    done = tank.step(
        start, step_hours=hours, flows=list(flows), inlets=list(inlets), heat=heat, ambient=12.0
    )
    into = heat.sum(axis=-1) + done.port_heat.sum(axis=0) - done.loss
    stored = tank.energy(done.temperature) - tank.energy(start)
    assert stored == pytest.approx(into * hours, rel=1e-9, abs=1e-9 * float(np.abs(start).sum()))
    assert done.port_heat == pytest.approx(flows * HEAT * (inlets - done.outlets), abs=1e-12)
    assert (np.diff(done.temperature, axis=-1) <= 1e-9).all()


@pytest.mark.parametrize("size", [1e-3, 0.3, 20.0, 5e3])
def test_the_exact_scheme_is_the_matrix_exponential(size: float) -> None:
    rng = np.random.default_rng(8)
    matrix = rng.uniform(0, 1, (2, 7, 7)) * size
    matrix -= np.eye(7) * (matrix.sum(axis=-1, keepdims=True) + 0.1 * size)
    drive, start = rng.uniform(0, 50, (2, 7)) * size, rng.uniform(10, 90, (2, 7))
    end, _ = advanced(matrix, drive, start, np.array([0.5, 0.25]))
    for k, hours in enumerate((0.5, 0.25)):
        steady = np.linalg.solve(matrix[k], -drive[k])
        exact = steady + expm(matrix[k] * hours) @ (start[k] - steady)
        assert end[k] == pytest.approx(exact, rel=1e-11)


def test_a_hot_jet_at_the_bottom_rises_and_a_cold_front_moves_up() -> None:
    ports = (Port(inlet=9, outlet=0),)
    tank = StratifiedTank(mass=1000.0, layers=10, conductivity=0.0, ports=ports)
    hot = tank.step([20.0] * 10, step_hours=0.1, flows=[0.5], inlets=[60.0])
    assert hot.temperature == pytest.approx(np.full(10, hot.temperature.mean()), abs=1e-9)
    layers = np.full(10, 60.0)
    for n in range(20):
        done = tank.step(layers, step_hours=0.05, flows=[0.2], inlets=[10.0])
        layers = done.temperature
        assert n or done.outlets[0] == pytest.approx(60.0, abs=1e-6)
    # 720 kg in an hour: 72 % is exchanged, the rest is hot but for the blurred front.
    assert (layers < 35.0).sum() == 7


def test_bad_tanks_say_what_to_give() -> None:
    with pytest.raises(ParameterError, match=r"at layer 9; the layers are 0 \(top\) to 4"):
        StratifiedTank(mass=1.0, layers=5, ports=(Port(inlet=9, outlet=0),))
    tank = StratifiedTank(mass=100.0, layers=5, ports=(Port(inlet=4, outlet=0),))
    with pytest.raises(ParameterError, match="1 ports have 0 flows and 0 inlet temperatures"):
        tank.step([50.0] * 5, step_hours=1.0)
    with pytest.raises(ParameterError, match="give 5 layers, the top first"):
        tank.step([50.0] * 4, step_hours=1.0, flows=[0.0], inlets=[10.0])
    with pytest.raises(ParameterError, match="give 5 powers, one for each layer"):
        tank.step([50.0] * 5, step_hours=1.0, flows=[0.0], inlets=[10.0], heat=2.0)


# EnergyPlus, testfiles/5ZoneDetailedIceStorage.idf, also in the Modelica Buildings library.
CURVE = (0.0, 0.09, -0.15, 0.612, -0.324, -0.216)


def test_ice_by_curves_is_energypluss_polynomial() -> None:
    tank = IceTankCurves(energy_capacity=200.0, charge_curve=CURVE, discharge_curve=CURVE)
    x, star = 0.3, 0.5
    by_hand = 0.09 * x - 0.15 * x * x + (0.612 - 0.324 * x - 0.216 * x * x) * star
    assert tank.charge_limit(60.0, difference=5.0) == pytest.approx(200 * by_hand, rel=1e-12)
    assert tank.discharge_limit(140.0, difference=5.0) == pytest.approx(200 * by_hand, rel=1e-12)
    assert tank.charge_limit(200.0, difference=5.0) == pytest.approx(200 * (-0.06 + 0.036), abs=6)
    with pytest.raises(ParameterError, match=r"the fraction of ice is 1\.05"):
        tank.charge_limit(210.0, difference=5.0)


@given(st.integers(0, 2**32 - 1))
def test_ice_by_curves_keeps_energy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tank = IceTankCurves(
        energy_capacity=[200.0, 900.0],
        charge_curve=CURVE,
        discharge_curve=CURVE,
        loss_rate=rng.choice([0.0, 0.002], 2),
    )
    charge, discharge = rng.uniform(0, 50, (24, 2)), rng.uniform(0, 50, (24, 2))
    path = tank.simulate(100.0, charge=charge, discharge=discharge, step_hours=0.5)
    assert np.diff(path.energy, axis=0) == pytest.approx(
        (charge - discharge - path.gain) * 0.5, rel=1e-9, abs=1e-9
    )


def hot_water() -> HotWaterTank:
    return HotWaterTank(
        tank=StratifiedTank(
            mass=200.0, layers=8, loss_conductance=0.0015, ports=(Port(inlet=7, outlet=0),)
        )
    )


@given(st.floats(0.0, 0.3), st.floats(15.0, 70.0), st.floats(20.0, 90.0), st.floats(2.0, 15.0))
def test_a_draw_keeps_water_and_heat(use: float, wanted: float, hot: float, cold: float) -> None:
    done = draw(use, use_temperature=wanted, tank_temperature=hot, cold_temperature=cold)
    assert done.from_tank + done.cold == pytest.approx(use, rel=1e-12, abs=1e-15)
    mixed = done.from_tank * hot + done.cold * cold
    assert mixed == pytest.approx(use * float(done.temperature), rel=1e-9, abs=1e-12)
    wanted_heat = use * HEAT * (wanted - cold)
    got = float(done.from_tank) * HEAT * (hot - cold)
    assert got + float(done.missing) == pytest.approx(wanted_heat, rel=1e-9, abs=1e-9)


def test_hot_water_runs_out_and_says_how_much_is_missing() -> None:
    store, layers = hot_water(), np.full(8, 60.0)
    missing, used = 0.0, 0.0
    for _ in range(60):
        done = store.step(layers, step_hours=1 / 60, use=0.15, use_temperature=40.0)
        layers = done.tank.temperature
        missing += float(done.draw.missing) / 60
        used += float(-done.tank.port_heat[0]) / 60
    wanted = 0.15 * HEAT * 30.0
    assert missing > 0.3 * wanted  # 540 kg of use against 200 kg of tank
    assert used + missing == pytest.approx(wanted, rel=0.02)  # short steps: the share lags a little
    with pytest.raises(ParameterError, match="swap inlet and outlet"):
        HotWaterTank(tank=StratifiedTank(mass=1.0, ports=(Port(inlet=0, outlet=9),)))
    with pytest.raises(ParameterError, match="colder than the mains"):
        draw(0.1, use_temperature=8.0, tank_temperature=50.0, cold_temperature=10.0)


def test_a_day_of_hot_water_is_its_steps() -> None:
    store, rng = hot_water(), np.random.default_rng(2)
    use = rng.choice([0.0, 0.1], 48)
    heat = np.zeros((48, 8))
    heat[:, 6] = rng.choice([0.0, 3.0], 48)
    path = store.simulate(np.full(8, 55.0), step_hours=0.5, use=use, heat=heat)
    layers = np.full(8, 55.0)
    for n in range(48):
        one = store.step(layers, step_hours=0.5, use=use[n], heat=heat[n])
        layers = one.tank.temperature
        assert path.draw.missing[n] == pytest.approx(float(one.draw.missing), abs=1e-12)
    assert path.temperature[-1] == pytest.approx(layers, abs=1e-12)
