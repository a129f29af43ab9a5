"""What a fault costs: against a programme by hand, and by what must hold of any plan."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

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
  battery:
    model: battery
    energy_capacity: 400 kWh
    charge_power_max: 60 kW
    discharge_power_max: 60 kW
    charge_efficiency: 0.95
    discharge_efficiency: 0.95
    initial_energy: 0 kWh
goal: {minimize: cost}
"""
STARTS = ["2026-06-01T00:00", "2026-06-01T08:00", "2026-06-01T16:00"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    rows = [
        f"2026-06-01T{4 * k:02}:00,{p},{c}"
        for k, (p, c) in enumerate(zip(PRICES, COLD, strict=True))
    ]
    (tmp_path / "day.csv").write_text("\n".join(["time,price [EUR/kWh],cold [kW]", *rows]), "utf-8")
    (tmp_path / "depot.yaml").write_text(BATTERY, "utf-8")
    return tmp_path


def by_hand(capacity: float = 400.0, off: tuple[int, ...] = (), power: float = 60.0) -> float:
    """Return the least cost of the depot by a programme of charge, discharge and content."""
    n, prices, eta = 6, np.array(PRICES), 0.95
    cost = np.r_[prices, -prices, np.zeros(n)] * STEP
    balance = np.zeros((n, 3 * n))
    for t in range(n):
        balance[t, t], balance[t, n + t], balance[t, 2 * n + t] = -eta * STEP, STEP / eta, 1
        if t:
            balance[t, 2 * n + t - 1] = -1
    # what the grid delivers is at least 0 and at most 200 kW
    net = np.hstack([np.eye(n), -np.eye(n), np.zeros((n, n))])
    limits = np.r_[200 - np.array(COLD), np.array(COLD)]
    charge = [(0, 0 if t in off else power) for t in range(n)]
    found = linprog(
        cost,
        np.vstack([net, -net]),
        limits,
        balance,
        np.zeros(n),
        [*charge, *[(0, 60)] * n, *[(0, capacity)] * n],
    )
    return float(found.fun + STEP * prices @ np.array(COLD))


def test_a_fade_costs_what_a_programme_by_hand_says(root: Path) -> None:
    found = called(
        root,
        "asset_derate",
        plant="depot.yaml",
        slot="battery.energy_capacity",
        factor=0.5,
        least=0.4,
        most=0.6,
        repair_cost=500,
    )
    names = {"sound": 1.0, "derated": 0.5, "at_least": 0.4, "at_most": 0.6}
    for name, factor in names.items():
        assert found[name]["cost"] == pytest.approx(by_hand(400 * factor), abs=1e-5)
        assert found[name]["verdict"] == "certified"
    loss = by_hand(200) - by_hand()
    assert loss > 1
    assert found["loss_by_day"] == pytest.approx(loss, abs=1e-5)
    assert found["pays_back_days"] == pytest.approx(500 / loss)
    assert found["loss_by_day_least"] < loss < found["loss_by_day_most"]


def test_the_window_of_least_cost_is_that_of_the_programme_by_hand(root: Path) -> None:
    found = called(
        root,
        "asset_maintenance_window",
        plant="depot.yaml",
        quantity="battery.charge",
        duration=8,
        starts=STARTS,
    )
    assert [w["verdict"] for w in found["windows"]] == ["certified"] * 3
    assert [w["periods"] for w in found["windows"]] == [2, 2, 2]
    costs = [w["extra_cost"] for w in found["windows"]]
    wanted = [by_hand(off=off) - by_hand() for off in ((0, 1), (2, 3), (4, 5))]
    assert costs == pytest.approx(wanted, abs=1e-5)
    assert found["best"] == STARTS[int(np.argmin(wanted))]
    assert found["without_work"]["cost"] == pytest.approx(by_hand())


def by_binaries(duration: int, factor: float, latest: int = 6) -> tuple[float, int]:
    """Return least cost and start of one programme in which a binary for each start decides.

    The battery charges with a factor of its power until the work is done, and not meanwhile.
    """
    n, prices = 6, np.array(PRICES)
    starts = n + 1 - duration
    eye, none, begun = np.eye(n), np.zeros((n, n)), np.zeros((n, starts))
    off, done = begun.copy(), begun.copy()
    for s in range(starts):
        off[s : s + duration, s], done[s:, s] = 1, 1
    cost = np.r_[prices, -prices, np.zeros(n + starts)] * STEP
    content = np.hstack([-0.95 * STEP * eye, STEP / 0.95 * eye, eye - np.eye(n, k=-1), begun])
    rows = [
        LinearConstraint(content, 0, 0),
        LinearConstraint(
            np.hstack([eye, -eye, none, begun]), -np.array(COLD), 200 - np.array(COLD)
        ),
        LinearConstraint(np.hstack([eye, none, none, 60 * off]), -np.inf, 60),
        LinearConstraint(
            np.hstack([eye, none, none, -60 * (1 - factor) * done]), -np.inf, 60 * factor
        ),
        LinearConstraint(np.r_[np.zeros(3 * n), np.ones(starts)], 1, 1),
    ]
    allowed = [float(s + duration <= latest) for s in range(starts)]
    upper = np.r_[np.full(2 * n, 60), np.full(n, 400), allowed]
    found = milp(
        cost,
        constraints=rows,
        bounds=Bounds(0, upper),
        integrality=np.r_[np.zeros(3 * n), np.ones(starts)],
    )
    return float(found.fun + STEP * prices @ np.array(COLD)), int(np.argmax(found.x[3 * n :]))


@pytest.mark.parametrize(("duration", "factor", "latest"), [(2, 1.0, 6), (1, 0.5, 6), (3, 0.3, 4)])
def test_the_best_of_all_windows_is_the_optimum_with_binary_starts(
    root: Path, duration: int, factor: float, latest: int
) -> None:
    found = called(
        root,
        "asset_maintenance_window",
        plant="depot.yaml",
        quantity="battery.charge",
        duration=4 * duration,
        latest=f"2026-06-0{1 + latest // 6}T{4 * latest % 24:02}:00",
        slot="battery.charge_power_max",
        factor=factor,
        repair_cost=1,
    )
    cost, start = by_binaries(duration, factor, latest)
    assert len(found["windows"]) == latest + 1 - duration
    assert {w["verdict"] for w in found["windows"]} == {"certified"}
    best = next(w for w in found["windows"] if w["start"] == found["best"])
    assert best["cost"] == pytest.approx(cost, abs=1e-5)
    assert found["windows"][start]["cost"] == pytest.approx(cost, abs=1e-5)
    assert found["saves"] == pytest.approx(found["without_work"]["cost"] - cost - 1, abs=1e-5)


def test_work_that_repairs_is_worth_doing_early(root: Path) -> None:
    (root / "plant.yaml").write_text(PLANT, "utf-8")
    # without a store the chiller cannot be off: no window leaves a plan, and that is the answer
    found = called(
        root,
        "asset_maintenance_window",
        plant="plant.yaml",
        quantity="chiller.electric_power",
        duration=4,
        starts=STARTS,
        slot="chiller.rated_cop",
        factor=0.8,
    )
    assert found["best"] is None
    assert {w["verdict"] for w in found["windows"]} == {"no plan"}
    derated = called(root, "asset_derate", plant="plant.yaml", slot="chiller.rated_cop", factor=0.8)
    sound = derated["sound"]["cost"]
    assert derated["derated"]["cost"] == pytest.approx(sound / 0.8)
    assert derated["loss_by_day"] == pytest.approx(sound / 4)
    ice = (
        "  ice: {model: ice_tank, cooling_bus: cold, energy_capacity: 900 kWh, "
        "initial_energy: 900 kWh}\n"
    )
    (root / "iced.yaml").write_text(PLANT.replace("goal:", f"{ice}goal:"), "utf-8")
    found = called(
        root,
        "asset_maintenance_window",
        plant="iced.yaml",
        quantity="chiller.electric_power",
        duration=4,
        starts=STARTS,
        slot="chiller.rated_cop",
        factor=0.8,
    )
    assert found["best"] == STARTS[0]
    assert found["windows"][0]["extra_cost"] < 0


def test_a_derated_plant_without_a_plan_has_no_price(root: Path) -> None:
    (root / "plant.yaml").write_text(PLANT, "utf-8")
    found = called(
        root, "asset_derate", plant="plant.yaml", slot="chiller.rated_capacity", factor=0.5
    )
    assert found["derated"]["cost"] is None
    assert found["loss_by_day"] is None
    assert any("no price" in note for note in found["notes"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"slot": "batery.energy_capacity"}, "expected grid, demand, battery"),
        ({"slot": "battery.cop"}, "states no single value of 'cop'"),
        ({"least": 0.95}, "is not in its interval"),
        ({"plant": "day.csv"}, "it is no plant file"),
    ],
)
def test_what_cannot_be_derated_is_refused(root: Path, given: dict[str, object], said: str) -> None:
    call = {"plant": "depot.yaml", "slot": "battery.energy_capacity", "factor": 0.9, **given}
    assert said in refused(root, "asset_derate", **call)


def test_windows_outside_the_horizon_are_refused(root: Path) -> None:
    call = {"plant": "depot.yaml", "quantity": "battery.charge", "duration": 8}
    (root / "local.yaml").write_text(BATTERY.replace("step: 4 h", "step: 4 h, zone: Europe/Berlin"))
    there = {**call, "plant": "local.yaml", "starts": ["2026-06-01T08:00"]}
    assert called(root, "asset_maintenance_window", **there)["windows"][0]["periods"] == 2
    there["starts"] = ["at noon"]
    assert "no such day or time" in refused(root, "asset_maintenance_window", **there)
    there["starts"] = ["2026-06-01T08:00", "2026-06-01T20:00"]
    found = called(root, "asset_maintenance_window", **there)
    assert (len(found["windows"]), len(found["notes"])) == (1, 2)
    for start, said in (("2026-06-01T20:00", "0 windows lie"), ("2026-06-01T01:00", "no period")):
        assert said in refused(root, "asset_maintenance_window", **call, starts=[start])
    assert "a factor is of a slot" in refused(
        root, "asset_maintenance_window", **call, starts=STARTS, factor=0.9
    )


def test_the_plant_file_is_left_as_it_was(root: Path) -> None:
    before = (root / "depot.yaml").read_text("utf-8")
    called(root, "asset_derate", plant="depot.yaml", slot="battery.energy_capacity", factor=0.9)
    assert (root / "depot.yaml").read_text("utf-8") == before


def test_costs_of_a_year_are_not_taken_for_those_of_days(root: Path) -> None:
    (root / "year.yaml").write_text(BATTERY.replace("periods: 6", "periods: 6, weight: 365"))
    call = {"plant": "year.yaml", "slot": "battery.energy_capacity", "factor": 0.9}
    assert "costs are those of a year" in refused(root, "asset_derate", **call)
