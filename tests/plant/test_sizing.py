"""Sizes that are to be chosen, from a plant file and from Python."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from scipy.optimize import brentq

from engiagent.blueprint import Blueprint
from engiagent.cli.app import app
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.plant import read_plant
from engiagent.run.certify import certify
from engiagent.solvers.solution import to_dataset
from engiagent.solvers.solving import solve
from engiagent.text import Problem
from engiagent.verify.checking import check
from tests.plant.plants import problem, stated

PRICE = [0.1, 0.1, 0.1, 0.4, 0.4, 0.2]
LOAD = [5, 5, 5, 20, 25, 5]
LIFE, RATE, EACH, FIXED, MODULE, DAYS = 15, 0.05, 350.0, 900.0, 10.0, 365
PLANT = """\
title: A battery to buy
horizon: {start: 2026-06-01, periods: 6, step: 1 h, weight: 365}
components:
  grid: {model: grid, import_price: site.csv#price}
  hall: {model: load, power: site.csv#load}
  battery:
    model: battery
    energy_capacity:
      between: [0 kWh, 60 kWh]
      step: 10 kWh
      costs: 350 EUR/kWh
      fixed: 900 EUR
      lifetime: 15 a
      rate: 5 %
    charge_power_max: 40 kW
    discharge_power_max: 40 kW
    charge_efficiency: 90 %
    initial_energy: 0 kWh
goal: {minimize: cost}
"""
ROWS = [f"{p},{w}" for p, w in zip(PRICE, LOAD, strict=True)]
SITE = "\n".join(["price [EUR/kWh],load [kW]", *ROWS])
HOURLY = "charge_power_max: {between: [0 kW, 9 kW], costs: 3 EUR/kWh}"


def planned(blueprint: Blueprint, folder: Path) -> tuple[float, dict[str, float]]:
    """Return cost and single values of the best plan, which the checker holds for the best."""
    program = compile_blueprint(blueprint, folder)
    data = to_dataset(program, solve(program, isolate=False))
    assert data.attrs["status"] == "optimal", data.attrs.get("reason")
    found = certify(None, data, expand(blueprint), folder=folder, name="site")
    assert (found.plan["holds"], found.plan["optimum"]) == ("pass", "recomputed")
    return data.attrs["objective"], {str(k): float(v) for k, v in data.items() if v.ndim == 0}


def annuity(rate: float, years: int) -> float:
    """Return the equal payment whose present value over the years is one."""
    return 1 / sum((1 + rate) ** -k for k in range(1, years + 1))


def costs_of_given_sizes(folder: Path) -> dict[int, float]:
    """Return by number of modules what a year costs, from plants of that very size."""
    found = {}
    block = PLANT[PLANT.index("      between") : PLANT.index("    charge_power_max")]
    for modules in range(7):
        fixed = PLANT.replace(f"\n{block}", f" {modules * MODULE} kWh\n")
        own = folder / str(modules)
        own.mkdir()
        cost, _ = planned(stated(own, fixed.replace(", weight: 365", ""), site_csv=SITE), own)
        capital = EACH * MODULE * modules + FIXED * (modules > 0)
        found[modules] = DAYS * cost + annuity(RATE, LIFE) * capital
    return found


def test_the_size_is_the_best_of_all(tmp_path: Path) -> None:
    each = costs_of_given_sizes(tmp_path)
    cost, values = planned(stated(tmp_path, PLANT, site_csv=SITE), tmp_path)
    best = min(each, key=lambda modules: each[modules])
    assert 0 < best < 6
    assert cost == pytest.approx(each[best], rel=1e-7)
    assert values["battery_energy_capacity_size"] == pytest.approx(best * MODULE)
    assert values["battery_energy_capacity_investment"] == pytest.approx(
        EACH * MODULE * best + FIXED
    )


def test_it_is_not_bought_where_it_does_not_pay(tmp_path: Path) -> None:
    dear = PLANT.replace("fixed: 900 EUR", "fixed: 90000 EUR")
    cost, values = planned(stated(tmp_path, dear, site_csv=SITE), tmp_path)
    assert values["battery_energy_capacity_size"] == pytest.approx(0, abs=1e-6)
    assert cost == pytest.approx(DAYS * sum(p * w for p, w in zip(PRICE, LOAD, strict=True)))


def test_panels_by_a_profile_and_costs_by_the_year(tmp_path: Path) -> None:
    """A kilowatt of panels costs 30 EUR a year and yields what its profile says."""
    sun = [0, 0.2, 0.6, 0.9, 0.5, 0]
    rows = [f"{p},{w},{s}" for p, w, s in zip(PRICE, LOAD, sun, strict=True)]
    data = "\n".join(["price [EUR/kWh],load [kW],sun", *rows])
    power = "{between: [0 kW, 80 kW], profile: site.csv#sun, costs: 30 EUR/kW/a}"
    roof = f"  roof: {{model: generator_profile, available_power: {power}}}\n"
    text = PLANT[: PLANT.index("  battery:")] + roof + "goal: {minimize: cost}\n"
    cost, values = planned(stated(tmp_path, text, site_csv=data), tmp_path)

    def of_a_year(power: float) -> float:
        drawn = [max(w - power * s, 0) for w, s in zip(LOAD, sun, strict=True)]
        return DAYS * sum(p * d for p, d in zip(PRICE, drawn, strict=True)) + 30 * power

    kinks = [0.0, 80.0, *(w / s for w, s in zip(LOAD, sun, strict=True) if s and w / s <= 80)]
    assert cost == pytest.approx(min(map(of_a_year, kinks)))
    assert of_a_year(values["roof_available_power_size"]) == pytest.approx(cost)


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        (", weight: 365", "", 0, "does not say how many such make one.*365 for a day"),
        ("weight: 365", "weight: 0", 2, "no weight"),
        ("weight: 365", "weight: 3 d", 2, "no weight"),
        ("[0 kWh, 60 kWh]", "[0 kWh]", 9, "lies between two ends"),
        ("[0 kWh, 60 kWh]", "[70 kWh, 60 kWh]", 9, "no size lies between 70 and 60 kWh"),
        ("[0 kWh, 60 kWh]", "[0 kWh, 60 kW]", 9, "another dimension.*a value in kWh"),
        ("lifetime: 15 a", "lifetme: 15 a", 13, "unknown key.*'lifetime'"),
        ("      lifetime: 15 a\n", "", 9, "needs a lifetime.*lifetime: 15 a"),
        ("rate: 5 %", "rate: 5 kW", 14, "another dimension"),
        ("rate: 5 %", "rate: 5", 14, "the rate is 500 % a year.*as 5 %"),
        ("lifetime: 15 a", "lifetime: -3 a", 13, "lifetime is -3.*a number above 0"),
        ("step: 10 kWh", "step: 0 kWh", 10, "step is 0.*a number above 0"),
        ("350 EUR/kWh", "-350 EUR/kWh", 11, "costs is -350.*0 or more"),
        ("350 EUR/kWh", "350 EUR/kW", 11, "another dimension"),
        ("charge_power_max: 40 kW", HOURLY, 15, "another dimension"),
        ("rate: 5 %", "rate: 5 %\n      profile: site.csv#load", 15, "one number is needed"),
    ],
)
def test_what_is_wrong_with_a_size_is_shown_at_its_line(
    tmp_path: Path, old: str, new: str, line: int, words: str
) -> None:
    assert old in PLANT
    with pytest.raises(Exception, match=words) as found:
        read_plant(problem(tmp_path, PLANT.replace(old, new, 1), site_csv=SITE))
    if line:
        assert f"plant.yaml:{line}:" in str(found.value)


def test_a_bare_rate_is_a_share(tmp_path: Path) -> None:
    texts = (PLANT, PLANT.replace("rate: 5 %", "rate: 0.05"))
    bare, percent = (planned(stated(tmp_path, text, site_csv=SITE), tmp_path)[0] for text in texts)
    assert bare == pytest.approx(percent, rel=1e-12)


# --- the baseline ---------------------------------------------------------------------------------


def answer_of(tmp_path: Path, text: str, data: str = SITE) -> dict[str, Any]:
    """Return what ``engiagent run --json`` says of a plant file, by case."""
    tmp_path.mkdir(exist_ok=True)
    problem(tmp_path, text, site_csv=data)
    asked = ["run", str(tmp_path / "plant.yaml"), "--out", str(tmp_path / "run"), "--json"]
    found = CliRunner().invoke(app, asked)
    assert found.exit_code == 0, found.stderr
    return {case["case"]: case for case in json.loads(found.stdout)["cases"]}


def test_a_plan_saves_and_its_investment_earns(tmp_path: Path) -> None:
    cases = answer_of(tmp_path, PLANT + "baseline: {without: [battery]}\n")
    plan, without = cases["base"]["objective"], cases["baseline"]
    drawn = DAYS * sum(p * w for p, w in zip(PRICE, LOAD, strict=True))
    capital = cases["base"]["values"]["battery_energy_capacity_investment"]
    assert without["objective"] == pytest.approx(drawn)
    assert without["saving"] == pytest.approx(drawn - plan)
    assert without["saving_share"] == pytest.approx((drawn - plan) / drawn)
    assert without["investment"] == pytest.approx(capital)
    yearly = drawn - plan + annuity(RATE, LIFE) * capital
    assert without["yearly_saving"] == pytest.approx(yearly)
    assert without["payback_years"] == pytest.approx(capital / yearly)
    value = -capital + sum(yearly * (1 + RATE) ** -k for k in range(1, LIFE + 1))
    assert without["net_present_value"] == pytest.approx(value)
    rate = brentq(
        lambda i: -capital + sum(yearly * (1 + i) ** -k for k in range(1, LIFE + 1)), 1e-6, 10
    )
    assert without["internal_rate"] == pytest.approx(rate)


def test_an_investment_that_the_baseline_makes_too_is_none_of_the_saving(tmp_path: Path) -> None:
    """Panels that both have count in neither the investment nor what it earns."""
    roof = (
        "  roof: {model: generator_profile, available_power: "
        "{between: [10 kW, 10 kW], profile: site.csv#sun, costs: 900 EUR/kW, lifetime: 25 a}}\n"
    )
    text = PLANT.replace("  battery:\n", f"{roof}  battery:\n")
    rows = [f"{row},0" for row in ROWS]
    sun = "\n".join(["price [EUR/kWh],load [kW],sun", *rows])
    alone = answer_of(tmp_path / "a", PLANT + "baseline: {without: [battery]}\n")["baseline"]
    both = answer_of(tmp_path / "b", text + "baseline: {without: [battery]}\n", sun)["baseline"]
    for name in ("saving", "investment", "yearly_saving", "payback_years", "net_present_value"):
        assert both[name] == pytest.approx(alone[name]), name


def test_what_names_an_absent_component_is_left_out_with_it(tmp_path: Path) -> None:
    text = PLANT.replace(
        "goal:", "requirements:\n  end: battery.state_of_charge[end] >= 1 kWh\ngoal:"
    )
    cases = answer_of(tmp_path, text + "baseline: {without: battery}\n")
    drawn = DAYS * sum(p * w for p, w in zip(PRICE, LOAD, strict=True))
    assert cases["baseline"]["objective"] == pytest.approx(drawn)


@pytest.mark.parametrize(
    ("stated_", "words"),
    [
        ("{without: [batery]}", "no component 'batery'.*'battery'"),
        ("{without: []}", "leaves out nothing"),
        ("{wihout: [battery]}", "unknown key in the baseline.*'without'"),
    ],
)
def test_what_is_wrong_with_a_baseline(tmp_path: Path, stated_: str, words: str) -> None:
    with pytest.raises(Exception, match=words):
        read_plant(problem(tmp_path, PLANT + f"baseline: {stated_}\n", site_csv=SITE))


def test_the_bound_of_the_text_is_that_of_all_sizes() -> None:
    """A plan with another size than the best is not called the best, whatever it makes of it."""
    folder = Path(__file__).parents[2] / "problems/der/dairy_roof_and_battery"
    blueprint = Blueprint.load(folder / "expert" / "blueprint.json")
    given = tuple(
        replace(v, lower=10, upper=10) if v.name == "battery_energy_capacity_size" else v
        for v in blueprint.core.decision_variables
    )
    core = replace(blueprint.core, decision_variables=given)
    other = expand(replace(blueprint, core_model_elements=core))
    program = compile_blueprint(other, folder)
    data = to_dataset(program, solve(program, isolate=False))
    found = check(Problem.load(folder), data, other)
    answer = json.loads((folder / "expert" / "answer.json").read_text("utf-8"))
    assert found.bound is not None
    assert found.bound["value"] == pytest.approx(answer["bound"])
    assert data.attrs["objective"] > answer["bound"] + 500


@pytest.mark.parametrize(
    ("machine", "use"),
    [
        ("{model: chiller, bus: b, cooling_bus: q, rated_cop: 4", 10 / 4),
        ("{model: heat_pump, bus: b, heat_bus: q, cop: 4", 10 / 4),
        ("{model: boiler, bus: b, heat_bus: q, rated_efficiency: 80 %", 10 / 0.8),
    ],
)
def test_a_machine_in_proportion_is_sized_from_nothing_on(
    tmp_path: Path, machine: str, use: float
) -> None:
    """Its input is its output over its performance, whatever its size; 10 kW are needed."""
    text = f"""\
horizon: {{start: 2026-06-01, periods: 2, step: 1 h, weight: 100}}
components:
  grid: {{model: grid, bus: b, import_price: 0.2 EUR/kWh}}
  need: {{model: load, bus: q, power: 10 kW}}
  machine: {machine}, rated_capacity: {{between: [0 kW, 50 kW], costs: 30 EUR/kW/a}}}}
goal: {{minimize: cost}}
"""
    cost, values = planned(stated(tmp_path, text), tmp_path)
    assert values["machine_rated_capacity_size"] == pytest.approx(10)
    assert cost == pytest.approx(100 * 2 * use * 0.2 + 10 * 30)
