"""Known houses are found again, what data say nothing of is refused, and plans follow at once."""

import csv
import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from sklearn.ensemble import HistGradientBoostingRegressor

from engiagent.cli.app import app
from engiagent.environment.signals import Signals
from engiagent.errors import InputError
from engiagent.identify.identifying import Identified, identify
from engiagent.identify.kalman import Record, filtered, likelihood, scored, simulated
from engiagent.identify.machines import machine_map
from engiagent.identify.measurements import Measurements, read_measurements
from engiagent.identify.plantfile import inputs_csv, machine_text, plant_text
from engiagent.identify.residual import KINDS, Learnt, extended, features, learnt
from engiagent.identify.structures import STRUCTURES, Driver, Model
from engiagent.models.buildings import HeatNetwork, Link, Node
from engiagent.plant.site import Site
from tests.cli.test_json_forms import checked

SUN = Driver("solar", "aperture", "m2", 1.0)
House = tuple[Record, dict[str, float]]
ROLES = {"temperature": "room", "ambient": "out", "heat": "heat", "solar": "sun"}


def _benchmark() -> ModuleType:
    path = Path(__file__).parents[2] / "benchmarks/identification.py"
    spec = importlib.util.spec_from_file_location("identification", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def house() -> House:
    found: House = _benchmark().simple(7, days=8)
    return found


def of(record: Record) -> Measurements:
    begins = np.arange(len(record.measured)) * round(record.hours * 3600)
    drivers = (SUN,) if record.inputs.shape[1] > 2 else ()
    return Measurements("house.csv", "", {}, begins, None, record, drivers, ())


def vector(name: str, values: dict[str, float]) -> Any:
    model = Model(STRUCTURES[name], (SUN,))
    known = {"room.noise": 0.05, "wall.noise": 0.02, "floor.noise": 0.02, "sensor.noise": 0.05}
    known |= {"floor.capacitance": 1.3, "room.neighbours.floor": 0.4, "room.resistance": 20.0}
    return model, np.log([(known | values)[n] for n in model.names])


def network(inner: float, *more: Link) -> HeatNetwork:
    """Return a room behind a wall."""
    links = (
        Link(one="room", other="wall", conductance=inner),
        Link(one="wall", other="outside", conductance=0.2),
    )
    nodes = (Node(name="room", capacity=0.6), Node(name="wall", capacity=7.0))
    return HeatNetwork(nodes=nodes, links=(*links, *more), boundaries=("outside",))


def test_known_parameters_lie_in_their_intervals(house: House) -> None:
    record, truth = house
    found = identify(of(record), "2R2C", starts=1)
    assert not found.unknown
    for name, value in truth.items():
        estimate = found[name]
        # 95 % each: a house may be out by a little, never by much.
        wider = (estimate.high - estimate.low) / 4
        assert estimate.low - wider <= value <= estimate.high + wider, name
        assert estimate.high < 1.3 * estimate.low
    # All five together, by chi squared of five at 99.9 %; the axes are the intervals.
    assert found.fit.distance(truth) < 20.5
    one = found["wall.capacitance"]
    assert found.fit.distance({one.name: one.high}) == pytest.approx(3.8415, abs=0.01)
    assert found.held_back is not None
    assert found.held_back.ahead[24.0] < 0.2 * found.held_back.persistence[24.0]


def test_the_step_is_that_of_the_physics() -> None:
    capacities = {"room.capacitance": 0.6, "wall.capacitance": 7.0, "room.aperture": 2.0}
    resistances = {"room.neighbours.wall": 0.9, "wall.resistance": 5.0}
    model, theta = vector("3R2C", capacities | resistances)
    leak = Link(one="room", other="outside", conductance=0.05)
    exact = network(1 / 0.9, leak).discretise(0.25)
    transition, response, noise, _ = (part[0] for part in model.discrete(theta[None], 0.25))
    assert np.allclose(transition, exact.transition, rtol=1e-12)
    assert np.allclose(response[:, :2], exact.drive[:, :2], rtol=1e-12)
    assert np.allclose(response[:, 2], 2.0 * exact.drive[:, 1], rtol=1e-12)
    # Two half steps gather the noise of a whole one.
    half, _, part, _ = (part[0] for part in model.discrete(theta[None], 0.125))
    assert np.allclose(noise, half @ part @ half.T + part, rtol=1e-9)


@pytest.mark.parametrize("name", STRUCTURES)
def test_slopes_are_those_of_differences(name: str, house: House) -> None:
    record, truth = house
    gaps = np.isin(np.arange(200), [20, 21, 90])
    inputs = record.inputs[:200].copy()
    inputs[150:155, 0] = np.nan  # the filter begins anew behind it
    short = Record(record.hours, record.measured[:200], inputs).without(gaps)
    model, theta = vector(name, truth | {"room.resistance": 12.0})
    _, slope, information = scored(model, theta, short)
    step = 1e-5 * np.eye(len(theta))
    up, down = (likelihood(model, theta + sign * step, short) for sign in (1, -1))
    assert np.allclose(slope, (up - down) / 2e-5, rtol=1e-3, atol=1e-3)
    assert (np.linalg.eigvalsh(information) > -1e-6 * np.trace(information)).all()


def test_settled_covariances_change_nothing(house: House) -> None:
    # A measurement left out late makes the recursion start anew; before it all stays the same.
    record, truth = house
    model, theta = vector("2R2C", truth)
    whole = filtered(model, theta[None], record)
    late = len(record.measured) - 50
    holed = filtered(model, theta[None], record.without(np.arange(len(record.measured)) == late))
    assert np.array_equal(whole.innovation[:late], holed.innovation[:late])
    assert np.isnan(holed.innovation[late]).all()
    assert np.abs(whole.innovation[-1] - holed.innovation[-1]).max() < 0.05


def test_gaps_and_outliers_move_nothing(house: House) -> None:
    record, truth = house
    rng = np.random.default_rng(0)
    measured = np.where(rng.random(len(record.measured)) < 0.03, np.nan, record.measured)
    measured[[100, 300]] += 12.0
    found = identify(of(Record(record.hours, measured, record.inputs)), "2R2C", starts=1)
    assert 2 <= found.fit.outliers.sum() <= 6
    for name, value in truth.items():
        assert found[name].value == pytest.approx(value, rel=0.15), name


def test_a_wrong_reading_of_what_was_held_back_is_left_out_and_said(house: House) -> None:
    record, _ = house
    wrong = np.arange(len(record.measured)) == len(record.measured) - 40
    measured = np.where(wrong, 0.0, record.measured)
    broken = identify(of(Record(record.hours, measured, record.inputs)), "2R2C", starts=1)
    missing = identify(of(record.without(wrong)), "2R2C", starts=1)
    assert any("1 of what was held back stand" in note for note in broken.notes)
    assert not any("held back" in note for note in missing.notes)
    one, other = broken.held_back, missing.held_back
    assert one is not None
    assert other is not None
    assert one.ahead == pytest.approx(other.ahead)
    assert (one.simulation, one.largest) == pytest.approx((other.simulation, other.largest))
    assert one.persistence == pytest.approx(other.persistence)


def test_auto_takes_the_structure_that_made_the_data() -> None:
    record, _ = _benchmark().simple(7, days=12)
    hourly = record.inputs.reshape(-1, 4, 3).mean(axis=1)
    found = identify(of(Record(1.0, record.measured[::4], hourly)), starts=1)
    assert found.name == "2R2C"
    tried = {c.name: c for c in found.candidates}
    assert set(tried) == set(STRUCTURES)
    assert tried["2R2C"].ratio < 1e-6
    assert tried["1R1C"].whiteness.ljung_box < 1e-6


def test_errors_of_a_simulation_are_as_large_however_far_ahead(house: House) -> None:
    found = identify(of(house[0]), "2R2C", error="simulation", starts=1)
    assert not any(e.name.endswith(".noise") for e in found.estimates if e.name != "sensor.noise")
    assert found.held_back is not None
    near, _, far = found.held_back.ahead.values()
    assert near == pytest.approx(far, rel=0.05)
    assert found.held_back.simulation == pytest.approx(far, rel=0.05)
    for name in ("wall.resistance", "room.capacitance"):
        assert found[name].value == pytest.approx(house[1][name], rel=0.1)


def still(power: float) -> Record:
    outside = 5 + 4 * np.sin(np.arange(600) / 24 * np.pi)
    house = HeatNetwork(
        nodes=(Node(name="room", capacity=2.0),),
        links=(Link(one="room", other="outside", conductance=0.2),),
        boundaries=("outside",),
    )
    run = house.simulate({"outside": outside}, 0.5, {"room": [power] * 600}, initial={"room": 15.0})
    noise = 0.02 * np.random.default_rng(1).normal(size=600)
    inputs = np.column_stack((outside, np.full(600, power)))
    return Record(0.5, run.temperature[:-1, 0] + noise, inputs)


@pytest.mark.parametrize("power", [0.0, 2.0])
def test_a_constant_heating_tells_of_no_capacity(power: float) -> None:
    found = identify(of(still(power)), "1R1C", starts=1)
    assert set(found.unknown) == {"room.capacitance", "room.resistance"}
    assert all(f"the heat was constant ({power:g})" in why for why in found.unknown.values())


def test_what_is_not_in_the_house_is_refused(house: House) -> None:
    found = identify(of(house[0]), "3R2C", starts=1)
    assert set(found.unknown) == {"room.resistance"}
    assert "above" in found.unknown["room.resistance"]


# -- tables and commands --------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path: Path, house: House) -> Callable[..., Path]:
    def write(change: Callable[[list[str]], list[str]] = list) -> Path:
        record = house[0]
        rows = []
        for k, (room, inputs) in enumerate(zip(record.measured, record.inputs, strict=True)):
            stamp = np.datetime64("2026-01-05T00:00") + np.timedelta64(15 * k, "m")
            out, heat, sun = inputs
            rows.append(f"{stamp},{room + 273.15:.3f},{out:.3f},{1000 * heat:.1f},{1000 * sun:.1f}")
        path = tmp_path / "house.csv"
        head = "time,room [K],out [degC],heat [W],sun [W/m2]"
        path.write_text("\n".join([head, *change(rows)]) + "\n", "utf-8")
        return path

    return write


def test_units_come_from_headers(table: Callable[..., Path], house: House) -> None:
    record = read_measurements(table(), ROLES).record
    assert np.allclose(record.measured, house[0].measured, atol=1e-3)
    assert np.allclose(record.inputs, house[0].inputs, atol=1e-3)


def test_missing_rows_are_gaps_and_odd_stamps_an_error(table: Callable[..., Path]) -> None:
    found = read_measurements(table(lambda rows: rows[:50] + rows[53:]), ROLES)
    assert len(found.begins) == 8 * 96
    assert np.isnan(found.record.measured[50:53]).all()
    odd = table(lambda rows: [*rows[:50], rows[50].replace(":30", ":31", 1), *rows[51:]])
    with pytest.raises(InputError, match="irregular"):
        read_measurements(odd, ROLES)
    hours = read_measurements(odd, ROLES, step_hours=1.0).record
    assert hours.hours == 1.0
    assert len(hours.measured) == 8 * 24
    assert np.isfinite(hours.inputs).all()


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        ({"heat": "nope"}, "nope"),
        ({"heat": "out"}, "the heat 'out \\[degC\\]' is in degC"),
        ({"heat": ""}, "not given: heat"),
    ],
)
def test_wrong_columns_are_named(
    table: Callable[..., Path], roles: dict[str, str], message: str
) -> None:
    given = {k: v for k, v in (ROLES | roles).items() if v}
    with pytest.raises(InputError, match=message):
        read_measurements(table(), given)


def command(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


OPTIONS = ["--starts", "1"] + [word for role, name in ROLES.items() for word in (f"--{role}", name)]


def test_the_command_writes_a_plant_that_runs(table: Callable[..., Path], tmp_path: Path) -> None:
    out = tmp_path / "found"
    done = command("identify", table(), "--model", "2R2C", *OPTIONS, "--out", out, "--json")
    assert done.exit_code == 0, done.output
    shown = json.loads(done.stdout)
    assert shown["identified"]
    assert checked(shown) == "identification"
    written = json.loads((out / "identified.json").read_text("utf-8"))
    assert written["parameters"] == shown["parameters"]
    noise = written["uncertainty"]
    assert noise["estimated"].keys() == {"zone.room.temperature", "zone.wall.temperature"}
    assert noise["initial_deviation"] == {"zone.wall.temperature": "5 K"}  # the room is measured
    assert "<svg" in (out / "identified.html").read_text("utf-8")
    solution = Site.load(out / "plant.yaml").solve(progress=False)
    assert solution.certificate.verdict == "certified"
    assert command("identify", table(), *OPTIONS, "--out", out).exit_code == 2


def test_two_zones_stand_in_one_plant(table: Callable[..., Path], tmp_path: Path) -> None:
    template = tmp_path / "flats.yaml"
    template.write_text(
        "title: Two flats\n"
        "horizon: {start: 2026-01-12T00:00, step: 15 min, periods: 8}\n"
        "components:\n"
        "  grid: {model: grid, import_price: 0.30 EUR/kWh}\n"
        "  up: {model: heater, zone: room, electric_power_max: 4 kW, cop: 3}\n"
        "  down: {model: heater, zone: south, electric_power_max: 4 kW, cop: 3}\n"
        "goal: {minimize: cost}\n",
        "utf-8",
    )
    words = ["identify", table(), "--model", "2R2C", *OPTIONS]
    done = command(*words, "--template", template, "--out", tmp_path / "one")
    assert "cannot be planned" in done.output  # the other zone is not there yet
    both = tmp_path / "both"
    more = ["--template", tmp_path / "one/plant.yaml", "--name", "south", "--out", both]
    assert command(*words, *more).exit_code == 0
    site = Site.load(both / "plant.yaml")
    assert site.solve(progress=False).certificate.verdict == "certified"
    first, second = (
        json.loads((tmp_path / name / "identified.json").read_text("utf-8"))
        for name in ("one", "both")
    )
    assert (both / "inputs.csv").read_text() == (both / "south_inputs.csv").read_text()
    # All that is known of noise goes by the names of the plant.
    states = {f"zone.{name}.temperature" for name in ("room", "wall", "south", "south_wall")}
    known, noise = first["uncertainty"], second["uncertainty"]
    assert known["estimated"].keys() | noise["estimated"].keys() == states
    assert noise["uncertain"]["name"] == "south_temperature_error"
    assert re.findall(r"[\w.]+(?==)", noise["disturb"])[:2] == [
        "south.capacitance",
        "south_wall.capacitance",
    ]
    (tmp_path / "signals.yaml").write_text("estimated: [one, both]\n")
    assert Signals.load(tmp_path / "signals.yaml").estimated.keys() == states
    days = [*words[:2], "--apply", both, "--out", tmp_path / "later"]
    assert command(*days).exit_code == 0
    assert (tmp_path / "later/south_inputs.csv").is_file()
    wrong = command(*words, "--name", "1st floor", "--out", tmp_path / "wrong")
    assert wrong.exit_code == 2
    assert "the name of the zone; found '1st floor'; expected a letter" in wrong.output


def test_a_template_keeps_what_it_states(table: Callable[..., Path], tmp_path: Path) -> None:
    template = tmp_path / "mine.yaml"
    template.write_text(
        "title: Mine  # my house\n"
        "horizon: {start: 2026-01-12T00:00, step: 15 min, periods: 8}\n"
        "components:\n"
        "  grid: {model: grid, import_price: 0.30 EUR/kWh}\n"
        "  pump: {model: heater, zone: room, electric_power_max: 4 kW, cop: 3}\n"
        "  room: {model: thermal_zone, gains: 0.2 kW}\n"
        "requirements: {warm: 'room.temperature[t] >= 21 degC'}\n"
        "goal: {minimize: cost}\n",
        "utf-8",
    )
    out = tmp_path / "found"
    words = ["--model", "2R2C", *OPTIONS, "--template", template, "--out", out]
    assert command("identify", table(), *words).exit_code == 0
    text = (out / "plant.yaml").read_text("utf-8")
    assert "# my house" in text
    # What is not known makes a robust plan of it: each limit is kept with room for the error.
    identified = json.loads((out / "identified.json").read_text("utf-8"))
    known = identified["uncertainty"]["uncertain"]
    plant = Site.load(out / "plant.yaml").blueprint()
    (limit,) = plant.core.constraints
    wider = limit.expression.replace("[t]", f"[t] + {known['name']}[t]")
    core = "/core_model_elements"
    robust = plant.patch(
        [
            {"op": "add", "path": f"{core}/parameters/-", "value": known},
            {"op": "replace", "path": f"{core}/constraints/0/expression", "value": wider},
        ]
    )
    plan = robust.solve(progress=False)
    assert plan.certificate.levels["algebra"]["status"] == "pass"
    assert any("robust:warm" in str(c) for c in plan.certificate.levels["algebra"]["checks"])
    least = np.asarray(plan["room_temperature"])[7] - 21
    found = {k: v["value"] for k, v in identified["parameters"].items()}
    off, minute = np.zeros((2, 4000)), 1 / 60  # what the noise alone makes of the temperatures
    for draw in np.random.default_rng(4).normal(size=(7 * 15, 2, 4000)):
        flow = (off[0] - off[1]) / next(v for k, v in found.items() if ".neighbours." in k)
        rate = np.array([-flow / found["room.capacitance"], np.zeros(4000)])
        rate[1] = (flow - off[1] / found["wall.resistance"]) / found["wall.capacitance"]
        noise = np.array([[found["room.noise"]], [found["wall.noise"]]])
        off = off + rate * minute + noise * np.sqrt(minute) * draw
    assert 1.96 * off[0].std() * 0.95 < least < 1.96 * off[0].std() * 1.5
    assert not any("cannot be planned" in note for note in identified["notes"])
    template.write_text(template.read_text("utf-8").replace("2026-01-12T", "2026-01-22T"))
    done = command("identify", table(), *words[:-1], tmp_path / "late")
    assert done.exit_code == 0
    (note,) = (line for line in done.output.splitlines() if "cannot be planned" in line)
    assert "inputs.csv" in note
    assert "does not cover the horizon" in note
    lost = ["--template", tmp_path / "not.yaml", "--out", tmp_path / "b"]
    assert command("identify", table(), *OPTIONS, *lost).exit_code == 2
    assert "0.2 kW" in text
    assert Site.load(out / "plant.yaml").solve(progress=False).certificate.verdict == "certified"


# -- machines -------------------------------------------------------------------------------------


def test_a_heat_pump_is_found_with_its_part_load() -> None:
    rng = np.random.default_rng(2)
    ranges = ((-8, 12), (28, 50), (0.2, 1))
    source, sink, load = (rng.uniform(low, high, 800) for low, high in ranges)
    load[:20] = 1.0
    cop = (6.0 + 0.12 * source - 0.08 * sink) * (0.9 + 0.3 * load - 0.2 * load**2)
    heat = 12.0 * load
    electric = heat / cop * (1 + 0.01 * rng.normal(size=800))
    electric[5], heat[7] = 9 * electric[5], 0.0
    found = machine_map("heat-pump", electric, heat, source, sink)
    truth = np.array([6.0, 0.12, 0.0, -0.08, 0.0, 0.0])
    assert np.abs(found.surface - truth)[[0, 1, 3]].max() < 0.1
    assert found.left_out == 1
    assert found.error == pytest.approx(0.01, rel=0.2)
    at = np.polynomial.polynomial.polyval(0.5, found.part_load)
    assert at == pytest.approx(0.9 + 0.15 - 0.05, abs=0.01)


def test_capacity_by_temperature_is_that_of_full_load(tmp_path: Path) -> None:
    """The environment runs a heat pump whose capacity changes by 30 % over its source."""
    rng, count = np.random.default_rng(6), 600
    source, load = rng.uniform(-10, 10, count), rng.uniform(2, 14, count)
    stamps = np.datetime64("2026-01-01T00:00") + np.arange(count).astype("m8[h]")
    rows = [f"{t},{a:.3f},{b:.3f}" for t, a, b in zip(stamps, source, load, strict=True)]
    (tmp_path / "days.csv").write_text("\n".join(["time,air [degC],need [kW]", *rows]))
    (tmp_path / "plant.yaml").write_text(
        "horizon: {step: 1 h}\ncomponents:\n"
        "  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh}\n"
        "  house: {model: load, bus: heat, power: days.csv#need}\n"
        "  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 9 kW,\n"
        "    cop_curve: [3.5, 0.1, 0, 0, 0, 0], capacity_curve: [1, 0.015, 0, 0, 0, 0],\n"
        "    source_temperature: days.csv#air, sink_temperature: 35 degC}\n"
        "goal: {minimize: cost}\n"
    )
    done = command("simulate", tmp_path / "plant.yaml", "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    shown = csv.DictReader((tmp_path / "run/data.csv").read_text().splitlines())
    lines = [
        [float(row[f"pump.{name} [kW]"]) for name in ("electric_power", "heat")] for row in shown
    ]
    marked = (load >= 9 * (1 + 0.015 * source)).astype(float)
    hits = 0
    for _ in range(20):
        power, heat = np.array(lines).T * (1 + 0.01 * rng.normal(size=(2, count)))
        found = machine_map("heat-pump", power, heat, source, None, marked)
        assert found.capacity is not None
        (_, slope, *_), (_, sigma, *_) = (factor * found.rated for factor in found.capacity)
        hits += bool(abs(slope - 9 * 0.015) < 1.96 * sigma < 0.02)
        curve = found.component()["capacity_curve"][:3]
        ends = found.rated * np.polynomial.polynomial.polyval([-10, 10], curve)
        assert ends == pytest.approx([9 * 0.85, 9 * 1.15], rel=0.02)
    assert hits >= 17  # 19 of 20 in the mean
    assert checked(found.to_dict()) == "machine-map"
    # Without full load the largest output is what is known.
    for full in (None, np.zeros(count)):
        never = machine_map("heat-pump", power, heat, source, None, full)
        assert never.capacity is None
        assert any("capacity by temperatures cannot be known" in note for note in never.notes)


@pytest.mark.parametrize(
    "stated", ["cop: 3", "carnot_fraction: 0.4", "cop_curve: [3, 0, 0, 0, 0, 0], rated_cop: 2"]
)
def test_what_was_found_replaces_the_performance_of_a_template(tmp_path: Path, stated: str) -> None:
    source, heat = np.linspace(-8.0, 12.0, 100), np.tile([2.0, 5.0, 8.0, 4.0], 25)
    found = machine_map("heat-pump", heat / (3.0 + 0.1 * source), heat, source, None)
    text = (
        "horizon: {start: 2026-01-12, step: 1 h, periods: 2}\n"
        "components:\n"
        "  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh}\n"
        "  house: {model: load, bus: heat, power: 5 kW}\n"
        f"  pump: {{model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 6 kW, {stated},\n"
        "    source_temperature: 10 degC, sink_temperature: 35 degC}\n"
        "goal: {minimize: cost}\n"
    )
    (tmp_path / "plant.yaml").write_text(machine_text(found, "pump.csv", text), "utf-8")
    plan = Site.load(tmp_path / "plant.yaml").solve(progress=False)
    assert plan.objective == pytest.approx(2 * 0.3 * 5 / (3.0 + 0.1 * 10), rel=1e-3)


def test_a_temperature_that_stood_still_gives_no_slope() -> None:
    rng = np.random.default_rng(3)
    entering = rng.uniform(15, 35, 300)
    cooling = rng.uniform(40, 100, 300)
    power = cooling * (0.1 + 0.004 * entering)
    found = machine_map("chiller", power, cooling, np.full(300, 7.0), entering)
    assert checked(found.to_dict()) == "machine-map"
    assert found.surface == pytest.approx([0.1, 0, 0, 0.004, 0, 0], abs=1e-6)
    assert any("leaving was constant" in note for note in found.notes)
    assert found.component()["eir_curve"][3] == pytest.approx(0.004)


def visited(days: int = 16, hours: float = 0.5) -> tuple[Measurements, Any]:
    """Return a house with people in the evening, whom no sensor sees, and their heat."""
    rng = np.random.default_rng(1)
    step, count = network(1.0).discretise(hours), int(days * 24 / hours)
    outside, sun = (series[::2] for series in _benchmark().weather(rng, 2 * count))
    clock = np.arange(count) * hours % 24
    people = 0.7 * ((clock >= 17) & (clock < 23))
    state, measured, heat = np.array([19.0, 15.0]), np.empty(count), np.empty(count)
    for k in range(count):
        measured[k] = state[0] + 0.05 * rng.normal()
        heat[k] = 4.0 * (measured[k] < 19 + 3 * (k // 12 % 5 < 2))
        inputs = [outside[k], heat[k] + people[k] + 2.5 * sun[k], 0.0]
        state = step.transition @ state + step.drive @ inputs + rng.normal(size=2) * [0.03, 0.01]
    return of(Record(hours, measured, np.column_stack((outside, heat, sun)))), people


@pytest.fixture(scope="module")
def evenings() -> tuple[Identified, Any]:
    data, people = visited()
    return identify(data, "2R2C", starts=1), people


@pytest.mark.parametrize("kind", KINDS)
def test_a_residual_finds_who_was_not_measured(kind: str, evenings: tuple[Identified, Any]) -> None:
    plain, people = evenings
    tried = learnt(kind, plain.fit, plain.measurements, plain.begin)
    assert tried.is_kept
    assert tried.errors.ahead[6.0] < 0.75 * tried.without.ahead[6.0]
    assert np.corrcoef(tried.heat, people)[0, 1] > 0.7
    assert np.abs(tried.heat).max() <= tried.function.most


@pytest.mark.parametrize("kind", KINDS)
def test_more_sun_never_cools_and_the_unseen_switches_off(
    kind: str, evenings: tuple[Identified, Any]
) -> None:
    plain, _ = evenings
    data, begin, inputs = plain.measurements, plain.begin, plain.measurements.record.inputs
    changed, first = inputs.copy(), np.array([20.0, 18.0])
    changed[begin:, 2] *= 1.1
    hot = len(inputs) - 48
    changed[hot:, 0] += 60.0
    rooms, heats = [], []
    for given in (inputs, changed):
        record = replace(data.record, inputs=given)
        tried = learnt(kind, plain.fit, replace(data, record=record), begin)
        heats.append(tried.heat[begin:])
        series = extended(record, tried.heat)
        rooms.append(simulated(tried.fit.model, tried.fit.theta, series, first, begin))
    is_on = (heats[0] != 0) & (heats[1] != 0)
    until = int(np.argmin(is_on))
    assert until > 10
    assert (rooms[1][: until + 1] >= rooms[0][: until + 1] - 1e-9).all()
    assert not heats[1][hot - begin :].any()


def test_a_residual_that_is_kept_is_heat_in_the_plan(house: House) -> None:
    found = identify(visited()[0], "2R2C", starts=1, residual="ridge")
    assert found.held_back is not None
    assert found.residual is not None
    assert found.held_back.ahead == found.residual.errors.ahead
    assert "inputs.csv#residual" in plant_text(found)
    assert "residual [kW]" in inputs_csv(found).splitlines()[0]
    # Of a house that is as its structure says nothing is left to be learnt.
    exact = identify(of(house[0]), "2R2C", starts=1, residual="ridge")
    assert exact.measurements.drivers == (SUN,)
    assert any("left out" in note for note in exact.notes)
    for given in ({"error": "simulation"}, {"share": 0.0}):
        with pytest.raises(InputError, match="cannot be judged"):
            identify(of(house[0]), "2R2C", starts=1, residual="ridge", **given)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_keeps_what_was_learnt(kind: str, evenings: tuple[Identified, Any]) -> None:
    plain, _ = evenings
    data = plain.measurements
    tried = learnt(kind, plain.fit, data, plain.begin)
    read = Learnt(**json.loads(json.dumps(asdict(tried.function))))
    weather = data.record.inputs[:, [0, 2]]
    heat, _ = read.heat(data.begins, weather, None)
    assert np.array_equal(heat, tried.heat)
    # Other days: within the bound, off outside the range, and more sun never cools the room, whose
    # own response the coefficient of a period may take back.
    rng = np.random.default_rng(5)
    later, day = data.begins + 90 * 86400, np.abs(rng.normal(size=weather.shape)) * [8.0, 0.15]
    heat, is_on = read.heat(later, day, None)
    assert np.abs(heat).max() <= read.most
    assert 0.02 < is_on.mean() < 0.98
    assert not heat[~is_on].any()
    more, still_on = read.heat(later, day * [1.0, 1.02], None)
    gained = (more - heat)[is_on & still_on]
    least = plain["room.aperture"].value * 0.02 * day[is_on & still_on, 1]
    assert (gained >= -1.2 * least - 1e-9).all()


def test_tables_of_trees_are_what_scikit_learn_predicts(
    evenings: tuple[Identified, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    plain, made = evenings[0], []
    fitting = HistGradientBoostingRegressor.fit

    def seen(self: Any, *data: Any) -> Any:
        made.append(self)
        return fitting(self, *data)

    monkeypatch.setattr(HistGradientBoostingRegressor, "fit", seen)
    data, outer = plain.measurements, plain.measurements.record.inputs[:, [0, 2]]
    tried = learnt("boosting", plain.fit, data, plain.begin)
    expected = made[-1].predict(features(data.begins, outer, 0.5, None))
    most = tried.function.most
    is_on = tried.heat != 0
    assert is_on.sum() > 500
    assert np.allclose(tried.heat[is_on], np.clip(expected, -most, most)[is_on], atol=1e-12)


def test_other_days_are_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    inputs, measured = visited()[0].record.inputs, visited()[0].record.measured
    start = np.datetime64("2026-01-05T00:00")

    def rows(shown: range) -> Iterator[str]:
        for k in shown:
            about = f"{inputs[k, 0]:.3f},{inputs[k, 2]:.4f},{inputs[k, 1]:g},{measured[k]:.3f}"
            yield f"{start + np.timedelta64(30 * k, 'm')},{about}"

    head = "time,out [degC],sun [kW/m2],heat [kW],room [degC]"
    Path("house.csv").write_text("\n".join([head, *rows(range(768))]))
    words = ["--model", "2R2C", *OPTIONS, "--residual", "boosting", "--out", "found"]
    assert command("identify", "house.csv", *words).exit_code == 0
    assert command("identify", "house.csv", "--apply", "found", "--out", "same").exit_code == 0
    known, same = (Path(name, "inputs.csv").read_text().splitlines() for name in ("found", "same"))
    assert known[0].endswith("residual [kW]")
    assert known[1:] == same[-len(known) + 1 :]
    # Hours hold over both halves; the plan of those days is one.
    hours = [
        ",".join(row.split(",")[:3]).replace("2026-01", "2026-03") for row in rows(range(0, 96, 2))
    ]
    Path("later.csv").write_text("\n".join(["time,out [degC],sun [kW/m2]", *hours]))
    done = command("identify", "later.csv", "--apply", "found", "--out", "later", "--json")
    assert checked(json.loads(done.stdout)) == "identification"
    assert "cannot be planned" not in done.output
    assert "start: 2026-03-05T00:00" in Path("later/plant.yaml").read_text()
    assert (
        Site.load(Path("later/plant.yaml")).solve(progress=False).certificate.verdict == "certified"
    )
    Path("later.csv").write_text(
        "\n".join(["time,out [degC],sun [kW/m2]", *hours[:5], "2026-03-05T05:00,,0"])
    )
    lost = command("identify", "later.csv", "--apply", "found", "--out", "lost")
    assert "the ambient is missing; found 2026-03-05T05:00:00" in lost.output


def windy(constant: bool = False) -> Measurements:
    """Return a house into which air leaks by 0.02 kW/K for each m/s of wind."""
    rng, count = np.random.default_rng(1), 14 * 48
    outside, _ = (series[::2] for series in _benchmark().weather(rng, 2 * count))
    drawn = np.repeat(rng.integers(0, 21, count // 8) / 2, 8)
    wind = np.full(count, 4.0) if constant else drawn
    steps = {
        w: network(1.0, Link(one="room", other="outside", conductance=0.05 + 0.02 * w)).discretise(
            0.5
        )
        for w in np.unique(wind)
    }
    state, measured, heat = np.array([19.0, 15.0]), np.empty(count), np.empty(count)
    for k in range(count):
        step = steps[wind[k]]
        measured[k] = state[0] + 0.03 * rng.normal()
        heat[k] = 5.0 * (measured[k] < 19 + 2 * (k // 12 % 5 < 2))
        state = step.transition @ state + step.drive @ [outside[k], heat[k], 0.0]
        state += rng.normal(size=2) * [0.02, 0.01]
    air = Driver("wind", "infiltration", "kW/K per m/s", 0.05, is_leak=True)
    record = Record(0.5, measured, np.column_stack((outside, heat, wind)))
    return replace(of(record), drivers=(air,))


def test_infiltration_by_wind_is_found_or_refused() -> None:
    found = identify(windy(), "3R2C", starts=1)
    known = found["room.infiltration"]
    assert known.low <= 0.02 <= known.high < 1.1 * known.low
    assert not found.unknown
    wind = found.fit.record.inputs[:, 2].mean()
    (written,) = re.findall(
        r"resistance: ([\d.]+) K/kW # of it room.infiltration", plant_text(found)
    )
    assert 1 / float(written) == pytest.approx(
        1 / found["room.resistance"].value + known.value * wind, rel=1e-3
    )
    still = identify(windy(constant=True), "2R2C", starts=1)
    assert "the wind was constant" in still.unknown["room.infiltration"]


def test_slopes_hold_where_air_leaks_in() -> None:
    data = windy()
    record, model = data.record.part(0, 100), Model(STRUCTURES["3R2C"], data.drivers)
    values = {"room.capacitance": 0.6, "wall.capacitance": 7.0, "room.infiltration": 0.02}
    values |= {"room.neighbours.wall": 1.0, "wall.resistance": 5.0, "room.resistance": 20.0}
    noise = {"room.noise": 0.05, "wall.noise": 0.02, "sensor.noise": 0.03}
    theta = np.log([(values | noise)[name] for name in model.names])
    _, slope, _ = scored(model, theta, record)
    step = 1e-5 * np.eye(len(theta))
    up, down = (likelihood(model, theta + sign * step, record) for sign in (1, -1))
    assert np.allclose(slope, (up - down) / 2e-5, rtol=1e-3, atol=1e-3)


def test_a_plant_file_takes_a_curve_as_it_takes_its_value(tmp_path: Path) -> None:
    costs = []
    for how in ("cop: 3", "cop_curve: [3.5, 0, 0, -0.01, 0, -1.0e-9]"):
        (tmp_path / "plant.yaml").write_text(
            "title: House\nhorizon: {step: 1 h, periods: 6}\ncomponents:\n"
            "  grid: {model: grid, import_price: 0.3 EUR/kWh}\n"
            "  room: {model: thermal_zone, capacitance: 3 kWh/K, resistance: 5 K/kW,\n"
            "         initial_temperature: 20 degC, ambient_temperature: 2 degC}\n"
            "  radiator: {model: emitter, heat_bus: heat, zone: room}\n"
            f"  pump: {{model: heat_pump, heat_bus: heat, rated_capacity: 9 kW, {how},\n"
            "         source_temperature: 2 degC, sink_temperature: 50 degC}\n"
            'requirements: {warm: {for: t in T, must: "room.temperature[t] >= 20 degC"}}\n'
            "goal: {minimize: cost}\n"
        )
        plan = Site.load(tmp_path / "plant.yaml").solve(progress=False)
        assert plan.certificate.verdict == "certified"
        costs.append(plan.objective)
    assert costs[1] == pytest.approx(costs[0], rel=1e-6)
    assert costs[0]


def test_what_is_hardly_true_of_a_building_is_noted_and_nothing_else(house: House) -> None:
    """Heat in a wrong unit fits as well, a constant draw goes into the gain, two days are few."""
    record, _ = house
    drawn = record.inputs + np.array([0.0, 2.0, 0.0])  # as if 2 kW more had been given
    cases = [
        (record, ""),
        (Record(record.hours, record.measured, record.inputs * [1, 1e-3, 1e-3]), "is the unit of"),
        (Record(record.hours, record.measured, record.inputs * [1, 1e3, 1e3]), "is the unit of"),
        (record.part(0, round(48 / record.hours)), "days were fitted"),
        (Record(record.hours, record.measured, drawn), "room.gain is -"),
    ]
    for changed, said in cases:
        data = replace(of(changed), columns={"heat": "house.csv#heat"})
        found = identify(data, "2R2C", gain=said.startswith("room.gain"), starts=1)
        words = ("is the unit of", "days were fitted", "room.gain is")
        notes = [n for n in found.notes if any(word in n for word in words)]
        assert len(notes) == bool(said), (said, notes)
        assert said in "".join(notes)
