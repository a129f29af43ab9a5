"""Figures of loops and simulations: emissions, those of BOPTEST, and limits that runs exceed."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from engiagent.cli.app import app

SITE = """title: Two rooms
horizon: {start: 2026-01-10, step: 5 min, periods: 48}
components:
  grid: {model: grid, import_price: 0.3 EUR/kWh, import_power_max: 1 kW, emission_factor: STEPS}
  people: {model: load, power: 0.2 kW}
  north: {model: thermal_zone, capacitance: 1 kWh/K, resistance: 8 K/kW,
          initial_temperature: 19.9 degC, ambient_temperature: 2 degC}
  south: {model: thermal_zone, capacitance: 1 kWh/K, resistance: 8 K/kW,
          initial_temperature: 20.5 degC, ambient_temperature: 2 degC}
  pump: {model: heater, zone: north, electric_power_max: 1.1 kW, cop: 3}
  stove: {model: heater, zone: south, electric_power_max: 1.1 kW, cop: 3}
requirements:
  warm: {for: t in T, must: "20 degC <= north.temperature[t] <= 22 degC", penalty: 9 EUR/K}
  cosy: {for: t in T, must: "20 degC <= south.temperature[t] <= 21 degC", penalty: 9 EUR/K}
goal: {minimize: cost}
"""
FACTOR = [0.3 + 0.01 * (k % 5) for k in range(48)]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    values = ", ".join(f"{1000 * value:g} g/kWh" for value in FACTOR)
    path = tmp_path / "rooms.yaml"
    path.write_text(SITE.replace("STEPS", f"[{values}]"))
    return path


def called(*words: object) -> tuple[dict[str, Any], str]:
    done = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert done.exit_code in (0, 1), done.output
    return json.loads(done.stdout), " ".join(done.stderr.split())


def columns(path: Path) -> dict[str, np.ndarray[Any, Any]]:
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def test_key_figures_of_a_loop_are_those_that_boptest_defines(site: Path, tmp_path: Path) -> None:
    """Recomputed from the record: BOPTEST has K h over zones, 15 minutes, and square metres."""
    out, area, rules = tmp_path / "out", "192 m2", tmp_path / "rules.yaml"
    rules.write_text(
        "pump.electric_power: {levels: [0 kW, 1.1 kW], hold: 5 min, seed: 1}\n"
        "stove.electric_power: {levels: [0 kW, 1.1 kW], hold: 10 min, seed: 3}\n"
    )
    given = ["--plant", "environment", "--steps", "24", "--floor-area", area, "--out", out]
    found, _ = called("control", site, *given, "--against", rules)
    assert found["floor_area"] == {"value": 192.0, "unit": "m2"}
    judged = {(f["name"], f["component"]): f["value"] for f in found["against"][str(rules)]}
    record = columns(out / "against-rules.csv")
    drawn = record["grid.import [kW]"].astype(float)
    peak = drawn.reshape(-1, 3).mean(axis=1).max()
    assert judged["peak_15min", None] == pytest.approx(peak)
    assert judged["peak_import", "grid"] == pytest.approx(drawn.max())
    assert drawn.max() > 1.05 * peak
    assert judged["peak_15min_per_m2", None] == pytest.approx(peak / 192)
    assert judged["import_per_m2", None] == pytest.approx(drawn.sum() / 12 / 192)
    assert judged["energy_cost_per_m2", None] == pytest.approx(0.3 * drawn.sum() / 12 / 192)
    emitted = float(drawn @ FACTOR[:24]) / 12
    assert judged["emissions", "grid"] == pytest.approx(emitted)
    assert judged["emissions_per_m2", None] == pytest.approx(emitted / 192)
    total = judged["discomfort", "north"] + judged["discomfort", "south"]
    sides = (judged["discomfort_below", "north"], judged["discomfort_above", "north"])
    assert judged["discomfort", "north"] == pytest.approx(sum(sides))
    assert total > 0
    assert judged["discomfort", None] == pytest.approx(total)
    assert judged["discomfort_per_zone", None] == pytest.approx(total / 2)


def test_limits_that_a_run_exceeds_are_named_with_how_much_and_how_long(
    site: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    found, said = called("simulate", site, "--controller", "thermostat", "--out", out)
    drawn = columns(out / "data.csv")["grid.import [kW]"].astype(float)
    over = np.maximum(drawn - 1.0, 0.0)
    (item,) = found["exceeded"]
    assert (item["limit"], item["quantity"]) == ("grid.import_power_max", "grid.import")
    assert over.max() > 0
    assert item["most"] == pytest.approx(over.max())
    assert item["total"] == pytest.approx(over.sum() / 12)
    assert item["hours"] == pytest.approx((over > 0).sum() / 12)
    assert item["at"] == columns(out / "data.csv")["time"][over.argmax()]
    (note,) = found["notes"]
    assert note in said
    assert f"(up to {over.max():.4g} kW) of grid.import were above its limit" in note
    assert json.loads((out / "simulation.json").read_text())["exceeded"] == [item]
    assert found["emissions"]["value"] == pytest.approx(float(drawn @ FACTOR) / 12)
    # The plan keeps what the rule on the same plant does not.
    given = ["--plant", "environment", "--steps", "24", "--out", tmp_path / "loop"]
    loop, said = called("control", site, *given, "--against", "thermostat")
    assert loop["exceeded"] == []
    (note,) = [note for note in loop["notes"] if "limit" in note]
    assert note.startswith("against thermostat: ")
    assert note in said


def test_a_tank_below_its_least_temperature_is_told(tmp_path: Path) -> None:
    """Nothing heats it: 50 degC decay to 20 degC with U/C = 0.02/0.2 per hour."""
    (tmp_path / "tank.yaml").write_text("""title: Tank
horizon: {start: 2026-01-10, step: 1 h, periods: 6}
components:
  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh}
  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 5 kW, cop: 3}
  tank: {model: tank, heat_bus: heat, mass: 172 kg, loss_conductance: 20 W/K,
         ambient_temperature: 20 degC, initial_temperature: 50 degC, temperature_min: 45 degC}
goal: {minimize: cost}
""")
    found, _ = called("simulate", tmp_path / "tank.yaml", "--out", tmp_path / "out")
    (item,) = found["exceeded"]
    shown = 20 + 30 * np.exp(-0.1 * np.arange(1, 7))
    assert (item["limit"], item["side"], item["unit"]) == ("tank.temperature_min", "below", "K")
    assert item["most"] == pytest.approx(45 - shown.min(), rel=1e-2)
    assert item["hours"] == (shown < 45).sum()


def test_warm_water_that_is_drawn_colder_than_wanted_is_told(tmp_path: Path) -> None:
    """The draws of the last hours take 0.05 kg/s from 10 to 45 degC out of 172 kg of water."""
    (tmp_path / "tank.yaml").write_text("""title: Tank
horizon: {start: 2026-01-10, step: 1 h, periods: 8}
components:
  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh}
  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 5 kW, cop: 3}
  tank: {model: hot_water_tank, heat_bus: heat, mass: 172 kg, initial_temperature: 50 degC,
         use: [0 kg/s, 0 kg/s, 0 kg/s, 0 kg/s, 0.05 kg/s, 0.05 kg/s, 0 kg/s, 0 kg/s],
         use_temperature: 45 degC}
goal: {minimize: cost}
""")
    found, _ = called("simulate", tmp_path / "tank.yaml", "--out", tmp_path / "out")
    below = {item["limit"]: item for item in found["exceeded"]}
    fall = 0.05 * 35 * 3600 / 172  # K in an hour
    wanted, frozen = below["tank.use_temperature"], below["tank.temperature_min"]
    assert wanted["most"] == pytest.approx(45 - (50 - 2 * fall))
    assert (wanted["hours"], frozen["hours"]) == (2, 3)  # nothing is drawn in the last two
    assert frozen["most"] == pytest.approx(2 * fall - 50)  # water does not cool below 0 degC


@pytest.mark.parametrize("area", ["0 m2", "192 m", "much"])
def test_what_is_no_floor_area_is_refused(site: Path, tmp_path: Path, area: str) -> None:
    given = ["control", str(site), "--steps", "2", "--floor-area", area]
    done = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "out")])
    assert done.exit_code not in (0, 1)
    assert "floor" in done.output
    assert "m2" in done.output
