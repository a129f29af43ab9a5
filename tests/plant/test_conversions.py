"""Plant files, sites and blueprints say the same, and become one another without loss."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from engiagent import Blueprint, Site, Size
from engiagent.errors import InputError
from engiagent.plant import PlantError, read_plant
from engiagent.text import Problem
from tests.plant.test_representative import DAYS
from tests.plant.test_representative import PLANT as YEAR
from tests.plant.test_rules import BATTERY, SITE, ZONE

HOURLY = "time,price [EUR/MWh],load [kW]\n" + "".join(
    f"2026-06-01T{hour:02}:00,{50 + 7 * (hour % 5)},{20 + hour}\n" for hour in range(6)
)
NUMBER = st.integers(1, 400).map(lambda n: n / 4)


@st.composite
def plants(draw: st.DrawFn) -> str:
    """Return a plant file with shares, columns, surcharges, sizes, cases and requirements."""
    step = draw(st.sampled_from(["1 h", "30 min"]))
    capacity = draw(
        st.one_of(
            NUMBER.map(lambda n: f"{n} kWh"),
            NUMBER.map(
                lambda n: (
                    f"{{between: [0 kWh, {n} kWh], costs: 90 EUR/kWh, lifetime: 9 a, rate: 4 %}}"
                )
            ),
        )
    )
    fixed = "between" not in capacity
    final = draw(st.sampled_from(["", ", final_energy_min: 0.1 kWh", ", final_energy_min: 30 %"]))
    price = draw(
        st.sampled_from(["0.3 EUR/kWh", "day.csv#price", "1.2 * day.csv#price + 4 ct/kWh"])
    )
    initial = f"{draw(st.integers(0, 100))} %" if fixed else "0 kWh"
    count, charge = 6 if step == "1 h" else 12, draw(NUMBER)
    parts = [
        "title: A site that is drawn",
        f"horizon: {{start: 2026-06-01, step: {step}, periods: {count}, weight: 365}}",
        "components:",
        f"  grid: {{model: grid, import_price: {price}, import_power_max: 300 kW}}",
        "  load: {model: load, power: day.csv#load}",
        f"  battery: {{model: battery, energy_capacity: {capacity},",
        f"            charge_power_max: {charge} kW,",
        f"            discharge_power_max: 25 kW, initial_energy: {initial}{final}}}",
        "goal: {minimize: cost}",
    ]
    if draw(st.booleans()):
        must = "grid.import[t] <= 290 kW"
        limit = draw(st.sampled_from([f'"{must}"', f'{{must: "{must}", penalty: 5 EUR/kW}}']))
        parts += ["requirements:", f"  late: {limit}"]
    if draw(st.booleans()):
        parts += ["cases:", "  other: {battery.energy_capacity: 60 kWh, load.power: 3 kW}"]
    if draw(st.booleans()):
        parts += ["baseline: {without: [battery]}"]
    return "\n".join(parts) + "\n"


def bare(value: Any) -> Any:
    """Return a document without what it says of its sources."""
    if isinstance(value, list):
        return [bare(item) for item in value]
    if not isinstance(value, dict):
        return value
    about = ("source_reference", "extended_analysis_and_robustness")
    return {key: bare(item) for key, item in value.items() if key not in about}


@settings(max_examples=12, deadline=None)
@given(plants())
def test_a_plant_survives_every_way_round(text: str) -> None:
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "day.csv").write_text(HOURLY, encoding="utf-8")
        (folder / "plant.yaml").write_text(text, encoding="utf-8")
        read = read_plant(Problem.load(folder / "plant.yaml"))
        assert read is not None
        site = Site.load(folder / "plant.yaml")
        assert read.blueprint is not None
        assert bare(site.blueprint().to_dict()) == bare(read.blueprint.to_dict())
        written = site.to_yaml()
        (folder / "again.yaml").write_text(written, encoding="utf-8")
        again = Site.load(folder / "again.yaml")
        assert again.to_yaml() == written
        back = Site.of(site.blueprint(folder))
        assert bare(back.blueprint().to_dict()) == bare(site.blueprint().to_dict())
        assert back.to_yaml() == written
        plans = [one.solve(progress=False) for one in (site, again)]
        assert plans[0].status == plans[1].status
        assert {plan.certificate.verdict for plan in plans} == {"certified"}
        assert plans[1].objective == pytest.approx(plans[0].objective, rel=1e-9)


@pytest.mark.parametrize("name", ["year", "rule", "thermostat"])
def test_horizons_with_weights_and_rules_survive_every_way_round(tmp_path: Path, name: str) -> None:
    text, data = {
        "year": (YEAR, {"days": DAYS}),
        "rule": (BATTERY, {"site": SITE}),
        "thermostat": (ZONE, {"site": "price [EUR/kWh]\n" + "0.1\n" * 8}),
    }[name]
    for file, content in data.items():
        (tmp_path / f"{file}.csv").write_text(content, encoding="utf-8")
    (tmp_path / "plant.yaml").write_text(text, encoding="utf-8")
    site = Site.load(tmp_path / "plant.yaml")
    written = site.to_yaml()
    (tmp_path / "again.yaml").write_text(written, encoding="utf-8")
    again = Site.load(tmp_path / "again.yaml")
    assert again.to_yaml() == written
    back = Site.of(site.blueprint(tmp_path))
    assert back.to_yaml() == written
    assert bare(back.blueprint(tmp_path).to_dict()) == bare(site.blueprint(tmp_path).to_dict())
    cost = site.solve(progress=False).objective
    assert again.solve(progress=False).objective == pytest.approx(cost)


def depot(**slots: Any) -> Site:
    site = Site("2026-01-10", "1 h", 4, title="Depot")
    site.add("grid", "grid", import_price=[0.1, 0.1, 0.4, 0.4])
    site.add("load", "load", power="3 kW")
    powers: Any = {"charge_power_max": 5, "discharge_power_max": 5}
    site.add("battery", "battery", energy_capacity="10 kWh", **powers, **slots)
    site.minimise_cost()
    return site


@pytest.mark.parametrize(
    ("least", "kept"), [("40 %", 4.0), ("3 kWh", 3.0), ("0.002 MWh", 2.0), (1.5, 1.5)]
)
def test_a_store_is_left_with_a_least_content(tmp_path: Path, least: Any, kept: float) -> None:
    site = depot(initial_energy="5 kWh", final_energy_min=least)
    plan = site.solve(progress=False)
    assert plan.certificate.verdict == "certified"
    assert plan["battery.state_of_charge"].values[-1] == pytest.approx(kept)
    (tmp_path / "plant.yaml").write_text(site.to_yaml(), encoding="utf-8")
    again = Site.load(tmp_path / "plant.yaml")
    assert again.to_yaml() == site.to_yaml()
    assert again.solve(progress=False).objective == pytest.approx(plan.objective)


def test_the_least_content_of_a_size_to_be_chosen_is_a_share_of_it() -> None:
    size: Any = Size(between=("0 kWh", "9 kWh"), costs="1 EUR/kWh/a")
    site = Site("2026-01-10", "1 h", 4, weight=365)
    site.add("grid", "grid", import_price=[0.1, 0.1, 0.4, 0.4])
    site.add("load", "load", power="3 kW")
    powers: Any = {"charge_power_max": 5, "discharge_power_max": 5, "initial_energy": 0}
    site.add("battery", "battery", energy_capacity=size, final_energy_min="50 %", **powers)
    site.minimise_cost()
    plan = site.solve(progress=False)
    assert plan.certificate.verdict == "certified"
    content = plan["battery.state_of_charge"].values
    assert content[-1] == pytest.approx(content.max() / 2)
    assert content.max() > 1


def test_a_least_content_in_the_end_is_refused_where_there_is_no_content() -> None:
    site = Site("2026-01-10", "1 h", 4)
    with pytest.raises(InputError, match=r"load has no content.*final_energy_min of a battery"):
        site.add("load", "load", power="3 kW", final_energy_min="3 kWh")


def test_what_a_plant_file_says_is_said_in_python_too() -> None:
    site = depot(initial_energy="50 %")
    site.require("battery.state_of_charge[end] >= battery.initial_energy", over=None, name="full")
    site.require("grid.import[t] <= 4 kW", where="hour(t) < 2", name="early")
    plan = site.solve(progress=False)
    assert plan.certificate.verdict == "certified"
    stored = plan["battery.state_of_charge"].values
    assert stored[0] == stored[-1] == 5.0
    assert float(plan["grid.import"].values[:2].max()) <= 4 + 1e-9
    assert "initial_energy: 50 %" in site.to_yaml()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (lambda: depot(initial_enrgy="5 kWh"), "initial_enrgy.*expected 'initial_energy'"),
        (lambda: Site("00:00", "1 h", 4).add("b", "batery"), "expected 'battery'"),
        (lambda: depot(initial_energy=5).require("grid.imprt[t] <= 4 kW"), "expected 'import'"),
        (lambda: depot(initial_energy=5).require("gird.import[t] <= 4 kW"), "expected 'grid'"),
    ],
)
def test_names_that_are_not_there_get_the_nearest(wrong: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        wrong()


def test_a_blueprint_may_be_yaml(tmp_path: Path) -> None:
    blueprint = depot(initial_energy=5).blueprint()
    with (tmp_path / "depot.yaml").open("w", encoding="utf-8") as out:
        YAML(pure=True).dump(blueprint.to_dict(), out)
    assert Blueprint.load(tmp_path / "depot.yaml").to_dict() == blueprint.to_dict()
    (tmp_path / "wrong.yaml").write_text("schema: engiagent-blueprint/1\nkind: [\n", "utf-8")
    with pytest.raises(InputError, match=r"wrong\.yaml:3:1: no valid YAML"):
        Blueprint.load(tmp_path / "wrong.yaml")


@pytest.mark.parametrize("fuel", ["l", "kg", "kWh"])
def test_fuel_is_counted_as_it_is_stated(tmp_path: Path, fuel: str) -> None:
    """The same set by volume, by mass and by energy, of 10 kWh in a litre and 12.5 in a kg."""
    held, flow = {"l": 10.0, "kg": 12.5, "kWh": 1.0}[fuel], "kW" if fuel == "kWh" else f"{fuel}/h"
    (tmp_path / "plant.yaml").write_text(
        "horizon: {start: 2026-01-01, step: 1 h, periods: 3}\n"
        "components:\n"
        "  grid: {model: grid, bus: site, import_price: 0.5 EUR/kWh}\n"
        "  gas: {model: grid, bus: gas, import_price: 0.08 EUR/kWh}\n"
        "  home: {model: load, bus: site, power: 20 kW}\n"
        "  set: {model: genset, bus: site, fuel_bus: gas, rated_power: 30 kW,\n"
        f"        fuel_slope: {2.5 / held} {fuel}/kWh, fuel_no_load: {3 / held} {flow},\n"
        f"        heating_value: {held} kWh/{fuel}}}\n"
        "goal: {minimize: cost}\n"
    )
    plan = Site.load(tmp_path / "plant.yaml").solve(progress=False)
    assert plan.certificate.verdict == "certified"
    assert plan.objective == pytest.approx(3 * 0.08 * (2.5 * 20 + 3))
    assert plan["set.fuel"].attrs["units"] == flow


def test_a_column_out_of_range_is_refused_as_a_number_is(tmp_path: Path) -> None:
    (tmp_path / "day.csv").write_text(
        "time,factor [g/kWh]\n2026-01-01T00:00,300\n2026-01-01T01:00,-20\n2026-01-01T02:00,300\n"
    )
    (tmp_path / "plant.yaml").write_text(
        "horizon: {step: 1 h}\ncomponents:\n"
        "  grid: {model: grid, import_price: 0.3 EUR/kWh, emission_factor: day.csv#factor}\n"
        "  home: {model: load, power: 5 kW}\ngoal: {minimize: cost}\n"
    )
    with pytest.raises(PlantError, match=r"day\.csv#factor has -20 g/kWh, out of range"):
        Site.load(tmp_path / "plant.yaml")
