"""A house as an FMU, built without a compiler, and what names its signals."""

from pathlib import Path

import pytest

SIGNALS = """\
time_zero: 2026-01-01
warmup: 5 h
communication_step: 60 s
inputs:
  house.heating: {to: oveQ_u, unit: W, activate: oveQ_activate, read_back: oveQ_y}
outputs:
  house.air.temperature: {from: reaT_y, unit: K, deviation: 0.1 K}
  house.power: {from: oveQ_y, unit: W, mean: yes}
estimated: {house.wall.temperature: 0.05 K}
"""

PLANT = """\
title: House
horizon: {start: 2026-01-10, step: 15 min, periods: 192}
components:
  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh}
  house:
    model: rc_network
    nodes:
      air: {capacity: 0.4167 kWh/K, initial_temperature: 20 degC}
      wall: {capacity: 5.556 kWh/K, initial_temperature: 12 degC}
    links:
      inner: {one: air, other: wall, resistance: 2 K/kW}
      outer: {one: wall, other: outside, resistance: 6 K/kW}
    boundaries: {outside: 0 degC}
    heated: {air: 5 kW}
    heat_bus: heat
    comfort: {air: {low: 20 degC}}
  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 5 kW, cop: 3}
goal: {minimize: cost}
"""


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the FMU of ``house.py``, of two capacities with a thermostat of its own."""
    from pythonfmu.builder import FmuBuilder

    folder = tmp_path_factory.mktemp("fmu")
    script = Path(__file__).with_name("house.py")
    return Path(FmuBuilder.build_FMU(script, dest=folder))


@pytest.fixture
def site(house: Path, tmp_path: Path) -> Path:
    """Return a folder with the house, a plan of it and its signals."""
    (tmp_path / "house.yaml").write_text(PLANT)
    (tmp_path / "signals.yaml").write_text(SIGNALS)
    (tmp_path / "House.fmu").write_bytes(house.read_bytes())
    return tmp_path
