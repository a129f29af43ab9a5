from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.buildings.iso13790 import MASS_CLASSES, Zone5R1C
from engiagent.models.ranges import ParameterError


def office(**changes: Any) -> Zone5R1C:
    """Return the office of the tests of RC_BuildingSimulator, in our units."""
    floor, outer = 7 * 4.9, 0.2 * (15.19 - 13.5) / 1000
    mass_area = 2.5 * floor
    between = 9.1 * mass_area / 1000
    given: dict[str, Any] = {
        "mass_capacity": 165_000 * floor / 3.6e6,
        "mass_area": mass_area,
        "surface_area": 2 * (7 * 4.9 + 7 * 3.1 + 4.9 * 3.1),
        "window_conductance": 1.1 * 13.5 / 1000,
        "opaque_conductance": 1 / (1 / outer + 1 / between),
        "heating_power_max": 12 * floor / 1000,
        "cooling_power_max": 12 * floor / 1000,
    }
    return Zone5R1C(**{**given, **changes})


# Expected figures: the unit tests of RC_BuildingSimulator (A/S chair of ETH Zurich, MIT licence),
# rc_simulator/tests/testRCmodel.py: ambient, mass before, solar gains [W], need [W], mean mass.
@pytest.mark.parametrize(
    ("ambient", "before", "solar", "need", "mass"),
    [
        (10, 22, 2000, 0.0, 22.33),
        (25, 24, 4000, -264.75, 25.15),
        (10, 20, 2000, 328.09, 20.46),
        (30, 25, 5000, -411.6, 26.49),
        (5, 19, 2000, 411.6, 19.39),
    ],
)
def test_another_implementation_of_annex_c_agrees(
    ambient: float, before: float, solar: float, need: float, mass: float
) -> None:
    flow = 1200 * 7 * 4.9 * 3.1 * 2.0 / 3600 / 1000
    run = office().simulate(
        [ambient],
        1.0,
        ventilation=flow,
        initial_mass=before,
        internal_gains=0.01,
        solar_gains=solar / 1000,
        heating_setpoint=20.0,
        cooling_setpoint=26.0,
    )
    assert 1000 * (run.heating - run.cooling) == pytest.approx([need], abs=0.006)
    assert run.mass_mean == pytest.approx([mass], abs=0.006)


@settings(deadline=None, max_examples=40)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["standard", "exact"]),
    st.sampled_from(["air", "operative"]),
)
def test_heat_balances_and_set_points_hold(seed: int, scheme: Any, controlled: Any) -> None:
    rng = np.random.default_rng(seed)
    zones, periods = 3, 30
    floor = rng.uniform(20, 500, zones)
    emission = tuple(rng.dirichlet([1, 1, 1]))
    zone = Zone5R1C(
        mass_capacity=rng.uniform(0.02, 0.1, zones) * floor,
        mass_area=2.5 * floor,
        surface_area=4.5 * floor,
        window_conductance=rng.uniform(0, 2e-3, zones) * floor,
        opaque_conductance=rng.uniform(0, 2e-3, zones) * floor,
        heating_power_max=rng.choice([np.inf, 0.01], zones) * floor,
        cooling_power_max=rng.choice([np.inf, 0.01], zones) * floor,
        emission=(emission[0], emission[1], emission[2]),
    )
    ambient, supply = rng.uniform(-15, 35, (2, periods, zones))
    flow = rng.choice([0.0, 1e-3], (periods, 1)) * floor
    inner, solar = rng.uniform(0, 0.02, (2, periods, zones)) * floor
    hours = rng.choice([0.5, 1.0], periods)
    run = zone.simulate(
        ambient,
        hours[:, None],
        ventilation=flow,
        initial_mass=rng.uniform(15, 25, zones),
        supply=supply,
        internal_gains=inner,
        solar_gains=solar,
        heating_setpoint=20.0,
        cooling_setpoint=26.0,
        controlled=controlled,
        scheme=scheme,
    )
    h_w, h_at = np.asarray(zone.window_conductance), 9.1 * 4.5 * floor / 1000
    gains = inner + solar - h_w / h_at * (0.5 * inner + solar)  # the standard's share that leaves
    net = (
        gains
        + run.heating
        - run.cooling
        - h_w * (run.surface - ambient)
        - flow * (run.air - supply)
        - zone.outer_conductance * (run.mass_mean - ambient)
    )
    stored = np.diff(run.mass, axis=0) * np.asarray(zone.mass_capacity)
    size = np.abs(stored).max() + np.abs(gains).max() + run.heating.max() + 1.0
    assert np.abs(stored - hours[:, None] * net).max() <= 1e-9 * size
    held = run.air if controlled == "air" else run.operative
    limited = np.isclose(run.heating, zone.heating_power_max) | np.isclose(
        run.cooling, zone.cooling_power_max
    )
    assert ((held > 20 - 1e-6) & (held < 26 + 1e-6) | limited).all()
    assert (run.unmet[~limited] == 0).all()
    assert not ((run.heating > 0) & (run.cooling > 0)).any()
    assert held[run.heating > 0].max(initial=0) <= 20 + 1e-6


def test_the_exact_scheme_is_the_network_of_five_resistances() -> None:
    rng, zone = np.random.default_rng(4), office(emission=(0.5, 0.5, 0.0))
    ambient, flow = rng.uniform(-5, 30, 50), 0.05
    ours = zone.simulate(
        ambient, 0.5, ventilation=flow, initial_mass=18.0, heating_setpoint=90.0, scheme="exact"
    )
    load = float(np.asarray(zone.heating_power_max))
    network = zone.network(flow)
    other = network.simulate(
        {"ambient": ambient, "supply": ambient},
        0.5,
        {"air": load / 2, "surface": load / 2},
        initial={"mass": 18.0},
    )
    assert ours.heating == pytest.approx([load] * 50)
    assert ours.mass == pytest.approx(other.temperature[:, 2], rel=1e-11)
    assert ours.air == pytest.approx(other.mean_temperature[:, 0], rel=1e-11)
    assert ours.surface == pytest.approx(other.mean_temperature[:, 1], rel=1e-11)


def test_both_schemes_meet_when_the_steps_are_short() -> None:
    runs = [
        office()
        .simulate(np.full(24 * 20, 5.0), 1 / 20, ventilation=0.05, initial_mass=20.0, scheme=scheme)
        .mass[-1]
        for scheme in ("standard", "exact")
    ]
    assert runs[0] == pytest.approx(runs[1], abs=1e-5)


def test_a_year_of_many_zones_side_by_side_is_that_of_each_alone() -> None:
    ambient = 10 + 12 * np.sin(np.arange(400) / 30)
    capacity = np.array([1.0, 2.0, 5.0])
    both = office(mass_capacity=capacity).simulate(
        ambient[:, None],
        1.0,
        ventilation=0.05,
        initial_mass=20.0,
        heating_setpoint=20.0,
        cooling_setpoint=24.0,
    )
    for place, one in enumerate(capacity):
        alone = office(mass_capacity=float(one)).simulate(
            ambient,
            1.0,
            ventilation=0.05,
            initial_mass=20.0,
            heating_setpoint=20.0,
            cooling_setpoint=24.0,
        )
        assert both.heating[:, place] == pytest.approx(alone.heating, abs=1e-12)
        assert both.mass[:, place] == pytest.approx(alone.mass, rel=1e-13)
    after, first = office(mass_capacity=capacity).step(
        [20.0, 20.0, 20.0],
        1.0,
        ambient=ambient[0],
        ventilation=0.05,
        heating_setpoint=20.0,
        cooling_setpoint=24.0,
        controlled="air",
    )
    assert after == pytest.approx(both.mass[1], rel=1e-13)
    assert first.heating[0] == pytest.approx(both.heating[0], abs=1e-12)


def test_wrong_zones_say_what_is_wrong() -> None:
    with pytest.raises(ParameterError, match="opaque conductance"):
        office(opaque_conductance=10.0)
    with pytest.raises(ParameterError, match=r"adds up to 0\.5"):
        office(emission=(0.5, 0.0, 0.0))
    with pytest.raises(ParameterError, match="medium"):
        Zone5R1C.from_building(
            floor_area=1.0,
            mass_class="stone",  # type: ignore[arg-type]
            window_area=0,
            window_u=0,
            opaque_area=0,
            opaque_u=0,
        )
    with pytest.raises(ParameterError, match="26 degC, lies above the one for cooling, 20 degC"):
        office().simulate(
            [0.0],
            1.0,
            ventilation=0.0,
            initial_mass=20.0,
            heating_setpoint=26.0,
            cooling_setpoint=20.0,
        )
    with pytest.raises(ParameterError, match="'guess'"):
        office().simulate(
            [0.0],
            1.0,
            ventilation=0.0,
            initial_mass=20.0,
            scheme="guess",  # type: ignore[arg-type]
        )
    with pytest.raises(ParameterError, match="solar gains"):
        office().simulate(
            [0.0, 1.0], 1.0, ventilation=0.0, initial_mass=20.0, solar_gains=[1.0, 2.0, 3.0]
        )
    assert list(MASS_CLASSES) == ["very light", "light", "medium", "heavy", "very heavy"]
