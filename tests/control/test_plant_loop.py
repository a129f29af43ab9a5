"""A loop that is closed from a plant alone is the plan it repeats, and says what it gives up."""

import csv
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from scipy.optimize import linprog

from engiagent import Blueprint, Site
from engiagent.cli.app import app
from engiagent.control.assessment import broken_limits, prediction_errors
from engiagent.control.horizon import MEMORY, forecasts_that_err
from engiagent.environment.environment import Environment
from engiagent.environment.signals import Signals, opened
from engiagent.errors import InputError
from engiagent.text import corpus_root

HOURS = np.arange(48)
PRICE = 0.25 + 0.1 * np.sin(HOURS / 3.0)
HOUSE = """title: House
horizon: {start: 2026-01-10, step: 1 h, days: 2}
components:
  grid: {model: grid, import_price: 0.3 EUR/kWh}
  living: {model: thermal_zone, capacitance: 3 kWh/K, resistance: 5 K/kW,
           initial_temperature: 20.5 degC, ambient_temperature: 2 degC}
  pump: {model: heater, zone: living, electric_power_max: 2 kW, cop: 3}
requirements: {warm: {for: t in T, must: "20 degC <= living.temperature[t] <= 22 degC"}}
goal: {minimize: cost}
"""
OUTSIDE = 2 + 5 * np.sin(HOURS / 24 * 2 * np.pi)


def depot() -> Blueprint:
    site = Site("2026-06-01", "1 h", 48, "Europe/Berlin")
    site.add("grid", "grid", import_price=PRICE, import_power_max="100 kW")
    site.add("depot", "load", power=20.0 + HOURS % 7)
    powers: Any = {"charge_power_max": "25 kW", "discharge_power_max": "25 kW"}
    site.add("battery", "battery", energy_capacity="100 kWh", initial_energy="50 kWh", **powers)
    site.minimise_cost()
    return site.blueprint()


def house(first: float = 20.5) -> Blueprint:
    site = Site("2026-01-10", "1 h", 48, "Europe/Berlin")
    site.add("grid", "grid", import_price=PRICE)
    walls: Any = {"capacitance": "3 kWh/K", "resistance": "5 K/kW", "ambient_temperature": OUTSIDE}
    site.add("living", "thermal_zone", initial_temperature=first, **walls)
    site.add("pump", "heater", zone="living", electric_power_max="2 kW", cop=3)
    site.require("living_temperature[i] >= 20[degC]", over="i in I", name="warm")
    site.minimise_cost()
    return site.blueprint()


def told(*words: object, code: int = 0) -> dict[str, Any]:
    """Return what ``engiagent control --json`` says."""
    done = CliRunner().invoke(app, ["control", *map(str, words), "--json"])
    assert done.exit_code == code, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_with_a_horizon_to_the_end_the_first_step_is_the_plan_and_energy_is_conserved() -> None:
    blueprint = depot()
    loop = blueprint.control(1, horizon=48, progress=False)
    plan = blueprint.solve(progress=False)
    assert loop.controls[0].objective == pytest.approx(plan.objective)
    loop = blueprint.control(progress=False)
    stored = loop.solution["battery.state_of_charge"].values
    charge, discharge = (loop.solution[f"battery.{way}"].values for way in ("charge", "discharge"))
    assert np.diff(stored) == pytest.approx(charge - discharge, abs=1e-6)
    assert loop.cost == pytest.approx(
        float(PRICE[: len(charge)] @ loop.solution["grid.import"].values)
    )
    assert loop.solution.objective == pytest.approx(loop.cost)
    assert loop.solution.certificate.verdict in ("feasible", "solved")


def test_no_plan_charges_and_discharges_at_once() -> None:
    """Without losses the best plans do so or not at one cost; an operator cannot."""
    loop = depot().control(24, progress=False)
    for control in loop.controls:
        assert control.result.x is not None
        flows = []
        for way in ("charge", "discharge"):
            block = loop.runner.program.column_block(f"battery_{way}")
            flows.append(control.result.x[block.start : block.stop])
        assert np.minimum(*flows).max() < 1e-6


def test_decisions_are_held_over_blocks(tmp_path: Path) -> None:
    """As a linear program by hand with the equations of each block written out."""
    fade, size = np.exp(-1 / (5 * 3)), 16
    decay = np.tril(fade ** (np.arange(size)[:, None] - np.arange(size)))
    free = fade ** np.arange(1, size + 1) * 20.5 + decay @ ((1 - fade) * OUTSIDE[:size])
    held = np.zeros((8, size))
    for row, (one, other) in enumerate(
        [(2, 3), (4, 5), (4, 6), (4, 7), (8, 9), (8, 10), (8, 11), (12, 13)]
    ):
        held[row, [one, other]] = 1, -1
    held = np.vstack([held, np.eye(size)[[12, 12]] - np.eye(size)[[14, 15]]])
    warmed = (1 - fade) * 5 * 3 * decay  # of the heater's power
    least = linprog(
        PRICE[:size], -warmed, free - 20, held, np.zeros(len(held)), bounds=(0, 2), method="highs"
    )
    given: Any = {"horizon": size, "progress": False}
    loop = house().control(1, blocks=[1, 1, 2, 4], **given)
    assert loop.controls[0].objective == pytest.approx(least.fun, rel=1e-7)
    assert least.fun > 1.001 * (house().control(1, **given).controls[0].objective or 0)
    # What balances a varying load is free, and each plan is certified as the problem that it is.
    (tmp_path / "site.json").write_text(depot().to_json())
    words = ["--steps", "3", "--horizon", "16", "--certify", "--out", tmp_path / "loop"]
    told(tmp_path / "site.json", *words, "--blocks", "1,1,2,4")
    judged = json.loads((tmp_path / "loop" / "certificate.json").read_text())
    assert judged["verdict"] == "certified"
    for wrong, said in (("1,0", "0 is not in the range"), ("1,x", "'x' is not a valid")):
        asked = ["control", str(tmp_path / "site.json"), "--blocks", wrong, "--horizon", "4"]
        done = CliRunner().invoke(app, [*asked, "--out", str(tmp_path / "wrong")])
        assert done.exit_code == 2
        assert said in done.output


def test_a_peak_is_paid_for_once_over_all_that_was_applied() -> None:
    folder = corpus_root() / "battery/foundry_ratchet"
    loop = Blueprint.load(folder / "expert/blueprint.json").control(
        30, end="repeat", progress=False
    )
    assert loop.solution.objective is not None
    assert loop.solution.objective > loop.cost  # which counts what periods cost
    assert any("peak" in note for note in loop.notes)


def test_what_really_comes_is_met_and_another_plant_answers() -> None:
    load = 30.0 + HOURS[:10] % 3
    loop = depot().control(10, actual={"depot.power": load}, progress=False)
    flows = loop.solution
    assert flows["grid.import"].values + flows["battery.discharge"].values == pytest.approx(
        load + flows["battery.charge"].values
    )
    seen = []

    def leaking(state: Any, controls: Any, disturbances: Any) -> dict[str, float]:
        seen.append(disturbances["depot.power"])
        energy = state["battery.state_of_charge"]
        return {
            "battery.state_of_charge": 0.9 * energy
            + controls["battery.charge"]
            - controls["battery.discharge"]
        }

    loop = depot().control(
        2, plant=leaking, measured={"battery.state_of_charge": 80}, progress=False
    )
    first = loop.controls[0].values
    after = 72 + first["battery_charge"] - first["battery_discharge"]
    assert loop.log["battery_state_of_charge__measured"].values == pytest.approx([80, after])
    assert seen == [20, 21]


def test_relaxed_steps_say_what_how_long_and_from_which_state(tmp_path: Path) -> None:
    loop = house(first=18.0).control(24, progress=False)
    assert loop.controls[0].outcome == "relaxed"
    found = loop.to_dict()["relaxed"][0]
    assert found["limits"][0]["limit"] == "warm"
    assert found["limits"][0]["amount"] == pytest.approx(2.0)
    assert "zone.living.temperature = 18 degC" in found["reason"]
    temperature = loop.solution["zone.living.temperature"].values
    below = np.maximum(20 - temperature, 0)
    figure = loop.figures.named("discomfort_below")[0]
    assert figure.value == pytest.approx(np.sum((below[1:] + below[:-1]) / 2), rel=1e-6)
    page = loop.report(tmp_path / "loop.html").read_text("utf-8")
    assert "Relaxed steps" in page
    assert "Too cold" in page
    assert "zone.living.temperature" in loop.plot("living").svg()


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("battery/merchant_day", 4),
        ("battery/behind_the_meter_shop", 4),
        ("thermal/office_heat_pump", 4),
        ("thermal/two_zone_workshop", 4),
        ("thermal/cold_snap_infeasible", 3),
    ],
)
def test_a_corpus_problem_runs_as_a_loop(name: str, steps: int) -> None:
    """The controller takes the corpus's own storage and heating problems as they are written."""
    blueprint = Blueprint.load(corpus_root() / name / "expert/blueprint.json")
    whole = next(s.periods for s in blueprint.core.sets if s.kind == "time")
    loop = blueprint.control(steps, horizon=whole, end="repeat", progress=False)
    assert len(loop.controls) == steps
    outcomes = set(loop.outcomes)
    assert "relaxed" in outcomes if "infeasible" in name else outcomes == {"optimal"}, outcomes
    for control in loop.controls:
        assert all(np.isfinite(v).all() for v in control.values.values())
        assert bool(control.relaxations) == (control.outcome == "relaxed")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"steps": 48}, "need data of 71 periods"),
        ({"plant": "nothing"}, "module:name"),
        ({"plant": "no_such_module:answer"}, "no plant"),
        ({"plant": lambda *_: {}}, "does not answer with its states"),
        ({"plant": lambda *_: 1 / 0}, "ZeroDivisionError"),
        ({"actual": {"depot.powr": [1.0]}}, "expected 'depot.power'"),
        ({"measured": {"battery.energy": 1.0}}, "no state"),
    ],
)
def test_what_does_not_fit_is_an_error_with_the_way_out(given: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        depot().control(**given, progress=False)


def test_the_command_writes_a_folder_and_ends_with_the_right_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("house.json").write_text(house(first=18.0).to_json(), encoding="utf-8")
    stamps = [f"2026-01-10T{hour:02}:00" for hour in range(24)]
    rows = [f"{time},{value:.3f}" for time, value in zip(stamps, OUTSIDE - 1, strict=False)]
    head = "time,living.ambient_temperature [degC]"
    Path("real.csv").write_text("\n".join([head, *rows]), encoding="utf-8")
    command = ["control", "house.json", "--steps", "12", "--actual", "real.csv", "--out", "loop"]
    found = told(*command[1:], code=1)
    assert found["steps"] == 12
    assert found["outcomes"]["relaxed"] >= 1
    names = {path.name for path in Path("loop").iterdir()}
    assert names == {"blueprint.json", "solution.nc", "steps.csv", "loop.json", "loop.html"}
    assert len(Path("loop/steps.csv").read_text("utf-8").splitlines()) == 13
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 2
    Path("real.csv").write_text("time,wind [m/s]\n2026-01-10T00:00,1\n", encoding="utf-8")
    wrong = CliRunner().invoke(app, [*command, "--force"])
    assert wrong.exit_code == 2
    assert "living.ambient_temperature" in wrong.output


def test_scenarios_are_loops_of_their_own_on_any_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("house.json").write_text(house(first=18.0).to_json(), encoding="utf-8")
    stamps = [f"2026-01-10T{hour:02}:00" for hour in range(24)]
    words = ["house.json", "--steps", "4"]
    for name, colder in (("mild", 1.0), ("cold", 3.0)):
        rows = [f"{t},{v - colder:.3f}" for t, v in zip(stamps, OUTSIDE, strict=False)]
        text = "\n".join(["time,living.ambient_temperature [degC]", *rows])
        Path(f"{name}.csv").write_text(text, encoding="utf-8")
        words += ["--actual", f"{name}.csv"]
    here, there = (told(*words, "--out", f"on{k}", "--workers", k, code=1) for k in ("0", "2"))
    for one, two, name in zip(here["loops"], there["loops"], ("mild", "cold"), strict=True):
        assert one["objective"] == two["objective"]
        assert one["figures"] == two["figures"]
        assert (tmp_path / "on2" / name / "loop.json").is_file()
    assert here["loops"][0]["objective"] != here["loops"][1]["objective"]
    early = Path("early.csv")  # covers two of four steps
    early.write_text("\n".join(Path("mild.csv").read_text("utf-8").splitlines()[:3]) + "\n")
    Path("odd.csv").write_text("time,wind [m/s]\n2026-01-10T00:00,1\n", encoding="utf-8")
    for wrong, said in (("none.csv", "is not there"), ("odd.csv", "wind"), ("early.csv", "cover")):
        command = ["control", *words, "--actual", wrong, "--out", "new", "--workers", "0"]
        refused = CliRunner().invoke(app, command)
        assert refused.exit_code == 2, refused.output
        assert said in refused.output
        assert wrong in refused.output
        assert not Path("new").exists()


def test_a_loop_shows_itself() -> None:
    loop = depot().control(3, progress=False)
    assert repr(loop) == "ClosedLoop(3 steps: 3 optimal)"
    assert "data:image/svg+xml" in loop._repr_html_()


def test_a_plant_that_loses_more_is_judged_by_what_it_showed(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(HOUSE)
    (tmp_path / "leaky.yaml").write_text(HOUSE.replace("5 K/kW", "4 K/kW"))
    again, narrow = tmp_path / "out", tmp_path / "narrow.yaml"
    narrow.write_text(
        "pump.electric_power: {thermostat: zone.living.temperature, "
        "between: [20 degC, 20.5 degC], on: 2 kW}"
    )
    given = ["--against", "thermostat", "--against", narrow, "--out", again]
    plant = ["--plant", tmp_path / "leaky.yaml", "--steps", "12"]
    found = told(tmp_path / "plan.yaml", *plant, *given, code=1)
    judged = {figure["name"]: figure["value"] for figure in found["assessment"]}
    with (again / "plant.csv").open() as file:
        rows = list(csv.DictReader(file))
    imported = [float(row["grid.import [kW]"]) for row in rows]
    room = [float(row["zone.living.temperature [degC]"]) for row in rows]
    assert judged["import"] == pytest.approx(sum(imported))
    assert judged["energy_cost"] == pytest.approx(0.3 * sum(imported))
    assert judged["peak_import"] == pytest.approx(max(imported))
    assert judged["discomfort_below"] > 0
    assert 0 < judged["computing_time_ratio"] < 1
    # What leaks more at the worst, about 18.5 K warmer than outside, over what the zone holds.
    error = found["prediction"][0]
    assert error["unit"] == "K"
    assert error["worst"] == pytest.approx((1 / 4 - 1 / 5) * 18.5 / 3, rel=0.1)
    assert found["broken"][0]["limit"] == "warm"
    assert found["broken"][0]["worst"] == pytest.approx(20 - min(room), rel=0.2)
    for rule, file_name in (("thermostat", "thermostat"), (str(narrow), "narrow")):
        cost = {f["name"]: f["value"] for f in found["against"][rule]}["energy_cost"]
        with (again / f"against-{file_name}.csv").open() as file:
            paid = sum(0.3 * float(row["grid.import [kW]"]) for row in csv.DictReader(file))
        assert cost == pytest.approx(paid)
    assert "The plant broke what its plan kept" in (again / "loop.html").read_text()


def test_figures_that_are_too_good_by_heat_that_nothing_made_say_so(tmp_path: Path) -> None:
    """7 kW of emitter behind 4.2 kW of heat pump: the rule takes 2.8 kW from nowhere."""
    pump = "  pump: {model: heater, zone: living, electric_power_max: 2 kW, cop: 3}\n"
    behind = (
        "  pump: {model: heat_pump, bus: power, heat_bus: warm, rated_capacity: 4.2 kW, cop: 3}\n"
        "  radiator: {model: emitter, heat_bus: warm, zone: living, power_max: 7 kW}\n"
    )
    assert pump in HOUSE
    text = HOUSE.replace(pump, behind).replace("model: grid,", "model: grid, bus: power,")
    (tmp_path / "plan.yaml").write_text(text)
    given = ["--plant", "environment", "--steps", "12", "--against", "thermostat"]
    found = told(tmp_path / "plan.yaml", *given, "--out", tmp_path / "out")
    with (tmp_path / "out/against-thermostat.csv").open() as file:
        lacks = sum(float(row["warm.unserved [kW]"]) for row in csv.DictReader(file))
    assert lacks > 0
    (note,) = [note for note in found["notes"] if "nothing made" in note]
    assert note.startswith(f"against thermostat: {lacks:.4g} kWh (up to 2.8 kW) were taken")


def test_an_estimate_without_a_deviation_is_the_reading(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(HOUSE)
    (tmp_path / "signals.yaml").write_text(
        "inputs: {pump.electric_power: pump.electric_power}\n"
        "outputs: {zone.living.temperature: zone.living.temperature}\n"
        "estimated: {zone.living.temperature: 0.1 K}\n"
    )
    given = ["--plant", "environment", "--signals", tmp_path / "signals.yaml", "--steps", "2"]
    found = told(tmp_path / "plan.yaml", *given, "--out", tmp_path / "out")
    (note,) = (note for note in found["notes"] if "estimated" in note)
    assert "no reading has a deviation" in note


def test_where_the_plan_answers_nothing_is_off_and_nothing_broken() -> None:
    loop = house().control(12, progress=False)
    assert broken_limits(loop) == ()
    assert max(error.worst for error in prediction_errors(loop)) == 0
    costs = [f.value for f in loop.assessment if f.name == "energy_cost"]
    assert costs == [pytest.approx(loop.cost)]


def test_two_plans_control_one_plant(tmp_path: Path) -> None:
    """The plan that is the plant keeps all limits; the one that believes in less loss does not."""
    believed, true = tmp_path / "believed.yaml", tmp_path / "true.yaml"
    believed.write_text(HOUSE)
    true.write_text(HOUSE.replace("5 K/kW", "4 K/kW"))
    given = ["--plant", "environment", "--steps", "12", "--out", str(tmp_path / "out")]
    found = told(true, *given, "--against", true, "--against", believed)
    own, same, other = (
        {f["name"]: f["value"] for f in figures}
        for figures in (found["assessment"], *found["against"].values())
    )
    assert own.pop("computing_time_ratio") > 0
    assert same.pop("computing_time_ratio") > 0
    assert same == pytest.approx(own)
    assert own["discomfort_below"] == pytest.approx(0, abs=1e-6)
    assert other["discomfort_below"] > 0.1
    assert other["energy_cost"] < own["energy_cost"]
    assert any("believed.yaml: 12 steps" in note for note in found["notes"])
    later = tmp_path / "later.yaml"
    later.write_text(HOUSE.replace("2026-01-10", "2026-01-11"))
    done = CliRunner().invoke(
        app, ["control", str(true), *given, "--force", "--against", str(later)]
    )
    assert done.exit_code == 2
    assert "other periods" in done.output


def test_a_rule_meets_what_really_came(tmp_path: Path) -> None:
    plan, actual, out = tmp_path / "depot.json", tmp_path / "actual.csv", tmp_path / "out"
    plan.write_text(depot().to_json())
    came = [30.0 + 2 * hour for hour in range(6)]
    rows = (f"2026-06-01T{hour:02d}:00,{power}" for hour, power in enumerate(came))
    actual.write_text("\n".join(["time,depot.power [kW]", *rows]) + "\n")
    given = ["--plant", "environment", "--steps", "6", "--actual", actual, "--out", out]
    told(plan, *given, "--against", "self-consumption")
    with (out / "against-self-consumption.csv").open() as file:
        assert [float(row["depot.power [kW]"]) for row in csv.DictReader(file)] == came


def test_a_rule_of_sites_is_refused_beside_an_fmu_before_the_loop(tmp_path: Path) -> None:
    plan = tmp_path / "house.yaml"
    plan.write_text(HOUSE)
    given = ["control", str(plan), "--plant", "fmu:there_is_none.fmu"]
    given += ["--against", "self-consumption"]
    done = CliRunner().invoke(app, [*given, "--out", str(tmp_path / "loop")])
    assert (done.exit_code, (tmp_path / "loop").exists()) == (2, False)
    assert "self-consumption needs a plant file" in done.stderr


@pytest.mark.parametrize("steps", [0, -3])
def test_no_steps_are_refused(steps: int) -> None:
    with pytest.raises(InputError, match="at least 1"):
        depot().control(steps, progress=False)
    with pytest.raises(InputError, match="at least 1"):
        Environment(depot()).run(steps=steps)


BENCH = """
import numpy as np
from engiagent.environment.interface import Signal


def answer(state, controls, disturbances):
    room = state["zone.living.temperature"]
    assert room > 0
    target = disturbances["living.ambient_temperature"] + 5 * 3 * controls["pump.electric_power"]
    return {"zone.living.temperature": target + (room - target) * np.exp(-1 / 12)}


class Bench:
    signals = {"heater": Signal("kW", "action", 0.0), "sensor": Signal("degC", "state")}

    def initialize(self, seconds):
        self.hours = seconds / 3600

    def reset(self, initial=None, seed=0):
        self.chance, self.room, self.truth = np.random.default_rng(seed), 20.5, [20.5]
        return {"sensor": self.room}

    def step(self, inputs):
        target = 2 + 15 * inputs["heater"] + 0.4 * self.chance.normal()
        self.room = target + (self.room - target) * np.exp(-self.hours / 15)
        self.truth.append(self.room)
        return {"sensor": self.room + 0.4 * self.chance.normal()}


class Rule:
    def initialize(self, seconds): ...

    def reset(self, seed=0):
        self.on = False

    def step(self, now):
        room = now.seen["zone.living.temperature"]
        self.on = room < 21 if self.on else room < 20.5
        return {"pump.electric_power": 1.5 * self.on}
"""


def test_a_function_of_python_answers_plans_rules_and_simulations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The room of the function loses more than that of the plan, by rules as in the loop."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bench", raising=False)
    (tmp_path / "plan.yaml").write_text(HOUSE)
    (tmp_path / "bench.py").write_text(BENCH)
    rivals = ["--against", "bench:Rule", "--against", "thermostat"]
    told("plan.yaml", "--plant", "bench:answer", "--steps", 8, *rivals, "--out", "loop", code=1)
    words = ["plan.yaml", "--plant", "bench:answer", "--controller", "bench:Rule", "--out", "run"]
    done = CliRunner().invoke(app, ["simulate", *words, "--steps", "8"])
    assert done.exit_code == 0, done.output
    for path in ("loop/against-bench-Rule.csv", "run/data.csv"):
        rows = list(csv.DictReader((tmp_path / path).read_text().splitlines()))
        assert len(rows) == 8
        room = 20.5
        for row in rows:
            assert float(row["zone.living.temperature [degC]"]) == pytest.approx(room)
            power = float(row["pump.electric_power [kW]"])
            assert float(row["grid.import [kW]"]) == pytest.approx(power)
            room = 2 + 15 * power + (room - 2 - 15 * power) * np.exp(-1 / 12)
    for words, said in (
        (["simulate", "bench:answer"], "PLANT.yaml --plant FUNCTION"),
        (["simulate", "bench:Rule"], "bench:Rule has no signals; expected signals, initialize"),
        (["simulate", "bench:Bench", "--steps", "2"], "Bench raised KeyError: 'heater'"),
        (["control", "plan.yaml", "--plant", "bench:other"], "no attribute 'other'"),
    ):
        done = CliRunner().invoke(app, [*words, "--out", "wrong"])
        assert done.exit_code == 2, done.output
        assert said in done.output


def test_noisy_readings_of_all_states_are_filtered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "bench", raising=False)
    (tmp_path / "bench.py").write_text(BENCH)
    (tmp_path / "plan.yaml").write_text(HOUSE)
    (tmp_path / "signals.yaml").write_text(
        "inputs: {pump.electric_power: heater}\n"
        "outputs: {zone.living.temperature: {from: sensor, deviation: 0.4 K}}\n"
        "estimated: {zone.living.temperature: 0.03 K}\n"
    )
    plant: Any = opened("bench:Bench", Signals.load(tmp_path / "signals.yaml"))
    loop = Site.load(tmp_path / "plan.yaml").control(24, plant=plant, progress=False)
    assert loop.plant is not None
    truth = np.array(plant.plant.truth)[1:]
    read = loop.plant["zone.living.temperature"].values[1:]
    known = np.append(loop.log["living_temperature__measured"].values, [*loop.state.values()])[1:]
    assert np.std(known - truth) < 0.5 * np.std(read - truth)
    assert any("from readings and the plan: zone.living" in note for note in loop.notes)


def test_forecasts_err_by_a_stated_amount_that_grows_with_the_lead() -> None:
    sigma, lead = 3.0, np.arange(24)
    given: Any = {"horizon": 24, "end": "repeat", "progress": False}
    loop = depot().control(2, **given)
    (own,) = (name for name in loop.runner.forecasts if name.startswith("depot"))
    forecast = forecasts_that_err(loop.runner, {own: "3 kW"}, 1500, seed=7)
    came = np.array([loop.runner.forecasts[own].window(k, "repeat") for k in range(1500)])
    off = np.array([forecast(k)[own] for k in range(1500)]) - came
    spread = sigma * np.sqrt(1 - np.exp(-2 * lead / MEMORY))
    assert off.std(axis=0) == pytest.approx(spread, rel=0.15)
    # A step later the shock that came is known, and what is still to come is off as before.
    fade = np.exp(-lead[:23] / MEMORY)
    assert off[0, 1:] - off[1, :-1] == pytest.approx(off[0, 1] * fade)
    errors = {"forecast_errors": {"living.ambient_temperature": "2 K"}}
    one, again, other = (
        house().control(8, **given, **errors, seed=seed).cost for seed in (1, 1, 2)
    )
    assert one == again != other
    for wrong, said in (
        ("2 K", "measure different things"),
        ("much", "a forecast error: no value"),
    ):
        with pytest.raises(InputError, match=said):
            depot().control(2, **given, forecast_errors={"depot.power": wrong})


def test_what_a_loop_leaves_behind_is_controlled_again(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(HOUSE)
    first = told(tmp_path / "plan.yaml", "--steps", 8, "--horizon", 4, "--out", tmp_path / "one")
    for k, source in enumerate(("one", "one/blueprint.json")):
        words = ["--steps", 5, "--horizon", 4, "--out", tmp_path / f"again{k}"]
        again = told(tmp_path / source, *words)
        assert again["steps"] == 5
        assert again["objective"]["value"] < first["objective"]["value"]
    done = CliRunner().invoke(
        app, ["runs", "compare", *(str(tmp_path / n) for n in ("one", "again0"))]
    )
    assert "__measured" not in done.output
    assert "coldest" not in done.output


def test_what_heats_a_floor_keeps_the_room_behind_it(tmp_path: Path) -> None:
    """A wall and a floor have no limits of their own; the thermostat reads the room that has."""
    plan = HOUSE.replace(
        "initial_temperature: 20.5 degC",
        "initial_temperature: 20.5 degC, neighbours: {wall: 2 K/kW, floor: 1 K/kW}",
    ).replace("zone: living", "zone: floor")
    for zone in ("wall", "floor"):
        slots = "model: thermal_zone, capacitance: 2 kWh/K, initial_temperature: 21 degC"
        plan = plan.replace("  pump:", f"  {zone}: {{{slots}}}\n  pump:")
    (tmp_path / "plan.yaml").write_text(plan)
    given = ["--plant", "environment", "--steps", "12", "--against", "thermostat"]
    told(tmp_path / "plan.yaml", *given, "--out", tmp_path / "out")
    on = False
    rows = (tmp_path / "out/against-thermostat.csv").read_text().splitlines()
    for row in csv.DictReader(rows):
        warmth = float(row["zone.living.temperature [degC]"])
        on = warmth < 20 or (on and warmth < 22)
        assert float(row["pump.electric_power [kW]"]) == pytest.approx(2.0 * on)


def test_a_cluster_emits_what_its_buildings_do(tmp_path: Path) -> None:
    green = HOUSE.replace("0.3 EUR/kWh}", "0.3 EUR/kWh, emission_factor: 0.4 kg/kWh}")
    (tmp_path / "one.yaml").write_text(green)
    (tmp_path / "all.yaml").write_text(
        "title: Two\nhorizon: {start: 2026-01-10, step: 1 h, days: 2}\n"
        "buildings: {a: one.yaml, b: one.yaml}\ngoal: {minimize: cost}\n"
    )
    emitted = {}
    for name in ("one", "all"):
        out = tmp_path / name
        given = ["--plant", "environment", "--steps", "6", "--against", "default"]
        found = told(tmp_path / f"{name}.yaml", *given, "--out", out)
        figures = [f for f in found["assessment"] if f["name"] == "emissions"]
        emitted[name] = figures[0]["value"]
    assert figures[0]["component"] == "cluster"
    assert emitted["all"] == pytest.approx(2 * emitted["one"])


def test_what_really_comes_is_refused_where_its_slot_is(tmp_path: Path) -> None:
    factors = ", ".join(["0.4 kg/kWh", "0.3 kg/kWh"] * 24)
    green = HOUSE.replace("0.3 EUR/kWh}", f"0.3 EUR/kWh, emission_factor: [{factors}]}}")
    (tmp_path / "plan.yaml").write_text(green)
    plant = Site.load(tmp_path / "plan.yaml").blueprint()
    plant.control(2, actual={"grid.emission_factor": [0.0, 0.5]}, progress=False)
    with pytest.raises(InputError, match=r"grid\.emission_factor is out of range"):
        plant.control(2, actual={"grid.emission_factor": [-0.1, 0.5]}, progress=False)
