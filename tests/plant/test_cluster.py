"""Buildings of a cluster: one plant of all, each alone, and what the shared connection allows."""

import csv
import json
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from click.testing import CliRunner

from engiagent import Site
from engiagent.cli.app import app
from engiagent.environment.environment import Environment
from engiagent.plant import PlantError
from engiagent.problems.reference import optimum, store

LOAD = [2.0, 1.0, 3.0, 5.0, 6.0, 4.0]
PRICE = [0.1, 0.2, 0.15, 0.4, 0.5, 0.3]
HOUSE = """\
title: House
horizon: {start: 2026-02-01, step: 1 h, periods: 6}
components:
  grid: {model: grid, import_price: "prices.csv#price [EUR/kWh]", import_power_max: 12 kW}
  people: {model: load, power: [2 kW, 1 kW, 3 kW, 5 kW, 6 kW, 4 kW]}
  battery: {model: battery, energy_capacity: 8 kWh, initial_energy: 50 %, final_energy_min: 50 %,
            charge_power_max: 4 kW, discharge_power_max: 4 kW,
            charge_efficiency: 90 %, discharge_efficiency: 95 %}
requirements:
  charging: battery.charge[t] <= 3.5 kW
goal: {minimize: cost}
"""
CLUSTER = """\
title: Two houses
horizon: {start: 2026-02-01, step: 1 h, periods: 6}
buildings:
  north: house.yaml
  south: {plant: house.yaml, set: {battery.energy_capacity: 2 kWh, grid.import_power_max: 5.5 kW}}
limit: {import: LIMIT}
goal: {minimize: cost}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = (f"2026-02-01T{hour:02}:00,{price}\n" for hour, price in enumerate(PRICE))
    (tmp_path / "prices.csv").write_text("time,price\n" + "".join(rows))
    (tmp_path / "house.yaml").write_text(HOUSE)
    return tmp_path


def cluster(folder: Path, limit: str = "100 kW", text: str = CLUSTER) -> Path:
    path = folder / "street.yaml"
    path.write_text(text.replace("LIMIT", limit))
    return path


def cost(path: Path) -> float:
    return float(Site.load(path).solve(progress=False).objective or np.nan)


def reference(limit: float) -> float:
    """Return the least cost of both houses by a linear program that is written by hand."""
    drawn, rules = cp.Variable((2, 6), bounds=[0, np.repeat([[12.0], [5.5]], 6, axis=1)]), []
    for own, capacity in zip(drawn, (8.0, 2.0), strict=True):
        half, room = capacity / 2, (0.0, capacity)
        put, taken, limits = store(6, half, room, (3.5, 4.0), (0.9, 0.95), end=half)
        rules += [*limits, own + taken == np.array(LOAD) + put]
    total = cp.sum(drawn, axis=0)
    return optimum(cp.Minimize(np.array(PRICE) @ total), [*rules, total <= limit])


@pytest.mark.parametrize("limit", [100.0, 10.0, 9.0])
def test_a_cluster_costs_what_a_program_by_hand_costs(folder: Path, limit: float) -> None:
    assert cost(cluster(folder, f"{limit} kW")) == pytest.approx(reference(limit), rel=1e-9)


def test_buildings_add_up_where_the_limit_does_not_bind(folder: Path) -> None:
    small = HOUSE.replace("8 kWh", "2 kWh").replace("12 kW", "5.5 kW")
    (folder / "small.yaml").write_text(small)
    apart = cost(folder / "house.yaml") + cost(folder / "small.yaml")
    assert cost(cluster(folder)) == pytest.approx(apart, rel=1e-9)
    assert cost(cluster(folder, "9 kW")) > apart + 1e-3


def test_a_building_runs_in_the_cluster_as_it_does_alone(folder: Path) -> None:
    alone = Environment.load(folder / "house.yaml")
    text = CLUSTER.replace("north: house.yaml", "north: {plant: house.yaml, count: 2}")
    joined = Environment.load(cluster(folder, text=text))
    own = alone.run(lambda now: {"battery.charge": 2.0}, seconds=900)
    all_of_them = joined.run(lambda now: {"north2_battery.charge": 2.0}, seconds=900)
    for name, series in own.items():
        there = all_of_them[f"north2_{name}"]
        assert there.values == pytest.approx(series.values, abs=1e-12), name
    assert not all_of_them["north1_battery.charge"].values.any()
    assert joined.imbalance < 1e-9


def test_a_cluster_is_written_as_the_one_plant_that_it_is(folder: Path) -> None:
    path = cluster(folder, "9 kW")
    (folder / "flat.yaml").write_text(Site.load(path).to_yaml())
    assert cost(folder / "flat.yaml") == pytest.approx(cost(path), rel=1e-12)


def test_its_run_is_checked_without_the_folder_it_came_from(folder: Path) -> None:
    out = folder / "run"
    ran = CliRunner().invoke(app, ["run", str(cluster(folder, "9 kW")), "--out", str(out)])
    assert ran.exit_code == 0, ran.output
    for path in (*folder.glob("*.yaml"), folder / "prices.csv"):
        path.unlink()
    checked = CliRunner().invoke(app, ["check", str(out)])
    assert checked.exit_code == 0, checked.output
    assert "the stored certificate holds" in checked.output


def test_each_building_alone_keeps_its_share_or_breaks_the_limit(folder: Path) -> None:
    text = CLUSTER.replace("battery.energy_capacity: 2 kWh, ", "").replace("5.5 kW", "4 kW")
    path = cluster(folder, "8 kW", text)
    (folder / "house.yaml").write_text(HOUSE.replace(", final_energy_min: 50 %", ""))
    arguments = ["control", str(path), "--out", str(folder / "loop"), "--json"]
    arguments += ["--end", "repeat", "--horizon", "6", "--steps", "6", "--plant", "environment"]
    for rule in ("equal", "connection", "unlimited"):
        arguments += ["--per-building", rule]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    about = json.loads(result.stdout)
    # By their connections the small one gets 2 kW, less than it needs.
    assert "south alone, connection: " in str(about["notes"])
    assert "equal" not in str(about["notes"])
    found = {
        name: {f["name"]: f["value"] for f in figures if f["component"] == "cluster"}
        for name, figures in about["against"].items()
    }
    equal, free = found["per building, equal"], found["per building, unlimited"]
    assert equal["limit_exceeded"] == 0.0
    assert equal["peak_import"] <= 8.0 + 1e-6
    assert free["limit_exceeded"] > 0.5
    assert free["energy_cost"] < equal["energy_cost"]
    own = {f["name"]: f["value"] for f in about["assessment"] if f["component"] == "cluster"}
    for record, figures in (("plant", own), ("per-building-equal", equal)):
        with (folder / "loop" / f"{record}.csv").open() as file:
            rows = list(csv.DictReader(file))
        drawn = [sum(float(r[f"{b}_grid.import [kW]"]) for b in ("north", "south")) for r in rows]
        assert figures["energy_cost"] == pytest.approx(float(np.dot(PRICE, drawn)), rel=1e-6)


@pytest.mark.parametrize(
    ("was", "wrong", "said"),
    [
        ("initial_energy", "initial_enery", "house.yaml:6:53: north_battery .* 'initial_energy'"),
        ("battery.charge[t]", "batery.charge[t]", "house.yaml:10:13: .*no component 'batery'"),
        ("plant: house.yaml", "plant: hause.yaml", "street.yaml:5:18: hause.yaml is not there"),
        ("{battery.energy", "{batery.energy", "street.yaml:5:36: south: .*expected 'battery'"),
        ("import: LIMIT", "import: 9", "street.yaml:6:17: limit.import: no power"),
        ("import: LIMIT", "import: 9 kW, at: mains", "street.yaml:6:27: no building .*'mains'"),
        ("north: house", "no-rth: house", "no name of a component"),
        ("limit:", "shared: {roof.power: 1 kW}\nlimit:", "street.yaml:6:10: no building .*'roof'"),
        ("limit:", "components: {north_grid: {model: grid}}\nlimit:", "a second north_grid"),
    ],
)
def test_what_is_wrong_is_said_of_the_file_in_which_it_stands(
    folder: Path, was: str, wrong: str, said: str
) -> None:
    for name, text in (("house.yaml", HOUSE), ("street.yaml", CLUSTER)):
        (folder / name).write_text(text.replace(was, wrong, 1).replace("LIMIT", "9 kW"))
    with pytest.raises(PlantError, match=said):
        Site.load(folder / "street.yaml")
