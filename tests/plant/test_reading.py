"""What a plant block means: values, units, columns, horizon, requirements, goals and cases."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engiagent.blueprint import Blueprint
from engiagent.blueprint.patching import patched
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.components import MODELS
from engiagent.formulations.components.fragment import PORTS
from engiagent.formulations.expansion import expand
from engiagent.plant import PlantError, read_plant, to_yaml
from engiagent.plant.site import Site
from engiagent.plant.values import Quantity, literal, pieces
from engiagent.readings import Reading
from engiagent.readings.read import read
from engiagent.run.certify import certify
from engiagent.run.stages import solve_program
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.units.words import Conventions
from tests.formulations.components.test_catalogue import FULL
from tests.plant.plants import SMALL, problem, reading, series, stated


def optimum(blueprint: Blueprint, folder: Path) -> float:
    result = solve(compile_blueprint(blueprint, folder), SolveOptions(), isolate=False)
    assert result.status == "optimal", result.reason
    assert result.objective is not None
    return float(result.objective)


def given_by(found: Reading) -> Blueprint:
    assert found.blueprint is not None
    return found.blueprint


@pytest.mark.parametrize(
    ("written", "instead"),
    [
        ("10 kWh", "10 kWh"),
        ("10 kWh", "0.01 MWh"),
        ("10 kWh", "36 MJ"),
        ("charge_power_max: 5 kW", "charge_power_max: 5 000 W"),
        ("initial_energy: 0 %", "initial_energy: 0 Wh"),
        ("4 kW}", "3 kW + 1000 W}"),
        ("4 kW}", "2 * (1.5 kW + 0.5 kW)}"),
        ("[0.1 EUR/kWh", "[10 ct/kWh"),
        ("0.4 EUR/kWh]", "400 EUR/MWh]"),
    ],
)
def test_units_and_expressions_do_not_change_the_plan(
    written: str, instead: str, tmp_path: Path
) -> None:
    assert written in SMALL
    changed = SMALL.replace(written, instead)
    # 18 kWh at 0.1, of which 10 are charged and 8 stored: what the dear half needs.
    assert optimum(stated(tmp_path, changed), tmp_path) == pytest.approx(1.8)


def test_a_share_is_of_the_capacity(tmp_path: Path) -> None:
    half = stated(tmp_path, SMALL.replace(": 0 %", ": 50 %"))
    # 5 kWh are there at the start.
    assert optimum(half, tmp_path) == pytest.approx(1.175)


ONE_OF_TWO = {  # buses of which a unit is on one, or which need more slots
    "boiler": ("bus",),
    "emitter": ("cooling_bus",),
    "genset": ("fuel_bus",),
    "tank": ("cooling_bus",),
    "thermal_store": ("cooling_bus",),
    "two_zone_tank": ("cooling_bus",),
}


SOFT = {
    "ev": "unit_shortfall[t] <= 99[kWh]",
    "hot_water_tank": "unit_unmet[t] <= 99[kW]",
    "rc_network": "unit_discomfort_b[t] <= 99[K]",
    "zone_5r1c": "unit_discomfort[t] <= 99[K]",
}


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_survives_the_way_through_a_plant_file(model: str, tmp_path: Path) -> None:
    """Python to blueprint, and Python to plant file to blueprint: one optimum."""
    site = Site("2026-06-01T00:00", "1 h", 3, title=f"a {model}")
    full: Any = FULL[model]
    known = MODELS[model]
    left_out = ONE_OF_TWO.get(model, ())
    ports: Any = {p: p for p in PORTS if p in known.connections and p not in left_out}
    sources = {port: f"supply_{port}" for port in ports}
    for port, name in sources.items():
        site.add(name, "grid", bus=port, import_power_max=99, export_power_max=99)
    if model == "demand_response":
        site.add("grid", "grid", bus="site", import_power_max=99)
        site.add("load", "load", bus="site", power=4)
    if "zone" in known.connections:
        site.add("hall", "thermal_zone", capacitance=2, initial_temperature=20)
    if model == "vav_box":
        handler: Any = {k: v for k, v in FULL["air_handler"].items() if k != "zone"}
        site.add("ahu", "air_handler", **handler)
    site.add("unit", model, **ports, **full)
    if model in SOFT:
        site.require(SOFT[model])
    prices = dict.fromkeys(sources.values(), 0.2)
    if prices:
        site.minimise_cost(prices, dict.fromkeys(prices, 0.05))
    else:
        site.minimise("0")
    text = to_yaml(site._statement)
    again = stated(tmp_path, text)
    programs = (compile_blueprint(b, tmp_path) for b in (site.blueprint(), again))
    results = [solve(program, SolveOptions(), isolate=False) for program in programs]
    assert results[0].status == results[1].status
    if results[0].objective is not None:
        assert results[1].objective == pytest.approx(results[0].objective, abs=1e-6)


@given(
    st.floats(allow_nan=False, allow_infinity=False, min_value=0, max_value=1e12),
    st.sampled_from(["kWh", "EUR/MWh", "%", "degC", "K/kW", "1/h", "W/m2/K", ""]),
)
def test_every_number_is_read_as_it_is_written(number: float, unit: str) -> None:
    found = pieces(f"{number!r} {unit}".strip(), Conventions())
    assert found == [Quantity(number, found[0].unit)]  # type: ignore[union-attr]
    assert str(found[0].unit or "") == unit  # type: ignore[union-attr]
    assert float(literal(found[0]).split("[")[0]) == pytest.approx(number, rel=1e-14)  # type: ignore[arg-type]


DATA = """\
title: Data
horizon: {HORIZON}
components:
  grid: {model: grid, import_price: 0.2 EUR/kWh, export_price: 0.1 EUR/kWh}
  load: {model: load, power: load.csv#load_kW ALIGN}
goal: {minimize: cost}
"""


def data(horizon: str, align: str = "") -> str:
    return DATA.replace("{HORIZON}", f"{{{horizon}}}").replace(" ALIGN", align)


def power_of(blueprint: Blueprint) -> Any:
    return next(p for p in blueprint.core.parameters if p.name == "load_power_given")


def test_a_column_that_fits_is_referred_to(tmp_path: Path) -> None:
    found = reading(tmp_path, data("step: 1 h"), load_csv=series([1, 2, 3], 60, "load_kW"))
    entry = power_of(given_by(found))
    assert (entry.data, found.notes) == ("load.csv#load_kW", ())
    time = given_by(found).core.sets[0]
    assert (time.start, time.periods) == ("2026-06-01T00:00", 3)


@pytest.mark.parametrize(
    ("step", "minutes", "align", "expected"),
    [
        ("1 h", 15, "", [2.5, 6.5]),
        ("1 h", 15, ", align: hold", [1, 5]),
        ("1 h", 15, ", align: sum", [10, 26]),
        ("1 h", 15, ", align: interpolate", [1, 5]),
        ("15 min", 60, "", [1, 1, 1, 1, 2, 2, 2, 2]),
        ("15 min", 60, ", align: interpolate", [1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75]),
        ("15 min", 60, ", align: sum", [0.25] * 4 + [0.5] * 4),
        ("30 min", 20, "", [4 / 3, 8 / 3, 13 / 3, 17 / 3]),
    ],
)
def test_data_of_another_step_are_aligned_by_a_rule(
    step: str, minutes: int, align: str, expected: list[float], tmp_path: Path
) -> None:
    rows = [float(k + 1) for k in range(8 * 15 // 15 if minutes == 15 else 120 // minutes + 1)]
    yaml = data(f"start: 2026-06-01, periods: {len(expected)}, step: {step}", align)
    found = reading(tmp_path, yaml, load_csv=series(rows, minutes, "load_kW"))
    entry = power_of(given_by(found))
    assert list(entry.value) == pytest.approx(expected)
    rule = align.removeprefix(", align: ") or ("mean" if minutes < 60 else "hold")
    assert entry.source_reference["relation"] == rule
    assert f"'{rule}'" in found.notes[0]


def test_temperatures_of_a_coarser_step_are_interpolated(tmp_path: Path) -> None:
    yaml = data("start: 2026-06-01, periods: 2, step: 30 min").replace(
        "goal:",
        """\
  room: {model: thermal_zone, capacitance: 2 kWh/K, resistance: 3 K/kW, heating_power_max: 9 kW,
         initial_temperature: 20 °C, ambient_temperature: "out.csv#t [°C]"}
goal:""",
    )
    load = series([1, 1], 30, "load_kW")
    found = reading(tmp_path, yaml, load_csv=load, out_csv=series([10.0, 12.0], 60, "t"))
    entry = next(p for p in given_by(found).core.parameters if p.name.startswith("room_ambient"))
    assert list(entry.value) == [10.0, 11.0]
    assert entry.unit == "degC"


def test_days_are_those_of_the_calendar(tmp_path: Path) -> None:
    horizon = "{start: 2026-03-29, days: 1, step: 1 h, zone: Europe/Berlin}"
    yaml = SMALL.replace("{start: 2026-06-01, periods: 4, step: 1 h}", horizon)
    yaml = yaml.replace("[0.1 EUR/kWh, 0.1 EUR/kWh, 0.4 EUR/kWh, 0.4 EUR/kWh]", "0.1 EUR/kWh")
    assert stated(tmp_path, yaml).core.sets[0].periods == 23


def test_requirements_speak_of_quantities_as_people_do(tmp_path: Path) -> None:
    yaml = (
        SMALL
        + """\
requirements:
  evening:
    where: 2 <= hour(t) < 3
    must: "grid.import[t] + battery.discharge[t] <= 4 kW"
  full: battery.state_of_charge[end] >= 0.5 * battery.energy_capacity
  soft: {must: "grid.import[t] <= 3 kW", penalty: 0.01 EUR/kW}
"""
    )
    core = stated(tmp_path, yaml).core
    evening, full, soft = core.constraints
    assert evening.expression == "grid_import[t] + battery_discharge[t] <= 4[kW]"
    assert full.expression == (
        "battery_state_of_charge[last(I)] >= 0.5 * battery_energy_capacity_given"
    )
    assert soft.forall == ("t in T",)
    assert soft.hard is False


def test_a_case_changes_what_it_names_and_no_more(tmp_path: Path) -> None:
    yaml = (
        SMALL
        + "cases:\n  none: {battery.energy_capacity: 0.000001 kWh}\n"
        + "  eff: {battery.charge_efficiency: 50 %}\n"
    )
    blueprint = stated(tmp_path, yaml)
    costs = []
    assert blueprint.core.report is not None
    for case in blueprint.core.report.cases:
        document = patched(json.loads(blueprint.to_json()), [dict(o) for o in case.patch])
        costs.append(optimum(Blueprint.from_dict(document), tmp_path))
    assert costs == [pytest.approx(4.0, abs=1e-4), pytest.approx(3.0)]


def test_goals(tmp_path: Path) -> None:
    most = stated(tmp_path, SMALL.replace("minimize: cost", "maximize: profit"))
    assert optimum(most, tmp_path) == pytest.approx(-1.8)
    energy = '{minimize: "sum(grid.import[t]*dt(t) for t in T)", unit: kWh}'
    assert optimum(
        stated(tmp_path, SMALL.replace("{minimize: cost}", energy)), tmp_path
    ) == pytest.approx(16)


CAR = """\
horizon: {start: 2026-03-02, step: 1 h, periods: 4}
components:
  grid: {model: grid, import_price: [0.1 EUR/kWh, 0.2 EUR/kWh, 0.3 EUR/kWh, 0.4 EUR/kWh]}
  car: {model: ev, energy_capacity: 60 kWh, charge_power_max: 11 kW, arrival: 1 h, departure: 3 h,
        arrival_energy: 10 kWh, required_energy: 50 kWh, soft: yes}
goal: {minimize: cost}
"""


@pytest.mark.parametrize(
    "price", ["2 EUR/kWh*sum(car.shortfall[t]", "sum(2 EUR/kWh * car_shortfall[t]"]
)
def test_what_falls_short_costs_what_the_goal_says(price: str, tmp_path: Path) -> None:
    with pytest.raises(PlantError, match=r"plant.yaml:5:64: .*soft has no price: car.shortfall"):
        reading(tmp_path, CAR)
    priced = CAR.replace("minimize: cost", f'minimize: "cost + {price} for t in T)"')
    # Two hours of 11 kW; 18 of the 40 kWh lack.
    paid = 11 * 0.2 + 11 * 0.3 + 18 * 2
    assert optimum(stated(tmp_path, priced), tmp_path) == pytest.approx(paid)
    limited = CAR + "requirements: {short: 'sum(car.shortfall[k] for k in T) <= 30 kWh'}"
    assert optimum(stated(tmp_path, limited), tmp_path) == pytest.approx(10 * 0.2)


def test_a_peak_is_paid_beside_the_cost(tmp_path: Path) -> None:
    dear = SMALL.replace(
        "minimize: cost", 'minimize: "cost + 12 EUR/kW*max(grid.import[t] for t in T)"'
    )
    found = stated(tmp_path, dear)
    whole = "12 EUR/kW*max(grid.import[t] for t in T) + sum(grid.import_cost[t] for t in T)"
    written = SMALL.replace("minimize: cost", f'minimize: "{whole}"')
    assert optimum(found, tmp_path) == pytest.approx(optimum(stated(tmp_path, written), tmp_path))


PEAK = """\
horizon: {start: 2026-06-01, step: 1 h, periods: 2}
components:
  grid: {model: grid, import_price: 0.1 EUR/kWh}
  shop: {model: load, power: [10 kW, 20 kW]}
  battery: {model: battery, energy_capacity: 10 kWh, charge_power_max: 10 kW,
    discharge_power_max: 10 kW, initial_energy: 0 kWh}
goal: {GOAL}
baseline: {without: battery}
"""
PAID = "5 EUR/kW*max(grid.import[t] for t in T)"
WEAR = "0.01 EUR/kWh*sum(battery.discharge[t]*dt(t) for t in T)"


@pytest.mark.parametrize(
    "goal",
    [
        f"minimize: 'cost + {PAID} + {WEAR}'",
        f"minimize: '{WEAR} + {PAID} + cost'",
        f"minimize: '{PAID} - (0 EUR - {WEAR} - cost)'",
        f"maximize: 'profit - {PAID} - {WEAR}'",
        f"maximize: '-({PAID} + {WEAR}) - cost'",
    ],
)
def test_a_baseline_leaves_out_only_the_costs_of_what_it_does_without(
    goal: str, tmp_path: Path
) -> None:
    """Of 30 kWh in two hours the battery moves 5: a peak of 15 kW in the place of 20."""
    sign = 1 if goal.startswith("minimize") else -1
    found = stated(tmp_path, PEAK.replace("GOAL", goal))
    assert optimum(found, tmp_path) == pytest.approx(sign * (3 + 5 * 15 + 0.01 * 5))
    document = json.loads(found.to_json())
    patch = document["core_model_elements"]["report"]["cases"][0]["patch"]
    bare = Blueprint.from_dict(patched(document, patch))
    assert optimum(bare, tmp_path) == pytest.approx(sign * (3 + 5 * 20))
    again = stated(tmp_path, Site.of(found).to_yaml())
    assert optimum(again, tmp_path) == optimum(found, tmp_path)


@pytest.mark.parametrize("minus", ["cost - 0.3", "cost -0.3", "cost + -0.3", "cost\n  - 0.3"])
def test_what_is_left_at_the_end_is_worth_what_the_goal_says(tmp_path: Path, minus: str) -> None:
    """At 0.3 EUR/kWh the store is filled by energy that costs less, and no sign is held false."""
    plant = """\
horizon: {start: 2026-06-01, step: 1 h, periods: 2}
components:
  grid: {model: grid, import_price: [0.1 EUR/kWh, 0.2 EUR/kWh]}
  shop: {model: load, power: 4 kW}
  battery: {model: battery, energy_capacity: 10 kWh, charge_power_max: 5 kW,
    discharge_power_max: 5 kW, initial_energy: 5 kWh}
goal: {minimize: "MINUS EUR/kWh*battery.state_of_charge[end]"}
"""
    found = stated(tmp_path, plant.replace("MINUS", minus), block=True)
    program = compile_blueprint(found, tmp_path)
    result = solve(program, SolveOptions(), isolate=False)
    assert result.objective == pytest.approx(0.1 * 9 + 0.2 * 4 - 0.3 * 10)
    plan, text = to_dataset(program, result), Problem.load(tmp_path / "problem.md")
    made = certify(text, plan, found, folder=tmp_path, name="site")
    assert made.verdict == "certified", made.levels["data"]


def test_what_is_paid_beside_the_cost_has_a_form_in_a_plant_file(tmp_path: Path) -> None:
    site = Site("2026-06-01", "1 h", 4)
    site.add("grid", "grid", bus="site", import_price=[0.1, 0.2, 0.3, 0.4])
    site.add("shop", "load", bus="site", power=[4.0, 9.0, 4.0, 4.0])
    site.minimise_cost(also="12[EUR/kW]*max(grid.import[t] for t in T)")
    again = stated(tmp_path, to_yaml(site._statement))
    assert optimum(again, tmp_path) == pytest.approx(0.4 + 1.8 + 1.2 + 1.6 + 9 * 12)


def test_the_user_sets_a_slot(tmp_path: Path) -> None:
    found = read(problem(tmp_path, SMALL), {"battery.energy_capacity": "0.004 MWh"})
    assert optimum(given_by(found), tmp_path) == pytest.approx(2.9)
    entry = next(p for p in given_by(found).core.parameters if "capacity" in p.name)
    assert entry.source_reference["kind"] == "user"


def test_every_value_is_quoted_where_it_stands(tmp_path: Path) -> None:
    given = problem(tmp_path, SMALL, block=True)
    found = read_plant(given)
    assert found is not None
    assert found.blueprint is not None
    for entry in given_by(found).core.parameters:
        sources = entry.source_reference
        for source in [sources] if not isinstance(sources, tuple) else sources:
            start, end = source["span"]
            assert given.text[start:end] == source["quote"]
    assert not math.isnan(optimum(given_by(found), tmp_path))


def test_a_text_without_a_block_has_no_plant(tmp_path: Path) -> None:
    path = tmp_path / "problem.md"
    path.write_text("# Site\n\n````markdown\n```yaml engiagent\ntitle: x\n```\n````\n", "utf-8")
    assert read_plant(Problem.load(path)) is None


BELOW = """
horizon: {start: 2026-06-01T00:00, periods: 6, step: 1 h, zone: Europe/Berlin}
components:
  grid: {model: grid, import_power_max: 20 kW, export_power_max: 0 kW,
         import_price: [30 ct/kWh, -10 ct/kWh, -10 ct/kWh, 20 ct/kWh, 30 ct/kWh, 30 ct/kWh]}
  battery: {model: battery, energy_capacity: 10 kWh, initial_energy: 5 kWh, charge_power_max: 8 kW,
            discharge_power_max: 8 kW, charge_efficiency: 95 %, discharge_efficiency: 95 %}
  load: {model: load, power: 1 kW}
goal: {minimize: cost}
"""


def test_stores_go_one_way_where_a_price_is_below_zero(tmp_path: Path) -> None:
    found = read(problem(tmp_path, BELOW))
    assert any("both directions" in note for note in found.notes)
    plan = given_by(found)
    schedule, _ = solve_program(compile_blueprint(expand(plan)), SolveOptions(), isolate=False)
    done = certify(None, schedule, plan, folder=tmp_path, name="below")
    assert done.verdict == "solved"  # nothing compares the reading here
    stays = read(problem(tmp_path, BELOW.replace("-10", "10")))
    assert not any("both directions" in note for note in stays.notes)
    assert all(not part.options for part in given_by(stays).core.components)


def test_a_grid_that_buys_dearer_than_it_sells_is_no_pump(tmp_path: Path) -> None:
    block = BELOW.replace("-10", "10").replace("export_power_max: 0 kW", "export_price: 50 ct/kWh")
    found = read(problem(tmp_path, block))
    assert any("both directions" in note for note in found.notes)
    plan = given_by(found)
    schedule, _ = solve_program(compile_blueprint(expand(plan)), SolveOptions(), isolate=False)
    into, out = (schedule[f"grid_{way}"].values for way in ("import", "export"))
    assert np.minimum(into, out).max() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("setting", "same"), [("0.9", "90 %"), ("90%", "90 %"), ("0.85", "0.85")])
def test_a_bare_number_is_in_the_unit_of_the_slot(setting: str, same: str, tmp_path: Path) -> None:
    block = BELOW.replace("-10", "10")
    changed = read(problem(tmp_path, block), {"battery.charge_efficiency": setting})
    stated = read(
        problem(tmp_path, block.replace("charge_efficiency: 95 %", f"charge_efficiency: {same}", 1))
    )
    one, other = (optimum(given_by(found), tmp_path) for found in (changed, stated))
    assert one == pytest.approx(other, rel=1e-12)


def test_data_may_lie_in_a_folder_below(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "load.csv").write_text("load [kW]\n" + "1\n" * 6, "utf-8")
    block = BELOW.replace("power: 1 kW", "power: data/load.csv#load")
    assert "data/load.csv" in problem(tmp_path, block).sha256


@pytest.mark.parametrize("more", ["switching: yes", "segments: 4", "segments: 4, switching: yes"])
def test_stages_of_a_fan_run_in_full(tmp_path: Path, more: str) -> None:
    plant = f"""\
horizon: {{start: 2026-07-01, step: 1 h, periods: 3}}
components:
  grid: {{model: grid, import_price: [0.1 EUR/kWh, 0.3 EUR/kWh, 0.2 EUR/kWh]}}
  fan: {{model: fan, rated_flow: 1 kg/s, rated_power: 0.6 kW, minimum_flow: 1, count: 3, {more}}}
requirements: {{flow: "fan.flow[t] >= 1.5 kg/s"}}
goal: {{minimize: cost}}
"""
    found = stated(tmp_path, plant, block=True)
    program = compile_blueprint(found, tmp_path)
    result = solve(program, SolveOptions(), isolate=False)
    assert result.objective == pytest.approx(2 * 0.6 * (0.1 + 0.3 + 0.2))
    plan, text = to_dataset(program, result), Problem.load(tmp_path / "problem.md")
    # Of three one may stop while the one that stood begins; two cannot, since two stand nowhere.
    for swapped, verdict in ((0, "certified"), (1, "certified"), (2, "violated")):
        plan["fan_start"].values[:] = np.array([2, 0, 0]) + np.array([0, 1, 0]) * swapped
        plan["fan_stop"].values[:] = np.array([0, 1, 0]) * swapped
        made = certify(text, plan, found, folder=tmp_path, name="site")
        assert made.verdict == verdict, made.levels
        assert (made.levels["physics"]["status"] == "fail") == (verdict == "violated")


NETWORK = """\
horizon: {step: 1 h}
components:
  grid: {model: grid, bus: power, import_price: 0.3 EUR/kWh}
  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 12 kW, cop: 3}
  house:
    model: rc_network
    heat_bus: heat
    nodes: {air: {capacity: 2 kWh/K, initial_temperature: 20 degC}}
    links: {wall: {one: air, other: out, conductance: 100 W/K}}
    boundaries: {out: "day.csv#air - 1 K"}
    heat: {air: [0.5 kW, 1 kW, 0 W]}
    heated: {air: 10 kW}
    comfort: {air: {low: 20 degC, high: 20 degC}}
goal: {minimize: cost}
"""


def test_a_network_takes_series_and_its_plant_file_keeps_them(tmp_path: Path) -> None:
    """Held at 20 degC it needs what it loses: 0.1 kW/K, less the gains."""
    air = [-4.0, 1.0, 6.0]
    found = stated(tmp_path, NETWORK, day_csv=series(air, 60, "air [degC]"))
    needed = sum(
        0.1 * (20 - (outside - 1)) - gain for outside, gain in zip(air, (0.5, 1, 0), strict=True)
    )
    assert optimum(found, tmp_path) == pytest.approx(0.3 * needed / 3)
    written = Site.of(found).to_yaml()
    assert "day.csv#air" in written
    assert optimum(stated(tmp_path, written), tmp_path) == pytest.approx(0.3 * needed / 3)


def test_a_network_says_what_is_wrong_with_its_series(tmp_path: Path) -> None:
    with pytest.raises(PlantError, match=r"plant.yaml:10:23: house.boundaries.out: .*'sky'"):
        stated(tmp_path, NETWORK.replace("#air", "#sky"), day_csv=series([1.0], 60, "air [degC]"))
