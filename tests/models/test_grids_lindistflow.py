"""The linear voltages against the AC power flow, which a plan is judged by."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from engiagent.models.grids import Bus, Feeder, Line, Shunt, lindistflow, sensitivities
from engiagent.models.ranges import Floats, ParameterError
from tests.models.test_grids import ACTIVE, REACTIVE, baran_wu, feeders, village


def test_published_linear_voltage_of_baran_and_wu() -> None:
    # By hand along the path 1-2-...-18: the sums of r P + x Q behind each branch.
    feeder = baran_wu()
    square, path = 1.0, [*range(1, 19)]
    behind = {18: [18]}
    children: dict[int, list[int]] = {}
    for branch in feeder.lines:
        if branch.closed:
            children.setdefault(int(branch.from_bus), []).append(int(branch.to_bus))
    for bus in range(33, 0, -1):
        todo, found = [bus], []
        while todo:
            found.append(todo.pop())
            todo += children.get(found[-1], [])
        behind[bus] = found
    for begin, end in pairwise(path):
        branch = next(b for b in feeder.lines if b.name == f"{begin}-{end}")
        rows = np.array(behind[end]) - 1
        volts = branch.resistance * ACTIVE[rows].sum() + branch.reactance * REACTIVE[rows].sum()
        square -= 2 * volts / 1000 / 12.66**2
    assert lindistflow(feeder, ACTIVE, REACTIVE)[0, 17] == pytest.approx(np.sqrt(square), abs=1e-12)


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


def test_sensitivities_are_derivatives_of_the_power_flow_without_load() -> None:
    """Without charging and shunts the no-load point is flat and both forms share their slope."""
    parts = village()
    feeder = Feeder(
        buses=parts.buses,
        lines=tuple(
            Line(
                name=line.name,
                from_bus=line.from_bus,
                to_bus=line.to_bus,
                resistance=line.resistance,
                reactance=line.reactance,
            )
            for line in parts.lines
        ),
        transformers=tuple(
            type(unit)(**{**vars(unit), "no_load_current": 0.0, "no_load_loss": 0.0})
            for unit in parts.transformers
        ),
        source="hv",
        source_voltage=1.0,
    )
    by_active, by_reactive, charging, factor = sensitivities(feeder)
    assert charging == pytest.approx(0.0)
    step = 1e-3 * np.eye(5)
    zero = np.zeros((5, 5))
    for matrix, up, down in (
        (by_active, (step, zero), (-step, zero)),
        (by_reactive, (zero, step), (zero, -step)),
    ):
        rise = feeder.flow(*up).voltage ** 2 - feeder.flow(*down).voltage ** 2
        assert pytest.approx(matrix, rel=1e-6, abs=1e-12) == -(rise / 2e-3).T
    assert feeder.flow(np.zeros(5)).voltage[0] == pytest.approx(1 / np.sqrt(factor), rel=1e-12)


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
    with pytest.raises(ParameterError, match="radial"):
        lindistflow(baran_wu(ties_closed=True), ACTIVE)
    buses = tuple(Bus(name=name, nominal_voltage=0.4) for name in "ab")
    line = Line(name="l", from_bus="a", to_bus="b", resistance=0.16, reactance=0.0)
    with pytest.raises(ParameterError, match="nan at b in period 0"):
        lindistflow(Feeder(buses=buses, lines=(line,), source="a"), [0.0, np.nan])


def test_capacitors_and_charging_raise_the_linear_voltage_as_the_true_one() -> None:
    buses = tuple(Bus(name=name, nominal_voltage=10.0) for name in "ab")
    errors = []
    for part in (1.0, 0.5):
        line = Line(
            name="l",
            from_bus="a",
            to_bus="b",
            resistance=1.0,
            reactance=2.0,
            susceptance=400.0 * part,
        )
        bank = Shunt(bus="b", active_power=10.0 * part, reactive_power=-200.0 * part)
        feeder = Feeder(buses=buses, lines=(line,), shunts=(bank,), source="a")
        linear, true = lindistflow(feeder, [0.0, 0.0]), feeder.flow([0.0, 0.0]).voltage
        assert linear[0, 1] > 1.001
        errors.append(abs(linear[0, 1] - true[0, 1]))
    assert errors[0] < 0.01 * 0.004
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
