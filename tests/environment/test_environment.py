"""What is optimised is what is simulated; energy is conserved; rules and steps of any length."""

import csv
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from engiagent import Blueprint, Site
from engiagent.cli.app import app
from engiagent.environment.built import CHARGING
from engiagent.environment.controllers import by_rules, ruled
from engiagent.environment.environment import BALANCE, Environment
from engiagent.environment.interface import Moment, Signal
from engiagent.environment.running import Forcing
from engiagent.environment.signals import Connected, Input, Output, Signals
from engiagent.errors import InputError
from engiagent.models.battery import lost_share
from engiagent.text import corpus_root
from engiagent.text.datafile import load_data_file
from engiagent.units.words import Conventions

PLANNED = (
    "battery/brewery_demand_charge",
    "battery/clock_change_day",
    "battery/ferry_pack_taper",
    "battery/solar_park_two_batteries",
    "battery/tram_flywheel",
    "der/clinic_outage_priorities",
    "der/office_vehicle_to_grid",
    "hvac/hotel_heat_recovery",
    "thermal/laboratory_small_connection",
    "thermal/library_event_precooling",
    "thermal/museum_clock_change",
    "thermal/office_heat_pump",
)

SITE = """\
title: A small quarter
horizon: {start: 2026-01-10, step: 1 h, periods: 24}
components:
  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh, export_price: 0.1 EUR/kWh}
  gas: {model: grid, bus: gas, import_price: 0.1 EUR/kWh}
  load: {model: load, bus: power, power: 20 kW}
  houses: {model: load, bus: heat, power: 30 kW}
  roof: {model: pv, bus: power, dc_capacity: 30 kW, ac_capacity: 25 kW, irradiance: 400 W/m2,
         air_temperature: 5 degC}
  battery: {model: battery, bus: power, energy_capacity: 50 kWh, charge_power_max: 20 kW,
            discharge_power_max: 20 kW, quadratic_loss: 0.05, no_load_loss: 0.1 kW,
            initial_energy: 50 %, self_discharge: 0.1 %/h}
  engine: {model: chp, bus: power, heat_bus: heat, fuel_bus: gas, rated_power: 20 kW,
           load: [0.5, 1], electric_efficiency: [0.3, 0.35], thermal_efficiency: [0.5, 0.48]}
  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 25 kW,
         carnot_fraction: 0.45, source_temperature: 2 degC, sink_temperature: 45 degC}
  boiler: {model: boiler, bus: none, heat_bus: heat, fuel_bus: gas, rated_capacity: 60 kW,
           rated_efficiency: 0.9}
  store: {model: thermal_store, heat_bus: heat, energy_capacity: 80 kWh, charge_power_max: 40 kW,
          discharge_power_max: 40 kW, initial_energy: 50 %, self_discharge: 1 %/h}
  tank: {model: hot_water_tank, heat_bus: heat, mass: 500 kg, loss_conductance: 0.003 kW/K,
         initial_temperature: 60 degC, use: 0.01 kg/s, use_temperature: 45 degC}
  office: {model: zone_5r1c, heat_bus: heat, mass_capacity: 4 kWh/K, mass_area: 250 m2,
           surface_area: 450 m2, window_conductance: 0.03 kW/K, opaque_conductance: 0.04 kW/K,
           ventilation: 0.02 kW/K, ambient_temperature: -3 degC, internal_gains: 0.5 kW,
           initial_temperature: 19 degC, temperature_min: 20 degC, temperature_max: 22 degC,
           heating_power_max: 3 kW}
  hall: {model: thermal_zone, capacitance: 3 kWh/K, resistance: 4 K/kW,
         initial_temperature: 18 degC, ambient_temperature: -3 degC}
  radiator: {model: emitter, heat_bus: heat, zone: hall, power_max: 8 kW}
  car: {model: ev, bus: power, energy_capacity: 40 kWh, charge_power_max: 11 kW,
        charge_efficiency: 0.9, arrival: [2 h, 18 h], departure: [7.5 h, 23 h],
        arrival_energy: [10 kWh, 12 kWh], required_energy: [30 kWh, 20 kWh]}
requirements:
  warm: "19 degC <= hall.temperature[t] <= 21 degC"
goal: {minimize: cost}
"""


@pytest.fixture(scope="module")
def quarter(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    path = tmp_path_factory.mktemp("site") / "plant.yaml"
    path.write_text(SITE)
    return Environment.load(path)


@pytest.mark.parametrize("name", PLANNED)
def test_a_plan_that_is_carried_out_has_the_states_it_was_made_with(name: str) -> None:
    folder = corpus_root() / name
    blueprint = Blueprint.load(folder / "expert/blueprint.json")
    site, plan = Environment(blueprint, folder), blueprint.solve(progress=False)

    def planned(signal: str) -> Any:
        try:
            return plan[signal].values
        except (KeyError, InputError):
            return None

    actions = {n: planned(n) for n, s in site.signals.items() if s.role == "action"}
    site.reset()
    compared = 0
    for k in range(site.steps):
        done = site.step({n: float(v[k]) for n, v in actions.items() if v is not None})
        for signal, value in done.items():
            series = planned(signal)
            if series is not None and series.ndim == 1:
                at = k + (site.signals[signal].role == "state")
                assert value == pytest.approx(series[at], abs=1e-4), (signal, k)
                compared += 1
    assert compared >= 2 * site.steps
    assert site.imbalance < 1e-9


ACTIONS = st.dictionaries(
    st.sampled_from(
        (
            *("battery.charge", "battery.discharge", "engine.power", "pump.heat", "boiler.heat"),
            *("store.charge", "store.discharge", "tank.charge", "office.heating"),
            *("radiator.heat", "car.charge", "roof.power"),
        )
    ),
    st.floats(-20.0, 100.0),
)


@settings(max_examples=15)
@given(plan=st.lists(ACTIONS, min_size=1, max_size=6), seconds=st.sampled_from((60, 900, 3600)))
def test_whatever_is_asked_energy_is_conserved_and_limits_hold(
    quarter: Environment, plan: list[dict[str, float]], seconds: float
) -> None:
    quarter.initialize(seconds)
    quarter.reset()
    for actions in plan:
        done = quarter.step(actions)
        assert -1e-9 <= done["battery.state_of_charge"] <= 50 + 1e-9
        assert -1e-9 <= done["store.energy"] <= 80 + 1e-9
        assert 0 <= done["battery.charge"] <= 20
        assert 0 <= done["pump.heat"] <= 25
        assert 0 <= done["roof.power"] <= 25
    assert quarter.imbalance < 1e-9


def test_machines_serve_what_their_bus_leaves_in_the_order_of_the_file(
    quarter: Environment,
) -> None:
    quarter.initialize(900)
    quarter.reset()
    done = quarter.step({"radiator.heat": 5.0})
    assert done["pump.heat"] == pytest.approx(25.0)
    assert done["boiler.heat"] == pytest.approx(10.0)  # 30 of the houses, 5 of the radiator
    assert done["heat.unserved"] == pytest.approx(0.0)
    assert done["gas.import"] == pytest.approx(10.0 / 0.9)
    done = quarter.step({"radiator.heat": 5.0, "boiler.heat": 4.0})
    assert done["heat.unserved"] == pytest.approx(6.0)


def test_steps_of_any_length_agree_where_inputs_stay(quarter: Environment) -> None:
    ends = []
    for seconds in (60, 300, 3600):
        data = quarter.run(
            lambda now: {"battery.charge": 3.0, "office.heating": 4.0, "radiator.heat": 6.0},
            steps=int(7200 / seconds),
            seconds=seconds,
        )
        names = ("battery.state_of_charge", "office.mass.temperature", "zone.hall.temperature")
        ends.append([float(data[n][-1]) for n in (*names, "store.energy", "tank.temperature")])
    assert ends[0] == pytest.approx(ends[2], rel=1e-9)
    assert ends[1] == pytest.approx(ends[2], rel=1e-9)


def test_a_vehicle_is_charged_while_it_is_there(quarter: Environment) -> None:
    data = quarter.run(lambda now: {"car.charge": 11.0}, seconds=1800)
    power, energy = data["car.charge"].values, data["car.state_of_charge"].values
    assert not power[:4].any()
    assert not power[15:36].any()
    assert power[4:15].sum() * 0.5 * 0.9 == pytest.approx(40.0 - 10.0)  # full before it leaves
    assert energy[15] == 0.0  # it takes away what it has
    assert float(data.attrs[BALANCE]) < 1e-9


def test_a_run_is_a_dataset_with_units_and_roles(quarter: Environment) -> None:
    data = quarter.run(steps=4, seconds=900)
    assert data["battery.state_of_charge"].dims == ("instant",)
    assert data["grid.import"].dims == ("time",)
    assert data["zone.hall.temperature"].attrs == {"units": "degC", "role": "state"}
    assert {item.attrs["role"] for item in data.data_vars.values()} == {
        *("action", "disturbance", "state", "observation")
    }
    assert str(data["time"].values[1]) == "2026-01-10T00:15:00.000000000"
    again = quarter.run(steps=4, seconds=900)
    assert data.equals(again)


@pytest.mark.parametrize(("start", "hours"), [("2026-03-28", 47), ("2026-10-24", 49)])
def test_rules_and_stamps_keep_to_changes_of_clocks(tmp_path: Path, start: str, hours: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    begin = datetime.fromisoformat(start).replace(tzinfo=zone)
    moments = [
        (begin.astimezone(UTC) + timedelta(minutes=30 * k)).astimezone(zone)
        for k in range(2 * hours)
    ]
    tariff = "\n".join(f"{m.isoformat()},{0.4 if m.hour == 17 else 0.2}" for m in moments)
    (tmp_path / "w.csv").write_text(f"time,price [EUR/kWh]\n{tariff}\n")
    (tmp_path / "plant.yaml").write_text(f"""\
horizon: {{start: {start}, step: 1 h, days: 2, zone: Europe/Berlin}}
components:
  grid: {{model: grid, import_price: w.csv#price}}
  shop: {{model: load, power: 6 kW}}
goal: {{minimize: cost}}
""")
    rules = '{daily: {"00:00": 1 kW, "02:00": 4 kW, "03:00": 2 kW, "17:00": 3 kW, "18:00": 1 kW}}'
    (tmp_path / "rules.yaml").write_text(f"shop.power: {rules}\n")
    given = ("simulate", tmp_path / "plant.yaml", "--controller", tmp_path / "rules.yaml")
    command = [*map(str, given), "--step", "30min", "--out", str(tmp_path / "run")]
    assert CliRunner().invoke(app, command).exit_code == 0
    rows = list(csv.DictReader((tmp_path / "run" / "data.csv").read_text().splitlines()))
    assert [datetime.fromisoformat(row["time"]).isoformat() for row in rows] == [
        m.isoformat() for m in moments
    ]
    for moment, row in zip(moments, rows, strict=True):
        hour = moment.hour
        power = 4.0 if hour == 2 else 3.0 if hour == 17 else 2.0 if 3 <= hour < 17 else 1.0
        assert float(row["shop.power [kW]"]) == power, moment
        assert float(row["grid.import_price [EUR/kWh]"]) == (0.4 if hour == 17 else 0.2), moment
    again = load_data_file(tmp_path / "run", "data.csv", Conventions(), "Europe/Berlin").axis
    assert again is not None
    assert {*np.diff(again.instants)} == {1800}


def test_the_thermostat_keeps_zones_warm(quarter: Environment) -> None:
    data = quarter.run(ruled("thermostat", quarter), seconds=300)
    hall = data["zone.hall.temperature"].values
    assert hall[120:].min() > 18.7
    assert hall.max() < 21.3
    office = data["office.air.mean_temperature"].values
    assert 19.0 < office[120:].mean() < 22.0


def test_self_consumption_is_the_baseline_of_the_plan(tmp_path: Path) -> None:
    sun = [0, 0, 5, 20, 60, 80, 40, 10, 0, 0, 0, 0]
    site = Site("2026-06-01", "1 h", 12)
    site.add("grid", "grid", import_price=0.3, export_price=0.05)
    site.add("shop", "load", power=[15.0] * 12)
    site.add("roof", "generator_profile", available_power=[float(value) for value in sun])
    powers: Any = {"charge_power_max": "30 kW", "discharge_power_max": "20 kW"}
    powers |= {"charge_efficiency": 0.95, "discharge_efficiency": 0.9, "self_discharge": "1 %/h"}
    site.add("battery", "battery", energy_capacity="70 kWh", initial_energy="10 kWh", **powers)
    site.minimise_cost()
    path = tmp_path / "plant.yaml"
    path.write_text(site.to_yaml() + "baseline: {rule: self-consumption}\n")
    with_rule = Site.load(path).blueprint()
    case = next(c for c in with_rule.to_dict()["core_model_elements"]["report"]["cases"])
    stated = {
        op["value"]["name"]: op["value"]["value"]
        for op in case["patch"]
        if op["path"].endswith("/parameters/-")
    }
    plant = Environment.load(path)
    data = plant.run(ruled("self-consumption", plant))
    for way in ("charge", "discharge"):
        found = data[f"battery.{way}"].values
        assert found == pytest.approx(stated[f"baseline_battery_{way}"], abs=1e-9)


def test_rules_of_a_file_set_inputs(quarter: Environment) -> None:
    tree = {
        "radiator.heat": {
            "thermostat": "zone.hall.temperature",
            "between": {"06:00": ["20 degC", "21 degC"], "22:00": ["16 degC", "17 degC"]},
            "on": "8 kW",
            "shift": {"00:00": "0 K", "04:00": "4 K", "06:00": "0 K"},  # heats before it has to
        },
        "tank.charge": {"daily": {"00:00": "3 kW", "02:30": 0}},
        "office.heating": {"levels": ["0 kW", "3 kW"], "hold": "2 h", "seed": 1},
        "store.charge": "500 W",
    }
    data = quarter.run(by_rules(tree, quarter.signals), seconds=900)
    assert data["store.charge"].values[:4] == pytest.approx(0.5)
    charged = data["tank.charge"].values
    assert charged[:10] == pytest.approx(3.0)
    assert not charged[10:].any()
    levels = data["office.heating"].values.reshape(12, 8)
    assert (levels == levels[:, :1]).all()
    assert set(levels[:, 0]) == {0.0, 3.0}
    hall = data["zone.hall.temperature"].values
    assert 17.0 > hall[4 * 4] > 15.0
    assert hall[4 * 6] > 18.5


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        ({"radiator.heet": 1}, "no input 'radiator.heet'; expected 'radiator.heat'"),
        ({"radiator.heat": "5 degC"}, "radiator.heat: "),
        ({"radiator.heat": {"weekly": 1}}, "no rule: weekly"),
        ({"radiator.heat": {"thermostat": "hall", "between": [1, 2], "on": 1}}, "no signal 'hall'"),
    ],
)
def test_a_wrong_rule_is_named(quarter: Environment, tree: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        by_rules(tree, quarter.signals, "rules.yaml")


def test_what_has_no_physics_that_runs_is_refused_by_name() -> None:
    site = Site("2026-06-01", "1 h", 2)
    site.add("grid", "grid", import_price=0.3)
    site.minimise_cost()
    tree = json.loads(site.blueprint().to_json())
    tree["core_model_elements"]["components"][0] |= {"model": "feeder", "parameters": {}}
    with pytest.raises(InputError, match="grid is feeder, which the environment does not run"):
        Environment(Blueprint.from_dict(tree))


@given(
    values=st.lists(st.floats(-10, 10), min_size=4, max_size=12),
    ratio=st.sampled_from([(3600, 900), (900, 3600), (600, 900)]),
)
def test_series_of_another_step_keep_their_integral(
    values: list[float], ratio: tuple[int, int]
) -> None:
    own, step = ratio
    count = len(values) * own // step
    times = np.arange(len(values), dtype=np.float64) * own
    found = Forcing(times, {"x": np.array(values)}).along(count, step)["x"]
    fine = np.repeat(values, own // 300)[: count * step // 300]
    assert found == pytest.approx(fine.reshape(count, -1).mean(axis=1))


def warmed(periods: int, first: float) -> Site:
    """Return a room that is kept warm."""
    site = Site("2026-01-10", "1 h", periods)
    site.add("grid", "grid", import_price=0.2 + 0.1 * np.sin(np.arange(periods)))
    zone: Any = {"capacitance": "3 kWh/K", "initial_temperature": first, "ambient_temperature": 0.0}
    site.add("room", "thermal_zone", resistance="5 K/kW", **zone)
    site.add("pump", "heater", zone="room", electric_power_max="3 kW", cop=3)
    site.require("room_temperature[i] >= 20[degC]", over="i in I", name="warm")
    site.minimise_cost()
    return site


def test_another_plant_file_answers_a_plan(tmp_path: Path) -> None:
    site = warmed(36, 20.5)
    path = tmp_path / "leaky.yaml"
    path.write_text(site.to_yaml().replace("5 K/kW", "4 K/kW"))
    same = site.blueprint().control(6, plant="environment", progress=False)
    leaky = site.blueprint().control(6, plant=str(path), progress=False)
    assert not same.relaxed
    assert same.plant is not None
    name = "zone.room.temperature"
    model = site.blueprint().control(6, progress=False).solution[name].values
    assert same.plant[name].values == pytest.approx(model, abs=1e-6)
    assert leaky.plant is not None
    assert (leaky.plant[name].values[1:] < model[1:]).all()


def test_the_command_records_a_run(tmp_path: Path) -> None:
    path = tmp_path / "plant.yaml"
    path.write_text(SITE)
    (tmp_path / "inputs.csv").write_text(
        "time,store.charge [W]\n2026-01-10T00:00,2000\n2026-01-10T01:00,1000\n"
    )
    arguments = ["simulate", str(path), "--controller", "thermostat", "--step", "15min"]
    given = ["--inputs", str(tmp_path / "inputs.csv"), "--out", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(app, [*arguments, *given])
    assert result.exit_code == 0, result.output
    summary = json.loads(result.stdout)
    assert summary["steps"] == 8
    assert summary[BALANCE] < 1e-6
    assert summary["cost"]["unit"] == "EUR"
    data = xarray.open_dataset(tmp_path / "out/data.nc")
    assert data["store.charge"].values == pytest.approx([2.0] * 4 + [1.0] * 4)
    head, first = (tmp_path / "out/data.csv").read_text().splitlines()[:2]
    assert "zone.hall.temperature [degC]" in head
    assert first.startswith("2026-01-10T00:00:00,")


@pytest.mark.parametrize(("machine", "bus"), [("heat_pump", "heat"), ("chiller", "cooling")])
def test_energy_that_nothing_made_is_told(machine: str, bus: str, tmp_path: Path) -> None:
    """3 kW of 8 kW over four hours; the bus of cold has the sign of the bus of heat."""
    cop = "cop" if machine == "heat_pump" else "rated_cop"
    (tmp_path / "plant.yaml").write_text(f"""
horizon: {{start: 2026-01-12, step: 1 h, periods: 4}}
components:
  grid: {{model: grid, bus: power, import_price: 0.3 EUR/kWh}}
  unit: {{model: {machine}, bus: power, {bus}_bus: wet, rated_capacity: 5 kW, {cop}: 4}}
  hall: {{model: load, bus: wet, power: 8 kW}}
goal: {{minimize: cost}}
""")
    arguments = ["simulate", str(tmp_path / "plant.yaml"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*arguments, "--step", "15min", "--json"])
    assert result.exit_code == 0, result.output
    (note,) = json.loads(result.stdout)["notes"]
    assert note.startswith("12 kWh (up to 3 kW) were taken that nothing made (wet.unserved)")
    assert note in " ".join(result.stderr.split())
    assert json.loads((tmp_path / "out/simulation.json").read_text())["notes"] == [note]


class Follower:
    """A room that becomes as warm as it is told to, in kelvin."""

    signals: Any = {  # noqa: RUF012
        "set_point": Signal("K", "action", 290.0),
        "measured": Signal("K", "state"),
    }

    def __init__(self) -> None:
        self.told: list[float] = []

    def initialize(self, seconds: float) -> None:
        assert seconds == 3600.0

    def reset(self, initial: Any = None, seed: int = 0) -> dict[str, float]:
        return {"measured": 273.15 + 20.5}

    def step(self, inputs: Any) -> dict[str, float]:
        self.told.append(inputs["set_point"] - 273.15)
        return {"measured": inputs["set_point"]}


def test_what_a_plan_means_a_state_to_be_is_a_set_point() -> None:
    site = warmed(12, 20.0)
    name = "zone.room.temperature"
    names = Signals(
        inputs={f"{name}.planned": Input("set_point")}, outputs={name: Output("measured")}
    )
    plant = Follower()
    loop = site.blueprint().control(4, plant=Connected(plant, names), progress=False)
    planned = [float(next(iter(c.predicted.values()))) for c in loop.controls]
    assert plant.told == pytest.approx(planned)
    measured = loop.solution[name].values
    assert measured == pytest.approx([20.5, *planned])


def test_a_loop_leaves_out_figures_of_what_its_plant_does_not_show(tmp_path: Path) -> None:
    plant = tmp_path / "house.yaml"
    plant.write_text(
        "title: House\nhorizon: {step: 1 h, periods: 12}\ncomponents:\n"
        "  grid: {model: grid, import_price: 0.3 EUR/kWh, emission_factor: 400 g/kWh}\n"
        "  room: {model: thermal_zone, capacitance: 3 kWh/K, resistance: 5 K/kW,\n"
        "         initial_temperature: 20 degC, ambient_temperature: 2 degC}\n"
        "  radiator: {model: emitter, heat_bus: heat, zone: room}\n"
        "  pump: {model: heat_pump, heat_bus: heat, rated_capacity: 9 kW, cop: 3}\n"
        'requirements: {warm: {for: t in T, must: "room.temperature[t] >= 20 degC"}}\n'
        "goal: {minimize: cost}\n"
    )
    signals = tmp_path / "signals.yaml"
    signals.write_text(
        "inputs: {radiator.heat: radiator.heat}\n"
        "outputs: {zone.room.temperature: zone.room.temperature,\n"
        "          grid.import: {from: grid.import, mean: yes},\n"
        "          pump.electric_power: {from: pump.electric_power, mean: yes}}\n"
    )
    command = ["control", str(plant), "--plant", str(plant), "--signals", str(signals), "--json"]
    out = ["--steps", "2", "--horizon", "6", "--out", str(tmp_path / "loop")]
    result = CliRunner().invoke(app, [*command, *out])
    assert result.exit_code in (0, 1), result.output
    figures = {f["name"]: f["value"] for f in json.loads(result.stdout)["assessment"]}
    assert figures["energy_cost"] > 0
    assert figures["emissions"] == pytest.approx(0.4 / 0.3 * figures["energy_cost"])
    assert "consumption" not in figures


def test_a_battery_that_ages_holds_less_each_day_and_no_energy_is_lost(tmp_path: Path) -> None:
    """Full at each midnight: what the faded capacity does not hold any more leaves as heat."""
    plant, ageing, out = tmp_path / "plant.yaml", tmp_path / "ageing.yaml", tmp_path / "out"
    plant.write_text(
        "horizon: {start: 2026-01-10, step: 1 h, days: 20}\n"
        "components:\n"
        "  grid: {model: grid, import_price: 0.3 EUR/kWh}\n"
        "  battery: {model: battery, energy_capacity: 10 kWh, charge_power_max: 4 kW,\n"
        "            discharge_power_max: 4 kW, initial_energy: 100 %, charge_efficiency: 90 %}\n"
        "goal: {minimize: cost}\n"
    )
    ageing.write_text("battery: {cycles_at_full_depth: 200, cycle_exponent: 1.5}")
    rules = tmp_path / "rules.yaml"
    rules.write_text(
        'battery.discharge: {daily: {"00:00": 0 kW, "06:00": 4 kW, "12:00": 0 kW}}\n'
        'battery.charge: {daily: {"00:00": 0 kW, "12:00": 4 kW}}\n'
    )
    given = ["simulate", str(plant), "--controller", str(rules), "--step", "15min", "--json"]
    result = CliRunner().invoke(app, [*given, "--ageing", str(ageing), "--out", str(out)])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["energy_imbalance"] < 1e-9
    data = xarray.load_dataset(out / "data.nc")
    held = data["battery.state_of_charge"].values.reshape(-1)
    loss = data["battery.capacity_loss"].values
    # As the checker counts them: each day the cycles so far, of 200 to the end of life at 20 %.
    for day in range(1, 20):
        so_far = lost_share(
            held[: 96 * day + 1] / 10, 0.25, cycles_at_full_depth=200, cycle_exponent=1.5
        )
        assert loss[96 * day : 96 * day + 96] == pytest.approx(so_far[-1], abs=1e-12)
        assert held[96 * day + 1 : 96 * day + 24] == pytest.approx(10 * (1 - so_far[-1]))
        assert loss[96 * day] > loss[96 * day - 1]
    assert found["batteries"]["battery"]["capacity_lost"] >= loss[-1] > 0.015
    # What was charged is stored, given, lost in charging, or left as heat when capacity faded.
    charged, given_back = (data[f"battery.{way}"].values.sum() / 4 for way in CHARGING)
    shed = 0.9 * charged - given_back - (held[-1] - held[0])
    assert shed == pytest.approx(10 * loss[-1])
    result = CliRunner().invoke(app, ["simulate", "fmu:x.fmu", "--ageing", str(ageing)])
    assert "--ageing needs a plant file" in result.output


class Family:
    """Occupancy that is generated: a disturbance that remembers, and draws by chance."""

    def initialize(self, seconds: float) -> None:
        self.hours = seconds / 3600

    def reset(self, seed: int = 0) -> None:
        self.chance, self.here = np.random.default_rng(seed), False

    def step(self, now: Moment) -> dict[str, float]:
        self.here ^= self.chance.random() < self.hours
        return {"load.power": 0.4 * self.here}


def test_controllers_and_disturbances_are_reset_as_plants_are(quarter: Environment) -> None:
    tree = {
        "radiator.heat": {
            "thermostat": "zone.hall.temperature",
            "between": ["15 degC", "22 degC"],
            "on": "8 kW",
        },
        "battery.charge": {"levels": ["1 kW", "2 kW", "3 kW"], "hold": "1 h"},
    }
    rules, family = by_rules(tree, quarter.signals), Family()
    # Between its limits the thermostat stays as it was: on, after the first run.
    first, again = (quarter.run(rules, 24, 900, forcing=family) for _ in range(2))
    other = quarter.run(rules, 24, 900, forcing=family, seed=1)
    assert first.identical(again)
    assert first["radiator.heat"].values[[0, -1]].tolist() == [0.0, 8.0]
    assert set(first["load.power"].values) == {0.0, 0.4}
    for name in ("load.power", "battery.charge"):
        assert not other[name].equals(first[name])


@pytest.mark.parametrize("content", [-1.0, 50.1, np.nan, np.inf])
def test_a_store_cannot_start_beyond_what_it_holds(quarter: Environment, content: float) -> None:
    quarter.initialize(900)
    with pytest.raises(InputError, match=r"battery\.state_of_charge cannot be .* 0 to 50"):
        quarter.reset({"battery.state_of_charge": content})
    assert quarter.reset({"battery.state_of_charge": 50.0})["battery.state_of_charge"] == 50.0


class Forgetful:
    def initialize(self, seconds: float) -> None: ...
    def step(self, now: Moment) -> None: ...


def lost(now: Moment) -> Any:
    return {"radiator.heat": now.seen["outside"]}


@pytest.mark.parametrize(
    ("part", "said"),
    [
        (Forgetful(), "Forgetful cannot set inputs; found no reset"),
        (Family, "Family cannot set inputs; found a class"),
        (lost, "lost raised KeyError: 'outside'"),
        (lambda now: {"radiator.heet": 1}, "no input 'radiator.heet'; expected 'radiator.heat'"),
        (lambda now: 3, "raised TypeError"),
        (lambda now: {"radiator.heat": "2 kW"}, "radiator.heat is set to no number; found '2 kW'"),
        (lambda now: {"radiator.heat": [1.0]}, "no number"),
    ],
)
def test_what_sets_no_inputs_is_named(quarter: Environment, part: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        quarter.run(part, 2)


def test_prices_that_are_set_count_and_machines_emit(tmp_path: Path) -> None:
    plant = tmp_path / "plant.yaml"
    plant.write_text(
        "horizon: {start: 2026-01-10, step: 1 h, periods: 2}\n"
        "components:\n"
        "  grid: {model: grid, import_price: 0.3 EUR/kWh, emission_factor: 0.4 kg/kWh}\n"
        "  set: {model: genset, rated_power: 4 kW, fuel_slope: 0.25 l/kWh,\n"
        "        emission_factor: 2.6 kg/l}\n"
        "  home: {model: load, power: 10 kW}\n"
        "goal: {minimize: cost}\n"
    )
    site = Environment(Site.load(plant).blueprint(), tmp_path)
    prices = [0.3, 0.5]
    data = site.run(lambda now: {"set.power": 4.0, "grid.import_price": prices[now.step]})
    assert site.cost(data) == {"value": pytest.approx(6 * sum(prices)), "unit": "EUR"}
    assert site.emissions(data) == {"value": pytest.approx(2 * (6 * 0.4 + 2.6)), "unit": "kg"}
