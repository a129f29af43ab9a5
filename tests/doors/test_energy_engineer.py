"""An energy engineer with pandas: quarter-hourly load beside hourly prices, in German CSV files."""

import ast
import math
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from engiagent import Site
from tests.doors.conftest import Door

ROOT = Path(__file__).parents[2]
PLANT = """
title: Bakery
horizon: {step: 15 min, zone: Europe/Berlin}
components:
  grid:
    model: grid
    import_price: preise.csv#Preis
    export_price: 40 EUR/MWh
    import_power_max: 90 kW
  bakery: {model: load, power: last.csv#Last}
  battery:
    model: battery
    energy_capacity: 120 kWh
    charge_power_max: 40 kW
    discharge_power_max: 40 kW
    charge_efficiency: 94 %
    discharge_efficiency: 96 %
    initial_energy: 25 %
requirements:
  full: battery.state_of_charge[end] >= battery.initial_energy
goal: {minimize: cost}
baseline: {without: [battery]}
"""


def german(path: str, stamps: pd.DatetimeIndex, header: str, values: list[float]) -> None:
    """Write a table as a meter's portal does: semicolons, decimal commas, days first."""
    rows = [
        f"{stamp:%d.%m.%Y %H:%M};{value:.4f}".replace(".", ",").replace(",", ".", 2)
        for stamp, value in zip(stamps, values, strict=True)
    ]
    Path(path).write_text("\n".join([f"Zeit;{header}", *rows]) + "\n", "utf-8")


@pytest.fixture
def day(door: Door) -> pd.DatetimeIndex:
    """The day on which clocks go forward: 23 hours of prices, 92 quarters of load."""
    begin, end = pd.Timestamp("2026-03-29"), pd.Timestamp("2026-03-30")
    hours = pd.date_range(begin, end, tz="Europe/Berlin", inclusive="left", freq="h")
    quarters = pd.date_range(begin, end, tz="Europe/Berlin", inclusive="left", freq="15min")
    prices = [0.21 + 0.1 * math.sin(k / 3.5) for k in range(len(hours))]
    load = [34 + 21 * math.cos(k / 11) for k in range(len(quarters))]
    german("preise.csv", hours, "Preis [EUR/kWh]", prices)
    german("last.csv", quarters, "Last [kW]", load)
    Path("plant.yaml").write_text(PLANT, "utf-8")
    return quarters


def objective(said: str) -> float:
    found = re.search(r"objective +([\d.,]+)", said)
    assert found is not None, said
    return float(found[1].replace(",", ""))


def test_the_first_example_of_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    first = re.search(r"^```python\n(.*?)^```", text, re.M | re.S)
    assert first is not None
    assert len(ast.parse(first[1]).body) <= 12


def test_from_two_files_to_a_plan(door: Door, day: pd.DatetimeIndex) -> None:
    with door.step("pandas: read both files"):
        how: dict[str, Any] = {"sep": ";", "decimal": ",", "index_col": 0}
        load, price = (pd.read_csv(name, **how).iloc[:, 0] for name in ("last.csv", "preise.csv"))
        assert len(price) == 23
        load.index = day
        price.index = pd.DatetimeIndex(day[::4])
        price = price.reindex(day, method="ffill")
    with door.step("Site: state, solve, check"):
        site = Site.over(day, title="Bakery")
        site.add("grid", "grid", import_price=price, export_price=0.04, import_power_max="90 kW")
        site.add("bakery", "load", power=load)
        site.add(
            "battery",
            "battery",
            energy_capacity="120 kWh",
            charge_power_max="40 kW",
            discharge_power_max="40 kW",
            charge_efficiency=0.94,
            discharge_efficiency=0.96,
            initial_energy="30 kWh",
        )
        site.require("battery_state_of_charge[last(I)] >= 30[kWh]", over=None, name="full")
        site.minimise_cost()
        plan = site.solve(progress=False)
    assert plan.certificate.verdict == "certified"
    with door.step("Solution: table, charts, report"):
        table = plan.to_dataframe()
        assert plan.plot() is not None
        plan.report("bakery.html")
    assert "Certified" in Path("bakery.html").read_text("utf-8")

    bought = (table["grid.import [kW]"] * price - table["grid.export [kW]"] * 0.04).sum() / 4
    assert bought == pytest.approx(plan.objective)

    said = door.types("engiagent run plant.yaml --out runs/day")
    assert "plant: certified" in said
    assert objective(said) == pytest.approx(plan.objective, rel=1e-8)
    assert "saving" in said


def test_a_rule_of_thumb_and_other_sizes(door: Door, day: pd.DatetimeIndex) -> None:
    best = objective(door.types("engiagent solve plant.yaml --out runs/day"))
    rule = pd.DataFrame({"battery.charge": 0.0, "battery.discharge": 0.0}, index=day)
    rule.iloc[60:72, 0] = 40.0
    rule.iloc[20:32, 1] = 40.0
    rule.to_csv("rule.csv")
    said = door.types("engiagent check runs/day/blueprint.json --solution rule.csv", code=1)
    assert "violated" in said
    rule[:] = 0.0
    rule.iloc[68:72, 0] = 20.0
    rule.iloc[20:22, 1] = 20.0
    rule.to_csv("rule.csv", sep=";", decimal=",")
    said = door.types("engiagent check runs/day/blueprint.json --solution rule.csv")
    assert "plant: feasible" in said
    assert objective(said) > best

    vary = "battery.energy_capacity=60,120,240[kWh]"
    door.types(f'engiagent study sweep plant.yaml --vary "{vary}" --out size')
    sizes = pd.read_csv("size/sweep.csv")
    assert len(sizes) == 3
    assert sizes["objective [EUR]"].is_monotonic_decreasing
    assert sizes["objective [EUR]"][1] == pytest.approx(best, rel=1e-6)


def test_a_rule_of_ones_own_beside_the_plan(door: Door) -> None:
    hours = pd.date_range("2025-07-01", periods=4, freq="h", tz="Europe/Berlin")
    site = Site.over(hours)
    site.add("grid", "grid", import_price=[0.1, 0.1, 0.4, 0.4], export_price=0)
    site.add("load", "load", power=10)
    slots: dict[str, Any] = {
        "energy_capacity": "20 kWh",
        "charge_power_max": 10,
        "discharge_power_max": 10,
    }
    site.add("battery", "battery", initial_energy=0, charge_efficiency=1.0, **slots)
    site.minimise_cost()
    rule = pd.DataFrame({"battery.charge": [5.0, 5, 0, 0], "P": [0, 0, 0, 10.0]}, index=hours)
    found = site.blueprint().check(rule, {"battery.discharge": "P"})
    assert found.verdict == "feasible"
    assert found.objective is not None
    assert found.objective["value"] == pytest.approx(7.0)
    rule.iloc[0, 1] = 5.0  # from an empty battery
    assert site.blueprint().check(rule, {"battery.discharge": "P"}).verdict == "violated"
