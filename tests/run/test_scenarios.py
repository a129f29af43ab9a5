"""Scenarios against a baseline: what is shed, shifted and drawn again is what was moved."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from engiagent.blueprint.timeaxis import build_axis
from engiagent.cli.app import app
from engiagent.environment.controllers import by_rules
from engiagent.environment.environment import Environment
from engiagent.errors import InputError
from engiagent.run.scenarios import Scenario, compare_scenarios

PRICES = [0.2] * 17 + [0.5] * 4 + [0.2] * 3
"""Of a day; the dear hours begin at 17:00."""


def site(folder: Path, load: list[float], days: int = 1) -> Environment:
    rows = (
        f"2026-08-{1 + h // 24:02d}T{h % 24:02d}:00,{p:.6f},{q:.9f}"
        for h, (p, q) in enumerate(zip(PRICES * days, load, strict=True))
    )
    (folder / "day.csv").write_text("\n".join(["time,price [EUR/kWh],load [kW]", *rows]) + "\n")
    (folder / "plant.yaml").write_text(
        """title: Shop
horizon: {step: 1 h}
components:
  grid: {model: grid, import_price: day.csv#price}
  shop: {model: load, power: day.csv#load}
  room: {model: thermal_zone, capacitance: 4 kWh/K, resistance: 5 K/kW, gains: 2 kW,
         initial_temperature: 24 degC, ambient_temperature: 30 degC}
  cooler: {model: cooler, zone: room, electric_power_max: 2 kW, cop: 3}
requirements: {cool: {for: t in T, must: "20 degC <= room.temperature[t] <= 25 degC"}}
goal: {minimize: cost}
"""
    )
    return Environment.load(folder / "plant.yaml")


def run(folder: Path, name: str, load: list[float], seconds: float = 3600.0) -> Scenario:
    plant = site(folder, load, len(load) // 24)
    return plant.scenario(name, plant.run(seconds=seconds))


ENERGY = st.floats(0.1, 5.0)


@given(ahead=ENERGY, later=ENERGY, saved=ENERGY, step=st.sampled_from(["15 min", "1 h"]))
def test_a_load_that_is_moved_by_hand_is_found_again(
    ahead: float, later: float, saved: float, step: str
) -> None:
    """Of steps of any length: the power of an hour is the energy that was moved."""
    steps = 4 if step == "15 min" else 1
    axis = build_axis("2026-08-01", step, 24 * steps, "Europe/Berlin")
    moved = np.full(24, 20.0)
    moved[[12, 18, 22]] += [ahead, -ahead - later - saved, later]
    price = {"site": np.repeat(PRICES, steps)}
    base, other = (
        Scenario(name, (), axis, {"site": np.repeat(power, steps)}, price)
        for name, power in (("base", np.full(24, 20.0)), ("moved", moved))
    )
    found = compare_scenarios([base, other])
    (item,) = found.flexibility
    assert found.windows["site"][0][0].startswith("2026-08-01T17:00")
    assert item.shed_kwh == pytest.approx(ahead + later + saved)
    assert item.shifted_kwh == pytest.approx(ahead + later)
    assert (item.preparation_kwh, item.rebound_kwh) == pytest.approx((ahead, later))
    assert item.rebound_peak_kw == pytest.approx(later)
    assert item.rebound_at is not None
    assert item.rebound_at.startswith("2026-08-01T22:00")
    assert item.peak_reduction_kw == pytest.approx(0.0, abs=1e-9)  # 17:00 stays as it was
    (back,) = compare_scenarios([other, base]).flexibility
    assert (back.shed_kwh, back.shifted_kwh) == pytest.approx((-item.shed_kwh, 0.0))


@pytest.mark.parametrize("seconds", [900.0, 3600.0])
def test_the_record_of_a_plant_costs_what_its_load_costs(tmp_path: Path, seconds: float) -> None:
    base = [20.0] * 24
    moved = [*base[:18], 15.0, *base[19:22], 23.0, *base[23:]]
    found = compare_scenarios(
        [run(tmp_path, name, load, seconds) for name, load in (("base", base), ("moved", moved))]
    )
    (item,) = found.flexibility
    assert (item.shed_kwh, item.shifted_kwh, item.rebound_kwh) == pytest.approx((5.0, 3.0, 3.0))
    cost = next(c for c in found.changes if c.name == "energy_cost")
    assert cost.values == pytest.approx((20.0 * sum(PRICES), 20.0 * sum(PRICES) - 2.5 + 0.6))


def test_what_is_saved_all_day_is_shed_and_not_shifted(tmp_path: Path) -> None:
    """The same cooling of 1.5 kW of electricity at a COP of 3 and of 1 kW at 4.5."""
    scenarios = []
    for name, cop, power in (("base", "3", 1.5), ("upgrade", "4.5", 1.0)):
        site(tmp_path, [1.0] * 24)
        path = tmp_path / "plant.yaml"
        path.write_text(path.read_text().replace("cop: 3", f"cop: {cop}"))
        plant = Environment.load(path)
        rule = by_rules({"cooler.electric_power": power}, plant.signals)
        scenarios.append(plant.scenario(name, plant.run(rule, seconds=1800)))
    found = compare_scenarios(scenarios, ["17:00..19:00"])
    (item,) = found.flexibility
    assert (item.shed_kwh, item.shifted_kwh, item.rebound_kwh) == pytest.approx((1.0, 0.0, 0.0))
    assert item.peak_reduction_percent == pytest.approx(100.0 * 0.5 / 2.5)
    changed = {c.name: c for c in found.changes if c.differs}
    assert changed["import"].differences[1] == pytest.approx(-12.0)
    assert changed["import"].percent[1] == pytest.approx(-20.0)
    assert not {"discomfort", "discomfort_above"} & set(changed)


def test_a_rebound_ends_with_the_recovery_and_with_the_next_window(tmp_path: Path) -> None:
    base = [5.0] * 48
    later = np.array(base)
    later[[19, 22, 30, 44]] += [-3.0, 1.0, 1.0, 1.0]
    scenarios = [run(tmp_path, "base", base), run(tmp_path, "later", later.tolist())]
    rebounds = [
        compare_scenarios(scenarios, recovery_hours=hours).flexibility[0].rebound_kwh
        for hours in (1.0, 6.0, 12.0)
    ]
    assert rebounds == pytest.approx([0.0, 1.0, 2.0])
    assert len(compare_scenarios(scenarios).windows["electricity"]) == 2
    (night,) = compare_scenarios(scenarios, ["22:00..07:00"]).flexibility
    assert night.shed_kwh == pytest.approx(-2.0)


@pytest.mark.parametrize(
    ("window", "said"),
    [
        ("17..20", "cannot be read"),
        ("2026-08-02T17:00..2026-08-02T20:00", "no period of the runs begins"),
    ],
)
def test_a_window_that_leads_nowhere_is_an_error(tmp_path: Path, window: str, said: str) -> None:
    scenarios = [run(tmp_path, name, [5.0] * 24) for name in ("one", "two")]
    with pytest.raises(InputError, match=said):
        compare_scenarios(scenarios, [window])
    with pytest.raises(InputError, match="not over the same periods"):
        compare_scenarios([scenarios[0], run(tmp_path, "days", [5.0] * 48)], ["17:00..20:00"])


def test_folders_of_simulations_and_of_a_loop_are_compared(tmp_path: Path) -> None:
    """What the command says of folders is what Python says of records; a loop is one of them."""
    site(tmp_path, [1.0] * 24)
    plant, runs = str(tmp_path / "plant.yaml"), [str(tmp_path / n) for n in ("base", "up", "loop")]
    upgrade = ["--set", "cooler.cop=4.5"]
    cooled = ["--inputs", str(tmp_path / "inputs.csv")]
    (tmp_path / "inputs.csv").write_text(
        "time,cooler.electric_power [kW]\n2026-08-01T00:00,1\n2026-08-01T12:00,1\n"
    )
    page = tmp_path / "compared.html"
    loop = ["--plant", "environment", "--horizon", "1", "--steps", "24", "--out", runs[2]]
    for words in (
        ["simulate", plant, *cooled, "--step", "1h", "--out", runs[0]],
        ["simulate", plant, *cooled, "--step", "1h", *upgrade, "--out", runs[1]],
        ["control", plant, *loop],
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code in (0, 1), done.stderr
    asked = ["runs", "compare", *runs, "--window", "17:00..21:00", "--html", str(page), "--json"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 1, done.output
    found = json.loads(done.stdout)
    named = {c["name"]: c["values"] for c in found["figures"]}
    assert named["energy_cost"][:2] == pytest.approx([2 * sum(PRICES)] * 2)
    stated = json.loads((tmp_path / "loop" / "loop.json").read_text())["assessment"]
    costs = [f["value"] for f in stated if f["name"] == "energy_cost"]
    assert named["energy_cost"][2:] == pytest.approx(costs)
    assert [item["scenario"] for item in found["flexibility"]] == ["up", "loop"]
    assert [run["state"] for run in found["runs"]] == ["done"] * 3
    assert "Flexibility" in page.read_text()
