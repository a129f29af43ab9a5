import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq

from engiagent.models.buildings.constructions import Construction, Layer
from engiagent.models.buildings.draws import Tapping, draws
from engiagent.models.buildings.emitters import WATER, Radiator, log_mean
from engiagent.models.buildings.floors import PipedFloor
from engiagent.models.ranges import ParameterError


@settings(deadline=None, max_examples=40)
@given(st.floats(0.001, 1.0), st.floats(25.0, 90.0), st.floats(5.0, 24.0), st.floats(1.0, 1.6))
def test_a_radiator_gives_what_water_and_characteristic_agree_on(
    flow: float, supply: float, room: float, exponent: float
) -> None:
    radiator = Radiator(nominal_power=1.5, exponent=exponent)
    gap = supply - room

    def lack(back: float) -> float:
        mean = (gap - back) / np.log(gap / back)
        lm = 10.0 / np.log(55.0 / 45.0)
        return float(1.5 * (mean / lm) ** exponent - flow * WATER * (gap - back))

    # The logarithm of the return's difference, which may be tiny where little flows.
    back = float(
        np.exp(
            brentq(
                lambda x: lack(np.exp(x)), np.log(gap) - 600.0, np.log(gap * (1 - 1e-9)), xtol=1e-14
            )
        )
    )
    result = radiator.emission(flow, supply, room)
    assert result.heat == pytest.approx(flow * WATER * (gap - back), rel=1e-6)
    assert result.return_temperature == pytest.approx(room + back, abs=1e-6)
    if gap > back + 0.01:
        again = radiator.flow_for(result.heat, supply, room)
        assert again == pytest.approx(flow, rel=1e-4)


def test_limits_of_a_radiator() -> None:
    radiator = Radiator(nominal_power=[1.0, 2.0])
    still = radiator.emission(0.0, 60.0, 20.0)
    assert still.heat.tolist() == [0.0, 0.0]
    assert still.return_temperature.tolist() == [20.0, 20.0]
    much = radiator.emission(1e4, 60.0, 20.0)
    assert much.heat == pytest.approx(radiator.characteristic(40.0), rel=1e-4)
    warm, cool = radiator.emission(0.05, 50.0, 20.0), radiator.emission(0.05, -10.0, 20.0)
    assert cool.heat == pytest.approx(-warm.heat)
    with pytest.raises(ParameterError, match=r"cannot give 2 kW; with endless flow it gives 0\."):
        Radiator(nominal_power=1.0).flow_for(2.0, 60.0, 20.0)
    with pytest.raises(ParameterError, match="do not fall"):
        Radiator(nominal_power=1.0, nominal_return=80.0)
    assert radiator.flow_for(0.0, 20.0, 20.0).tolist() == [0.0, 0.0]
    # Manufacturers' factor for 55/45/20 at n = 1.3 against 75/65/20: 0.51 (EN 442 tables).
    assert Radiator(nominal_power=1.0).characteristic(log_mean(35.0, 25.0)) == pytest.approx(
        0.51, abs=0.01
    )


def floor() -> PipedFloor:
    screed = Layer(thickness=0.045, conductivity=1.4, density=2000.0, specific_heat=1000.0)
    wood = Layer(thickness=0.01, conductivity=0.2, density=600.0, specific_heat=1600.0)
    foam = Layer(thickness=0.06, conductivity=0.035, density=25.0, specific_heat=1400.0)
    slab = Layer(thickness=0.18, conductivity=2.1, density=2400.0, specific_heat=1000.0)
    return PipedFloor(
        area=20.0,
        above=Construction((screed, wood)),
        below=Construction((slab, foam, screed)),
        spacing=0.15,
        outer_diameter=0.017,
        wall_thickness=0.002,
        pipe_conductivity=0.35,
        screed_conductivity=1.4,
        circuit_length=100.0,
    )


@settings(deadline=None, max_examples=8)
@given(st.integers(0, 2**32 - 1))
def test_a_floor_keeps_its_heat_and_never_returns_water_beyond_its_plane(seed: int) -> None:
    rng, unit = np.random.default_rng(seed), floor()
    periods = 20
    flow = rng.choice([0.0, 0.02, 0.08], periods)
    hours = rng.choice([0.25, 1.0], periods)
    supply = rng.uniform(15, 45, periods)
    run = unit.simulate(
        supply, flow, hours, room=rng.uniform(18, 24, periods), below=12.0, initial=20.0
    )
    net = hours * (run.heat - run.into_room - run.into_below)
    size = np.abs(run.heat).max() + np.abs(run.into_room).max() + run.stored.max()
    assert np.abs(np.diff(run.stored) - net).max() <= 1e-9 * size
    assert (run.heat[flow == 0] == 0).all()
    assert run.heat == pytest.approx(flow * WATER * (supply - run.return_temperature), abs=1e-9)


def test_a_floor_at_rest_is_resistances_in_series() -> None:
    unit, flow = floor(), 0.06
    run = unit.simulate(35.0, [flow] * 2, 5e4, room=20.0, below=20.0, initial=20.0)
    up = unit.above.resistance + 1 / 10.8
    down = unit.below.resistance + 1 / 6.5
    drop = 1 / (float(unit.conductance(flow)) * 1000 / 20.0)
    expected = 20.0 * 15.0 / (drop + 1 / (1 / up + 1 / down)) / 1000
    assert run.heat[-1] == pytest.approx(expected, rel=1e-9)
    assert run.into_room[-1] == pytest.approx(expected * down / (up + down), rel=1e-9)
    # ISO 11855 has 1/(2 m c) for the water's own resistance, the first terms of the exact one.
    stream, fixed = 0.5 * WATER * 1000 / 20.0, float(unit.resistance(0.5))
    standard = fixed + 1 / (2 * stream)
    exact = 20.0 / float(unit.conductance(0.5)) / 1000
    assert exact == pytest.approx(standard + 1 / (12 * stream**2 * fixed), rel=1e-4)


def test_steps_of_a_floor_are_its_run() -> None:
    unit = floor()
    run = unit.simulate([40.0, 30.0], [0.06, 0.0], 0.5, room=20.0, below=10.0, initial=20.0)
    state, first = unit.step(20.0, 40.0, 0.06, 0.5, room=20.0, below=10.0)
    state, second = unit.step(state, 30.0, 0.0, 0.5, room=20.0, below=10.0)
    assert state == pytest.approx(run.temperature[-1], rel=1e-13)
    assert [first.heat[0], second.heat[0]] == pytest.approx(run.heat)


def test_a_floor_answers_slowly() -> None:
    run = floor().simulate(40.0, [0.06] * 24, 0.25, room=20.0, below=20.0, initial=20.0)
    assert run.into_room[0] < 0.1 * run.heat[0]
    assert (np.diff(run.into_room) > 0).all()
    with pytest.raises(ParameterError, match="a fifth of the spacing"):
        PipedFloor(
            area=20.0,
            above=floor().above,
            below=floor().below,
            spacing=0.05,
            outer_diameter=0.017,
            wall_thickness=0.002,
            pipe_conductivity=0.35,
            screed_conductivity=1.4,
            circuit_length=100.0,
        )


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.25, 1.0, 5.0]))
def test_draws_hold_their_energy_whatever_the_step(seed: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    tappings = [
        Tapping(
            start=float(rng.uniform(0, 24)),
            energy=float(rng.uniform(0.1, 4)),
            flow=float(rng.uniform(0.02, 0.2)),
            temperature=float(rng.uniform(25, 55)),
        )
        for _ in range(4)
    ]
    periods = round(120 / step)
    draw = draws(tappings, step, periods=periods, first_hour=3.0)
    energy = 5 * sum(t.energy for t in tappings)
    assert draw.heat.sum() * step == pytest.approx(energy, rel=1e-9)
    # What the tank gives and the cold water that joins it make the mixed water.
    assert draw.from_tank * WATER * (60.0 - 10.0) == pytest.approx(draw.heat, rel=1e-9)
    assert (draw.flow >= draw.from_tank * (1 - 1e-12)).all()


def test_a_draw_over_midnight_goes_on_and_a_single_one_does_not_come_again() -> None:
    late = Tapping(start=23.9, energy=2.0, flow=0.05, temperature=40.0)
    daily = draws([late], 1.0, periods=48)
    assert daily.heat[[0, 23, 24, 47]].all()
    assert daily.heat[0] == pytest.approx(daily.heat[24])  # the tail of the evening before
    once = draws([late], 1.0, periods=48, daily=False)
    assert once.heat[0] == 0.0
    assert once.heat.sum() == pytest.approx(2.0)
    with pytest.raises(ParameterError, match="tank is colder than the 40 degC"):
        draws([late], 1.0, periods=24, tank=35.0)
    with pytest.raises(ParameterError, match="not above the cold water"):
        draws([late], 1.0, periods=24, cold=45.0)
