"""A state that no sensor shows is found as fast as theory says, wherever it began."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from engiagent import Site
from engiagent.control import ClosedLoop
from engiagent.environment.interface import Signal
from engiagent.environment.signals import Connected, Signals
from engiagent.errors import InputError
from engiagent.models.buildings import HeatNetwork, Link, Node

PLAN = """\
title: House
horizon: {start: 2026-01-10, step: 15 min, periods: 96}
components:
  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh}
  house:
    model: rc_network
    nodes:
      air: {capacity: 0.4 kWh/K, initial_temperature: 21 degC}
      wall: {capacity: 5 kWh/K, initial_temperature: 19 degC}
    links:
      inner: {one: air, other: wall, resistance: 2 K/kW}
      outer: {one: wall, other: outside, resistance: 6 K/kW}
    boundaries: {outside: 0 degC}
    heated: {air: 12 kW}
    heat_bus: heat
    comfort: {air: {low: 20 degC}}
  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 12 kW, cop: 3}
goal: {minimize: cost}
"""
SIGNALS = """\
inputs: {house.heating: heater}
outputs: {house.air.temperature: {from: sensor, deviation: 0.05 K}}
estimated: {house.air.temperature: 0.01 K, house.wall.temperature: 0.0005 K}
"""
STEP = HeatNetwork(
    nodes=(Node(name="air", capacity=0.4), Node(name="wall", capacity=5.0)),
    links=(
        Link(one="air", other="wall", conductance=1 / 2),
        Link(one="wall", other="outside", conductance=1 / 6),
    ),
    boundaries=("outside",),
).discretise(0.25)
WALL = 12.0
"""Where the wall really begins, 7 K below the plan's. [degC]"""


class House:
    """The house of the plan, with a sensor in the air alone."""

    signals: ClassVar = {"heater": Signal("kW", "action", 0.0), "sensor": Signal("degC", "state")}

    def initialize(self, seconds: float) -> None:
        assert seconds == 900

    def reset(self, initial: Any = None, seed: int = 0) -> dict[str, float]:
        self.truth = [np.array([21.0, WALL])]
        return {"sensor": 21.0}

    def step(self, inputs: Any) -> dict[str, float]:
        drive = STEP.drive @ [0.0, inputs["heater"], 0.0]
        self.truth.append(STEP.transition @ self.truth[-1] + drive)
        return {"sensor": float(self.truth[-1][0])}


def controlled(folder: Path, signals: str, steps: int = 24) -> tuple[ClosedLoop, np.ndarray]:
    """Return a loop and by how much the estimate of each state was off at each instant. [K]."""
    (folder / "plan.yaml").write_text(PLAN)
    (folder / "signals.yaml").write_text(signals)
    house = House()
    plant = Connected(house, Signals.load(folder / "signals.yaml"))
    loop = Site.load(folder / "plan.yaml").control(steps, plant=plant, progress=False)
    (known,) = (v.values for n, v in loop.log.items() if str(n).endswith("__measured"))
    known = np.vstack([known, *loop.state.values()])
    return loop, known - np.array(house.truth)


def textbook(first: float, read: float = 0.05, steps: int = 24) -> np.ndarray:
    """Return the same of a filter that begins 7 K off, of which it believes ``first``. [K]."""
    a, q, h = STEP.transition, np.diag([0.01**2, 0.0005**2]), np.array([1.0, 0.0])
    p, off = np.diag([read**2, first**2]), [np.array([0.0, 19.0 - WALL])]
    for _ in range(steps):
        p = a @ p @ a.T + q
        k = p @ h / (h @ p @ h + read**2)
        p = p - np.outer(k, h @ p)
        off.append((np.eye(2) - np.outer(k, h)) @ a @ off[-1])
    return np.array(off)


@pytest.mark.parametrize("read", [0.05, 0.0])
def test_a_hidden_state_is_found_as_fast_as_theory_says(tmp_path: Path, read: float) -> None:
    """A time-varying filter, from the deviation that is stated; also where readings are exact."""
    signals = SIGNALS.replace("deviation: 0.05 K", f"deviation: {read} K")
    signals += "initial_deviation: {house.wall.temperature: 5 K}\n"
    loop, off = controlled(tmp_path, signals)
    assert off == pytest.approx(textbook(5.0, read), abs=1e-4)
    assert abs(off[8, 1]) < 0.1 < 7.0 == off[0, 1]
    assert any("house.wall.temperature: estimated" in note for note in loop.notes)


def test_what_is_not_stated_is_what_a_horizon_without_readings_adds(tmp_path: Path) -> None:
    a, q = STEP.transition, np.diag([0.01**2, 0.0005**2])
    loop, off = controlled(tmp_path, SIGNALS)
    powers = [np.linalg.matrix_power(a, k) for k in range(loop.runner.horizon.size + 1)]
    reached = sum(power @ q @ power.T for power in powers)
    assert off == pytest.approx(textbook(float(np.sqrt(reached[1, 1]))), abs=1e-4)


def test_a_wall_that_is_found_keeps_the_room_warm(tmp_path: Path) -> None:
    """A plan that believes in a warm wall heats too little, step by step."""
    cold = []
    for more in ("", "initial_deviation: {house.wall.temperature: 5 K}\n"):
        loop, _ = controlled(tmp_path, SIGNALS + more, 48)
        assert loop.plant is not None
        room = loop.plant["house.air.temperature"].values
        cold.append(float(np.maximum(20 - room, 0).sum() / 4))
    assert cold[1] < 0.25 * cold[0]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("{house.wal.temperature: 5 K}", "house.wal.temperature in initial_deviation is no state"),
        ("{house.wall.temperature: 5 kW}", "kW and K measure different things"),
        ("5 K", "initial_deviation is no mapping"),
    ],
)
def test_a_wrong_beginning_is_refused(tmp_path: Path, more: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        controlled(tmp_path, f"{SIGNALS}initial_deviation: {more}\n")
