"""The linear voltages against the AC power flow, which a plan is judged by."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from engiagent.models.grids import Bus, Feeder, Line, lindistflow
from engiagent.models.ranges import Floats, ParameterError
from tests.models.test_grids import ACTIVE, REACTIVE, baran_wu, feeders


@pytest.mark.parametrize("feed_in", [False, True])
def test_without_charging_the_linear_voltage_is_never_below_the_true_one(feed_in: bool) -> None:
    feeder = baran_wu()
    share = np.linspace(0, 1.5, 7)[:, None]
    sign = np.where(np.arange(33) % 3 == 0, -2.0, 1.0) if feed_in else 1.0
    active, reactive = share * ACTIVE * sign, share * REACTIVE
    linear = lindistflow(feeder, active, reactive)
    true = feeder.flow(active, reactive).voltage
    assert (linear >= true - 1e-12).all()
    assert linear[0] == pytest.approx(1.0)


def test_with_charging_above_nominal_voltage_the_true_one_may_be_higher() -> None:
    cable: Any = {"name": "c", "from_bus": "a", "to_bus": "b", "resistance": 0.5, "reactance": 2.0}
    feeder = Feeder(
        buses=tuple(Bus(name=name, nominal_voltage=20.0) for name in "ab"),
        source="a",
        source_voltage=1.1,
        lines=(Line(**cable, susceptance=5000.0),),
    )
    nothing = np.zeros((1, 2))
    linear, true = lindistflow(feeder, nothing), feeder.flow(nothing).voltage
    assert true[0, 1] > linear[0, 1] + 1e-4  # no power at all, let alone any feed-in


def test_the_error_shrinks_with_the_square_of_the_demand() -> None:
    feeder = baran_wu()
    share = np.array([[0.02], [0.01]])
    linear = lindistflow(feeder, share * ACTIVE, share * REACTIVE)
    error = np.abs(linear - feeder.flow(share * ACTIVE, share * REACTIVE).voltage).max(axis=1)
    assert error[0] / error[1] == pytest.approx(4.0, rel=0.02)


@given(feeders())
def test_linear_voltages_are_near_the_true_ones(case: tuple[Feeder, Floats, Floats]) -> None:
    feeder, active, reactive = case
    small = 0.02
    linear = lindistflow(feeder, small * active, small * reactive)
    true = feeder.flow(small * active, small * reactive).voltage
    assert np.abs(linear - true).max() < 5e-3


def test_where_the_linear_form_means_nothing_it_refuses() -> None:
    with pytest.raises(ParameterError, match="far beyond what the feeder can carry"):
        lindistflow(baran_wu(), 20.0 * ACTIVE, 20.0 * REACTIVE)
    buses = tuple(Bus(name=name, nominal_voltage=0.4) for name in "ab")
    line = Line(name="l", from_bus="a", to_bus="b", resistance=0.16, reactance=0.0)
    with pytest.raises(ParameterError, match="active power is nan"):
        lindistflow(Feeder(buses=buses, lines=(line,), source="a"), [0.0, np.nan])
