"""Shapes that do not fit are named, never a traceback of numpy."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent.models.battery_losses import QuadraticLoss
from engiagent.models.chp import ExtractionChp
from engiagent.models.genset import Genset
from engiagent.models.pv import PvArray
from engiagent.models.ranges import ParameterError, increasing, over_time, within
from engiagent.models.recursion import linear_recursion
from engiagent.models.wind import WindTurbine

SETS = Genset(rated_power=[100.0, 50.0], fuel_slope=2.5)
TURBINE = WindTurbine(speeds=(3.0, 12.0), powers=(0.0, 900.0))
CHP = ExtractionChp(condensing_power_max=9.0, power_loss=0.1, power_to_heat=0.5, fuel_slope=3.0)
THREE, FOUR = np.ones(3), np.ones((4, 3))


@pytest.mark.parametrize(
    "build",
    [
        lambda: QuadraticLoss(rated_power=[1.0, 2.0], no_load=[0.1, 0.2, 0.3]),
        lambda: PvArray(dc_capacity=[1.0, 2.0], losses=[0.1, 0.2, 0.3]),
        lambda: PvArray(dc_capacity=[1.0, 2.0]).output(THREE, 20.0),
        lambda: PvArray(dc_capacity=1.0).output(THREE, [20.0, 21.0]),
        lambda: TURBINE.power(THREE, [1.1, 1.2]),
        lambda: TURBINE.running(FOUR, [True, False]),
        lambda: TURBINE.running(5.0),
        lambda: SETS.simulate(FOUR, np.ones((4, 3)), 1.0),
        lambda: SETS.simulate(np.ones(4), np.ones(4), 1.0),
        lambda: SETS.fuel_rate(THREE, True),
        lambda: CHP.fuel(THREE, [1.0, 2.0]),
        lambda: CHP.excess(THREE, [1.0, 2.0]),
        lambda: over_time(THREE, (4,), "the load"),
        lambda: within("full", "the load", "kW"),
        lambda: increasing([[1.0, 2.0]], "the points"),
    ],
)
def test_shapes_that_do_not_fit_are_named(build: Callable[[], object]) -> None:
    with pytest.raises(ParameterError, match="give"):
        build()


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40), st.booleans())
def test_the_recursion_is_the_loop_over_time(seed: int, length: int, keeps: bool) -> None:
    rng = np.random.default_rng(seed)
    factor = np.ones((length, 3)) if keeps else rng.uniform(0, 1, (length, 3))
    driven, value = rng.normal(size=(length, 3)), rng.normal(size=3)
    path = linear_recursion(factor, driven, value)
    for place in range(length):
        assert path[place] == pytest.approx(value, rel=1e-9, abs=1e-12)
        value = factor[place] * value + driven[place]
    assert path[-1] == pytest.approx(value, rel=1e-9, abs=1e-12)
