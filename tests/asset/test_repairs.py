"""What a fault costs: against a programme by hand, and by what must hold of any plan."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from tests.asset.test_history import called, refused

PRICES = [0.20, 0.15, 0.12, 0.12, 0.30, 0.45]  # EUR/kWh
COLD = [60.0, 80.0, 120.0, 160.0, 140.0, 90.0]  # kW
STEP = 4.0  # h
PLANT = """title: Cooling plant
horizon: {step: 4 h, start: 2026-06-01T00:00, periods: 6}
components:
  grid: {model: grid, bus: site, import_price: day.csv#price,
         import_power_max: 200 kW, export_power_max: 0 kW}
  demand: {model: load, bus: cold, power: day.csv#cold}
  chiller: {model: chiller, bus: site, cooling_bus: cold, rated_capacity: 250 kW, rated_cop: 4}
goal: {minimize: cost}
"""
BATTERY = """title: Depot
horizon: {step: 4 h, start: 2026-06-01T00:00, periods: 6}
components:
  grid: {model: grid, import_price: day.csv#price, import_power_max: 200 kW, export_power_max: 0 kW}
  demand: {model: load, power: day.csv#cold}
  battery: {model: battery, energy_capacity: 400 kWh, initial_energy: 0 kWh,
            charge_power_max: 60 kW, discharge_power_max: 60 kW,
            charge_efficiency: 0.95, discharge_efficiency: 0.95}
goal: {minimize: cost}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    pairs = enumerate(zip(PRICES, COLD, strict=True))
    rows = [f"2026-06-01T{4 * k:02}:00,{p},{c}" for k, (p, c) in pairs]
    (tmp_path / "day.csv").write_text("\n".join(["time,price [EUR/kWh],cold [kW]", *rows]), "utf-8")
    (tmp_path / "depot.yaml").write_text(BATTERY, "utf-8")
    return tmp_path


def by_hand(capacity: float = 400.0, off: tuple[int, ...] = (), power: float = 60.0) -> float:
    """Return the least cost of the depot by a programme of charge, discharge and content."""
    charge = np.array([0.0 if t in off else power for t in range(6)])
    return _least(LinearConstraint(np.eye(6, 18), -np.inf, charge), np.zeros((6, 0)), capacity)[0]


def _least(limit: LinearConstraint, starts: np.ndarray, capacity: float) -> tuple[float, int]:
    """Return least cost and start of a programme; columns: charge, discharge, content, starts."""
    n, prices, more = 6, np.array(PRICES), np.zeros((6, starts.shape[1]))
    eye, none = np.eye(n), np.zeros((n, n))
    content = np.hstack([-0.95 * STEP * eye, STEP / 0.95 * eye, eye - np.eye(n, k=-1), more])
    grid = np.hstack([eye, -eye, none, more])
    load, whole = np.array(COLD), np.r_[np.zeros(3 * n), more[0] + 1]
    rows = [LinearConstraint(content, 0, 0), LinearConstraint(grid, -load, 200 - load), limit]
    rows += [LinearConstraint(whole, 1, 1)] if starts.size else []
    upper = Bounds(0, np.r_[np.full(2 * n, 60), np.full(n, capacity), more[0] + 1])
    cost = np.r_[prices, -prices, np.zeros(n), more[0]] * STEP
    found = milp(cost, constraints=rows, bounds=upper, integrality=whole)
    best = int(np.argmax(found.x[3 * n :])) if starts.size else 0
    return float(found.fun + STEP * prices @ load), best


def by_binaries(duration: int, factor: float, latest: int = 6) -> tuple[float, int]:
    """Return least cost and start of one programme in which a binary for each start decides.

    The battery charges with a factor of its power until the work is done, and not meanwhile.
    """
    count = latest + 1 - duration
    allowed = np.full((6, count), factor)
    for s in range(count):
        allowed[s + duration :, s], allowed[s : s + duration, s] = 1, 0
    limit = np.hstack([np.eye(6, 18), -60 * allowed])
    return _least(LinearConstraint(limit, -np.inf, 0), allowed, 400.0)


def test_a_fade_costs_what_a_programme_by_hand_says(root: Path) -> None:
    before = (root / "depot.yaml").read_text("utf-8")
    ends = {"factor": 0.5, "least": 0.4, "most": 0.6}
    call = {"plant": "depot.yaml", "slot": "battery.energy_capacity", **ends}
    found = called(root, "asset_derate", **call, repair_cost=500)
    for name, factor in {"sound": 1.0, "derated": 0.5, "at_least": 0.4, "at_most": 0.6}.items():
        assert found[name]["cost"] == pytest.approx(by_hand(400 * factor), abs=1e-5)
        assert found[name]["verdict"] == "certified"
    loss = by_hand(200) - by_hand()
    assert loss > 1
    assert found["loss_by_day"] == pytest.approx(loss, abs=1e-5)
    assert found["pays_back_days"] == pytest.approx(500 / loss)
    assert found["loss_by_day_least"] < loss < found["loss_by_day_most"]
    assert (root / "depot.yaml").read_text("utf-8") == before


WORK = {"plant": "depot.yaml", "quantity": "battery.charge"}


@pytest.mark.parametrize(("duration", "factor", "latest"), [(2, 1.0, 6), (1, 0.5, 6), (3, 0.3, 4)])
def test_the_best_of_all_windows_is_the_optimum_with_binary_starts(
    root: Path, duration: int, factor: float, latest: int
) -> None:
    given = {"slot": "battery.charge_power_max", "factor": factor, "repair_cost": 1}
    given["latest"] = f"2026-06-0{1 + latest // 6}T{4 * latest % 24:02}:00"
    found = called(root, "asset_maintenance_window", **WORK, **given, duration=4 * duration)
    cost, start = by_binaries(duration, factor, latest)
    assert len(found["windows"]) == latest + 1 - duration
    assert {w["verdict"] for w in found["windows"]} == {"certified"}
    best = next(w for w in found["windows"] if w["start"] == found["best"])
    assert best["cost"] == pytest.approx(cost, abs=1e-5)
    assert found["windows"][start]["cost"] == pytest.approx(cost, abs=1e-5)
    assert found["saves"] == pytest.approx(found["without_work"]["cost"] - cost - 1, abs=1e-5)
    if factor == 1.0:
        costs = [by_hand(off=(first, first + 1)) for first in range(5)]
        assert [w["cost"] for w in found["windows"]] == pytest.approx(costs, abs=1e-5)


def test_work_that_repairs_is_worth_doing_early(root: Path) -> None:
    (root / "plant.yaml").write_text(PLANT, "utf-8")
    cop = {"slot": "chiller.rated_cop", "factor": 0.8}
    call = {**cop, "quantity": "chiller.electric_power", "duration": 4}
    # without a store the chiller cannot be off: no window leaves a plan, and that is the answer
    found = called(root, "asset_maintenance_window", plant="plant.yaml", **call)
    assert found["best"] is None
    assert {w["verdict"] for w in found["windows"]} == {"no plan"}
    derated = called(root, "asset_derate", plant="plant.yaml", **cop)
    sound = derated["sound"]["cost"]
    assert derated["derated"]["cost"] == pytest.approx(sound / 0.8)
    assert derated["loss_by_day"] == pytest.approx(sound / 4)
    ice = "{model: ice_tank, cooling_bus: cold, energy_capacity: 900 kWh, initial_energy: 900 kWh}"
    (root / "iced.yaml").write_text(PLANT.replace("goal:", f"  ice: {ice}\ngoal:"), "utf-8")
    found = called(root, "asset_maintenance_window", plant="iced.yaml", **call)
    assert found["best"] == "2026-06-01T00:00"
    assert found["windows"][0]["extra_cost"] < 0
    half = {"plant": "plant.yaml", "slot": "chiller.rated_capacity", "factor": 0.5}
    found = called(root, "asset_derate", **half)
    assert found["derated"]["cost"] is found["loss_by_day"] is None
    assert any("no price" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"slot": "batery.energy_capacity"}, "expected grid, demand, battery"),
        ({"slot": "battery.cop"}, "states no single value of 'cop'"),
        ({"least": 0.95}, "is not in its interval"),
        ({"plant": "day.csv"}, "it is no plant file"),
        ({"plant": "year.yaml"}, "costs are those of a year"),
        ({"plant": "days.yaml"}, "costs are those of a year, by the entry 'representative'"),
    ],
)
def test_what_cannot_be_derated_is_refused(root: Path, given: dict[str, object], said: str) -> None:
    (root / "year.yaml").write_text(BATTERY.replace("periods: 6", "periods: 6, weight: 365"))
    rows = [f"{d},{p},{c}" for d in ("s", "w") for p, c in zip(PRICES, COLD, strict=True)]
    (root / "days.csv").write_text("\n".join(["day,price [EUR/kWh],cold [kW]", *rows]), "utf-8")
    shares = "{step: 4 h, days: 1, representative: {column: day, weights: {s: 180, w: 185}}}"
    text = BATTERY.replace("{step: 4 h, start: 2026-06-01T00:00, periods: 6}", shares)
    (root / "days.yaml").write_text(text.replace("day.csv", "days.csv"), "utf-8")
    call = {"plant": "depot.yaml", "slot": "battery.energy_capacity", "factor": 0.9, **given}
    assert said in refused(root, "asset_derate", **call)


def test_windows_outside_the_horizon_are_refused(root: Path) -> None:
    call = {**WORK, "duration": 8}
    (root / "local.yaml").write_text(BATTERY.replace("step: 4 h", "step: 4 h, zone: Europe/Berlin"))
    starts = ["2026-06-01T08:00", "2026-06-01T20:00"]
    there = {**call, "plant": "local.yaml", "starts": starts}
    found = called(root, "asset_maintenance_window", **there)
    assert ([w["periods"] for w in found["windows"]], len(found["notes"])) == ([2], 2)
    for more, said in (
        ({"starts": ["at noon"]}, "no such day or time"),
        ({"starts": ["2026-06-01T20:00"]}, "0 windows lie"),
        ({"starts": ["2026-06-01T01:00"]}, "no period"),
        ({"factor": 0.9}, "a factor is of a slot"),
    ):
        assert said in refused(root, "asset_maintenance_window", **call, **more)
