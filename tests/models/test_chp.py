from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection

from engiagent.models.engines import ExtractionChp, PartLoadChp
from engiagent.models.ranges import ParameterError

ENGINE = PartLoadChp(
    rated_power=400.0,
    load=(0.5, 0.75, 1.0),
    electric_efficiency=(0.36, 0.39, 0.40),
    thermal_efficiency=(0.50, 0.47, 0.45),
)


def turbine(**change: float) -> ExtractionChp:
    return ExtractionChp(
        **{
            "condensing_power_max": 120.0,
            "condensing_power_min": 50.0,
            "power_loss": 0.15,
            "power_to_heat": 0.55,
            "fuel_no_load": 20.0,
            "fuel_slope": 2.1,
            "fuel_quadratic": 1e-3,
            **change,
        }
    )


@settings(deadline=None)
@given(st.floats(0.0, 500.0))
def test_an_engine_balances_and_its_fuel_rises(power: float) -> None:
    output = ENGINE.output(power)
    assert power + output.heat <= output.fuel + 1e-9
    if 200.0 <= power <= 400.0:
        found = brentq(lambda p: float(ENGINE.output(p).fuel - output.fuel), 190.0, 410.0)
        assert found == pytest.approx(power, rel=1e-9)


def test_the_turbine_of_oemofs_documentation() -> None:
    # oemof.solph, ExtractionTurbineCHP: efficiencies of 0.3 (power) and 0.5 (heat) under full
    # extraction, 0.5 (power) under full condensation; its main flow loss index is
    # (0.5 - 0.3) / 0.5, its fuel (P + 0.4 Q) / 0.5 and its back-pressure line P = 0.3 / 0.5 Q.
    chp = ExtractionChp(
        condensing_power_max=100.0, power_loss=0.4, power_to_heat=0.6, fuel_slope=1 / 0.5
    )
    assert chp.polygon() == pytest.approx(np.array([[0.0, 0.0], [100.0, 60.0], [0.0, 100.0]]))
    assert chp.fuel([60.0, 100.0], [100.0, 0.0]) == pytest.approx([200.0, 200.0])


@settings(deadline=None, max_examples=60)
@given(
    st.floats(0.01, 0.4),
    st.floats(0.2, 1.2),
    st.floats(0.0, 100.0),
    st.floats(-40.0, 40.0),
    st.floats(30.0, 400.0),
    st.booleans(),
)
def test_the_polygon_is_that_of_scipy(
    loss: float, ratio: float, least: float, offset: float, heat: float, open_heat: bool
) -> None:
    chp = turbine(
        power_loss=loss,
        power_to_heat=ratio,
        condensing_power_min=least,
        fuel_slope=200.0,
        back_pressure_offset=offset,
        heat_max=float("inf") if open_heat else heat,
    )
    matrix, limit = chp.halfplanes()
    norm = np.linalg.norm(matrix, axis=1)
    inner = linprog(
        [0, 0, -1], A_ub=np.column_stack((matrix, norm)), b_ub=limit, bounds=[(None, None)] * 3
    )
    corners = chp.polygon()
    if inner.x[2] < 1e-3:
        return
    theirs = HalfspaceIntersection(np.column_stack((matrix, -limit)), inner.x[:2]).intersections
    assert ConvexHull(corners).volume == pytest.approx(ConvexHull(theirs).volume, rel=1e-6)
    assert chp.excess(corners[:, 1], corners[:, 0]).max() <= 1e-6
    turn = np.roll(corners, -1, axis=0) - corners
    turned = np.roll(turn, -1, axis=0)
    assert (turn[:, 0] * turned[:, 1] - turn[:, 1] * turned[:, 0] > -1e-6).all()


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: turbine(fuel_slope=0.5, fuel_no_load=0.0), "less than both"),
        (lambda: turbine(power_loss=1.2), "below 1"),
        (lambda: turbine(condensing_power_min=130.0), "at most 120"),
        (lambda: turbine(power_loss=0.0, power_to_heat=0.0), "give heat_max"),
        (
            lambda: PartLoadChp(
                rated_power=1.0,
                load=(0.5, 1.0),
                electric_efficiency=(0.4, 0.4),
                thermal_efficiency=(0.5, 0.7),
            ),
            "total efficiency is 1.1",
        ),
        (
            lambda: PartLoadChp(
                rated_power=1.0, load=(0.5,), electric_efficiency=(0.4,), thermal_efficiency=(0.5,)
            ),
            "up to 1",
        ),
        (
            lambda: PartLoadChp(
                rated_power=1.0,
                load=(0.9, 1.0),
                electric_efficiency=(0.3, 0.4),
                thermal_efficiency=(0.5, 0.5),
            ),
            "rise less",
        ),
        (lambda: ENGINE.output(-1.0), "at least 0 kW"),
    ],
)
def test_what_means_nothing_is_refused(build: Callable[[], object], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        build()
