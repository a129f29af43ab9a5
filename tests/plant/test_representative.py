"""Several representative horizons in one plant, against one linear programme by hand."""

from pathlib import Path
from typing import Any

import cvxpy as cp
import jsonschema
import numpy as np
import pytest
from scipy.linalg import expm
from scipy.optimize import linprog

from engiagent import Site
from engiagent.formulations.compile import compile_blueprint
from engiagent.plant import read_plant
from engiagent.problems.reference import optimum
from engiagent.run.certify import certify
from engiagent.solvers.result import SolveOptions
from engiagent.solvers.solution import load_arrays, to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.tools.schemas import schema_of
from tests.cli.asking import answer, invoke
from tests.plant.plants import problem, stated
from tests.plant.test_sizing import annuity, planned

PRICE = {"winter": [0.2, 0.28, 0.35, 0.3], "summer": [0.15, 0.1, 0.12, 0.32]}
LOAD = {"winter": [40, 60, 70, 50], "summer": [20, 30, 35, 30]}
SUN = {"winter": [0, 0.2, 0.1, 0], "summer": [0.1, 0.7, 0.6, 0]}
WEIGHT = {"winter": 180, "summer": 185}
PANEL, CELL, ETA, STEP = 900.0, 180.0, 0.9, 6.0
ROWS = (
    f"{day},{PRICE[day][k]},{LOAD[day][k]},{SUN[day][k]}"
    for k in range(4)
    for day in ("summer", "winter")
)
DAYS = "\n".join(["day,price [EUR/kWh],load [kW],sun", *ROWS])
PLANT = """\
title: Two days for a year
horizon:
  start: "00:00"
  step: 6 h
  days: 1
  representative: {column: day, weights: {winter: 180, summer: 185}}
components:
  grid: {model: grid, import_price: days.csv#price, import_power_max: 80 kW, export_power_max: 0 kW}
  hall: {model: load, power: days.csv#load}
  roof:
    model: generator_profile
    available_power:
      {between: [0 kW, 90 kW], profile: days.csv#sun, costs: 900 EUR/kW, lifetime: 25 a, rate: 4 %}
  battery:
    model: battery
    energy_capacity: {between: [0 kWh, 500 kWh], costs: 180 EUR/kWh, lifetime: 15 a, rate: 4 %}
    charge_power_max: 50 kW
    discharge_power_max: 50 kW
    charge_efficiency: 90 %
    initial_energy: {between: [0 kWh, 500 kWh]}
requirements:
  cyclic: battery.state_of_charge[end] == battery.state_of_charge[start]
  evening: {for: t in T, where: hour(t) >= 18, must: "grid.import[t] <= 45 kW"}
goal: {minimize: cost}
"""


def by_hand() -> float:
    """Return the least cost of a year [EUR]: sizes, and of each day import, use and storage."""
    panels, cells = cp.Variable(bounds=[0, 90]), cp.Variable(bounds=[0, 500])
    cost = annuity(0.04, 25) * PANEL * panels + annuity(0.04, 15) * CELL * cells
    rules: list[Any] = []
    for day, weight in WEIGHT.items():
        drawn, used = cp.Variable(4, bounds=[0, np.array([80, 80, 80, 45])]), cp.Variable(4)
        put, taken = cp.Variable(4, bounds=[0, 50]), cp.Variable(4, bounds=[0, 50])
        start = cp.Variable(nonneg=True)
        content = start + STEP * cp.cumsum(ETA * put - taken)
        rules += [drawn + used + taken == np.array(LOAD[day]) + put, content[3] == start]
        rules += [used >= 0, used <= np.array(SUN[day]) * panels]
        rules += [content >= 0, content <= cells, start <= cells]
        cost += weight * STEP * np.array(PRICE[day]) @ drawn
    return optimum(cp.Minimize(cost), rules)


def test_one_size_serves_all_horizons_at_their_weights(tmp_path: Path) -> None:
    cost, values = planned(stated(tmp_path, PLANT, days_csv=DAYS), tmp_path)
    assert cost == pytest.approx(by_hand())
    assert 0 < values["battery_energy_capacity_size"] < 500


def test_one_horizon_with_a_weight_is_the_same_as_that_of_the_whole_plant(tmp_path: Path) -> None:
    """Costs follow weights: two names for one day share its weight."""
    one = PLANT.replace("{winter: 180, summer: 185}", "{winter: 365}")
    alone, _ = planned(stated(tmp_path, one, days_csv=DAYS), tmp_path)
    twins = DAYS + "\n" + "\n".join(r.replace("winter", "again") for r in DAYS.splitlines()[1:])
    two = PLANT.replace("{winter: 180, summer: 185}", "{winter: 65, again: 300}")
    (tmp_path / "two").mkdir()
    both, _ = planned(stated(tmp_path / "two", two, days_csv=twins), tmp_path / "two")
    assert both == pytest.approx(alone)


def test_key_figures_are_those_of_the_year_and_of_each_horizon(tmp_path: Path) -> None:
    """Console, JSON, page and solution say the same; sums are those of the plan's own numbers."""
    problem(tmp_path, PLANT, days_csv=DAYS)
    ran = invoke("run", tmp_path / "plant.yaml", "--out", tmp_path / "run", "--json")
    assert ran.exit_code == 0, ran.stderr
    listed = answer(ran)["figures"]
    found = {(f["name"], f["component"], f.get("horizon")): f["value"] for f in listed}
    plan = load_arrays(tmp_path / "run" / "solution.nc").variables
    for k, (day, weight) in enumerate(WEIGHT.items()):
        drawn = plan["grid_import"].values[k]
        assert found["import", "grid", day] == pytest.approx(drawn.sum() * STEP)
        assert found["peak_import", "grid", day] == pytest.approx(drawn.max())
        assert found["consumption", "hall", day] == pytest.approx(sum(LOAD[day]) * STEP)
        own = 1 - drawn.sum() / sum(LOAD[day])
        assert found["self_sufficiency", None, day] == pytest.approx(own)
        assert {f["weight"] for f in listed if f.get("horizon") == day} == {weight}
    totals = {day: sum(LOAD[day]) * STEP * weight for day, weight in WEIGHT.items()}
    assert found["consumption", "hall", None] == pytest.approx(sum(totals.values()))
    yearly = {name: value for (name, _, day), value in found.items() if day is None}
    assert yearly["import"] + yearly["generation"] + yearly["discharged"] == pytest.approx(
        yearly["export"] + yearly["consumption"] + yearly["charged"], abs=1e-3
    )
    share = 1 - yearly["import"] / yearly["consumption"]
    assert yearly["self_sufficiency"] == pytest.approx(share)
    assert yearly["peak_import"] == max(found["peak_import", "grid", day] for day in WEIGHT)
    size = plan["battery_energy_capacity_size"].values
    assert yearly["full_cycles"] == pytest.approx(yearly["discharged"] / size)
    assert f"import {yearly['import']:,.0f} kWh" in ran.stderr
    figures = Site.load(tmp_path / "plant.yaml").solve(progress=False).figures
    assert figures.named("consumption", "winter")[0].value == sum(LOAD["winter"]) * STEP
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert "winter, × 180" in page
    jsonschema.validate(answer(ran), schema_of("outcome"))


def test_a_day_with_a_weight_has_key_figures_of_the_year_and_of_the_day(tmp_path: Path) -> None:
    day = PLANT.replace(
        "  representative: {column: day, weights: {winter: 180, summer: 185}}\n", "  weight: 365\n"
    )
    rows = [row for row in DAYS.splitlines() if "winter" not in row]
    problem(tmp_path, day, days_csv="\n".join(rows))
    figures = Site.load(tmp_path / "plant.yaml").solve(progress=False).figures
    (one,), (year,) = figures.named("consumption", "horizon"), figures.named("consumption")
    assert (one.value, year.value) == (sum(LOAD["summer"]) * STEP, 365 * sum(LOAD["summer"]) * STEP)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("summer: 185", "autumn: 185", "0 rows with day autumn.*4 rows, one for each period"),
        ("summer: 185", "summer: 0", "no weight.*how many of it make a year"),
        ("column: day", "column: season", "no column.*season"),
        ("column: day, ", "", "no representative horizons.*column: season"),
        ("  days: 1\n", "", "has no length.*days or periods"),
        ("days: 1", "weight: 3\n  days: 1", "its own weight"),
        ("{minimize: cost}", "{minimize: 'sum(grid.import[t] for t in T)'}", "that of a year"),
        ("days: 1", "days: 2", "4 rows with day winter.*8 rows"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in PLANT
    with pytest.raises(Exception, match=words):
        read_plant(problem(tmp_path, PLANT.replace(old, new, 1), days_csv=DAYS))


HEAT = """\
kind,price [EUR/kWh],heat [kW],air [degC]
Winter,0.3,80,-5
Winter,0.2,60,0
Übergang,0.25,30,8
Übergang,0.15,20,14
"""
PUMP = """\
horizon:
  start: "00:00"
  step: 12 h
  periods: 2
  representative: {column: kind, weights: {Winter: 150, Übergang: 215}}
components:
  grid: {model: grid, bus: power, import_price: kinds.csv#price}
  hall: {model: load, bus: heat, power: kinds.csv#heat}
  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 100 kW,
    carnot_fraction: 0.4, source_temperature: kinds.csv#air, sink_temperature: 45 degC}
goal: {minimize: cost}
"""


def test_what_is_computed_from_the_weather_differs_by_horizon(tmp_path: Path) -> None:
    """A horizon may have a name that is no ASCII, and plan and execution take its own air."""
    (tmp_path / "plant.yaml").write_text(PUMP, encoding="utf-8")
    (tmp_path / "kinds.csv").write_text(HEAT, encoding="utf-8")
    rows = [(150, 0.3, 80, -5), (150, 0.2, 60, 0), (215, 0.25, 30, 8), (215, 0.15, 20, 14)]
    cost = sum(
        weight * 12 * price * heat * (45 - air) / (0.4 * 318.15)
        for weight, price, heat, air in rows
    )
    path, out = str(tmp_path / "plant.yaml"), str(tmp_path / "out")
    found = answer(invoke("run", path, "--out", out, "--json"))
    assert found["verdict"] == "certified"
    assert found["objective"]["value"] == pytest.approx(cost)


ROOMS = """\
kind,price [EUR/kWh],air [degC],sun [kW]
W,0.3,-5,0
W,0.2,-2,1
W,0.35,1,2
W,0.25,-3,0
S,0.25,10,0
S,0.15,14,2
S,0.3,16,1
S,0.2,11,0
"""
NETWORK = """\
horizon:
  start: "00:00"
  step: 6 h
  periods: 4
  representative: {column: kind, weights: {W: 150, S: 215}}
components:
  grid: {model: grid, bus: power, import_price: rooms.csv#price}
  pump: {model: heat_pump, bus: power, heat_bus: heat, rated_capacity: 30 kW, cop: 3}
  r:
    model: rc_network
    heat_bus: heat
    nodes:
      air: {capacity: 2 kWh/K, initial_temperature: 20 degC}
      wall: {capacity: 12 kWh/K, initial_temperature: 19 degC}
    links:
      inner: {one: air, other: wall, conductance: 500 W/K}
      outer: {one: wall, other: out, conductance: 200 W/K}
    boundaries: {out: rooms.csv#air}
    heat: {wall: rooms.csv#sun}
    heated: {air: 20 kW}
    comfort: {air: {low: 19 degC, high: 23 degC}}
goal: {minimize: cost}
"""


def heated_by_hand(price: Any, out: Any, sun: Any) -> float:
    """Return the least cost of a day [EUR] from states and their integral over each step."""
    flow = np.zeros((6, 6))  # air, wall, outside, sun, heating, integral of air
    flow[0, [0, 1, 4]] = np.array([-0.5, 0.5, 1]) / 2
    flow[1, [0, 1, 2, 3]] = np.array([0.5, -0.7, 0.2, 1]) / 12
    flow[5, 0] = 1
    step = expm(flow * STEP)
    # Each a row: what it is without heating, then by kW of heating in each period.
    state, means = np.zeros((2, 5)), []
    state[:, 0] = 20, 19
    for k in range(4):
        given = np.zeros((5, 5))
        given[:2], given[2, 0], given[3, 0], given[4, 1 + k] = state, out[k], sun[k], 1
        state, mean = step[:2, :5] @ given, step[5, :5] @ given / STEP
        means.append(mean)
    rows = np.array(means)
    found = linprog(
        STEP * np.array(price) / 3,
        A_ub=np.vstack((rows[:, 1:], -rows[:, 1:])),
        b_ub=np.concatenate((23 - rows[:, 0], rows[:, 0] - 19)),
        bounds=(0, 20),
    )
    return float(found.fun)


def test_a_network_of_heat_runs_in_each_horizon(tmp_path: Path) -> None:
    """Each horizon has its own weather; a temperature that is off in one of them is found."""
    found = stated(tmp_path, NETWORK, rooms_csv=ROOMS)
    program = compile_blueprint(found, tmp_path)
    result = solve(program, SolveOptions(), isolate=False)
    rows = np.array([line.split(",")[1:] for line in ROOMS.splitlines()[1:]], dtype=float)
    days = zip((150, 215), rows.reshape(2, 4, 3), strict=True)
    assert result.objective == pytest.approx(sum(w * heated_by_hand(*day.T) for w, day in days))
    plan, text = to_dataset(program, result), Problem.load(tmp_path / "plant.yaml")
    made = certify(text, plan, found, folder=tmp_path, name="rooms")
    assert (made.verdict, made.levels["physics"]["status"]) == ("certified", "pass")
    for name, at in (("r_temperature", (1, 0, 2)), ("r_heating_air", (1, 2))):
        wrong = plan.copy(deep=True)
        wrong[name].values[at] += 0.5
        made = certify(text, wrong, found, folder=tmp_path, name="rooms")
        assert (made.verdict, made.levels["physics"]["status"]) == ("violated", "fail")
        assert "r[S].air" in str(made.levels["physics"])
