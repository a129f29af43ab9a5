"""Machines by tables of part load, several alike, and what batteries lose as the checker has it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engiagent import Site
from engiagent.environment.environment import Environment
from engiagent.environment.wear import read_ageing, wear
from engiagent.errors import InputError
from tests.verify.plants.yard import executed, physics

RATIOS, SHARES = [0.25, 0.5, 1.0], [0.3, 0.45, 1.0]
LOAD = [5.0, 9.0, 15.0, 18.0]


def heated(**slots: Any) -> Site:
    """Return a site whose load is served by one kind of machine."""
    site = Site("2026-01-10", "1 h", len(LOAD))
    site.add("grid", "grid", bus="power", import_price=0.3)
    machine = dict(slots)
    word = "cooling" if machine["model"] == "chiller" else "heat"
    site.add("houses", "load", bus="h", power=LOAD)
    table: Any = {}
    if machine.pop("table", True):
        of_ratios = site.table("ratios", RATIOS, over="points")
        table = {"part_load": of_ratios, "part_load_power": site.table("x", SHARES, over="points")}
    bus: Any = {"bus": "power", f"{'cooling' if word == 'cooling' else 'heat'}_bus": "h"}
    site.add("unit", machine.pop("model"), **bus, **table, **machine)
    site.minimise_cost()
    return site


@pytest.mark.parametrize(
    ("model", "slots", "full"),
    [
        ("heat_pump", {"cop": 3}, 10.0 / 3.0),
        ("boiler", {"rated_efficiency": 0.8}, 10.0 / 0.8),
        ("chiller", {"rated_cop": 4}, 10.0 / 4.0),
    ],
)
def test_as_few_run_as_are_enough_and_share_by_their_table(
    model: str, slots: dict[str, Any], full: float
) -> None:
    site = heated(model=model, rated_capacity=10, count=3, **slots)
    plant = Environment(site.blueprint())
    data = plant.run()
    running = np.ceil(np.array(LOAD) / 10.0)
    each = np.array(LOAD) / running / 10.0
    drawn = running * full * np.interp(each, RATIOS, SHARES)
    assert data["grid.import"].values == pytest.approx(drawn, rel=1e-12)
    assert plant.imbalance < 1e-9


def test_a_plan_by_a_table_is_what_runs() -> None:
    site = heated(model="heat_pump", rated_capacity=18, cop=3)
    plan = site.solve(progress=False)
    data = Environment(site.blueprint()).run()
    for name in ("unit.electric_power", "grid.import"):
        assert data[name].values == pytest.approx(plan[name].values, abs=1e-6)


@pytest.mark.parametrize(
    ("minimum_flow", "flows", "powers"),
    [
        (0.0, [1.0, 3.0, 6.0], [0.125, 2 * 0.75**3, 3.0]),  # variable, by the cube of the flow
        (1.0, [2.0, 4.0, 6.0], [1.0, 2.0, 3.0]),  # constant, in stages
    ],
)
def test_fans_run_at_variable_speed_or_in_stages(
    minimum_flow: float, flows: list[float], powers: list[float]
) -> None:
    site = Site("2026-01-10", "1 h", 3)
    site.add("grid", "grid", import_price=0.3)
    slots: Any = {"rated_flow": 2, "rated_power": 1, "count": 3, "switching": True}
    site.add("fan", "fan", minimum_flow=minimum_flow, **slots)
    site.minimise_cost()
    plant = Environment(site.blueprint())
    data = plant.run(lambda now: {"fan.flow": [1.0, 3.0, 9.0][now.step]})
    assert data["fan.flow"].values == pytest.approx(flows)
    assert data["fan.electric_power"].values == pytest.approx(powers)
    assert plant.imbalance < 1e-9


def test_a_battery_loses_what_the_checker_finds_lost(tmp_path: Path) -> None:
    site = Site("2026-01-10", "1 h", 10)
    site.add("grid", "grid", import_price=0.3)
    site.add("u", "battery", energy_capacity="10 kWh", initial_energy=0)
    site.minimise_cost()
    plant = Environment(site.blueprint())
    powers = [5.0, 5.0, -3.0, 1.0, -8.0, 0.0, 4.0, 4.0, -6.0, -2.0]
    data = plant.run(
        lambda now: {"u.charge": powers[now.step], "u.discharge": -powers[now.step]}, seconds=3600
    )
    path = tmp_path / "ageing.yaml"
    path.write_text("u: {cycles_at_full_depth: 4000, cycle_exponent: 1.3, calendar_rate: 0.1 %}")
    found: Any = wear(plant.built.units, data, read_ageing(path))["u"]
    assert found["throughput"] == pytest.approx(float(data["u.discharge"].sum()))
    assert found["full_cycles"] == pytest.approx(found["throughput"] / 10.0)
    series = {f"u.{w}": data[f"u.{w}"].values for w in ("charge", "discharge", "state_of_charge")}
    text = (
        "  - name: u\n    model: battery\n    index: T\n    parameters: {energy_capacity: 10, "
        "initial_energy: 0, cycles_at_full_depth: 4000, cycle_exponent: 1.3, "
        "calendar_rate: 0.001, capacity_loss_max: 1e-9}\n"
    )
    checks = physics(executed(tmp_path, text, series))["checks"]
    above = next(check for check in checks if check["id"] == "above:u.capacity_loss")
    assert above["worst"]["excess"] + 1e-9 == pytest.approx(found["capacity_lost"], rel=1e-9)


def test_ageing_of_what_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "ageing.yaml"
    for text, said in (
        ("u: {cycles: 4000}", "ageing.yaml: u: unknown slot 'cycles'"),
        ("u: 4000", "u is no mapping"),
        ("u: {calendar_rate: 1 kW}", "u.calendar_rate"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            read_ageing(path)
