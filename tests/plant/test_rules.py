"""Baselines by a rule, against what somebody works out with a pencil."""

from pathlib import Path
from typing import Any

import pytest

from engiagent import Site
from engiagent.environment.controllers import ruled
from engiagent.environment.environment import Environment
from engiagent.errors import InputError
from engiagent.plant import read_plant
from tests.plant.plants import problem
from tests.plant.test_sizing import answer_of

BATTERY = """\
horizon: {start: 2026-06-01, step: 1 h, periods: 6}
components:
  grid: {model: grid, import_price: site.csv#price, export_price: 0.05 EUR/kWh}
  hall: {model: load, power: site.csv#load}
  roof: {model: generator_profile, available_power: site.csv#sun}
  battery:
    model: battery
    energy_capacity: 30 kWh
    charge_power_max: 20 kW
    discharge_power_max: 20 kW
    charge_efficiency: 90 %
    discharge_efficiency: 90 %
    initial_energy: 5 kWh
requirements:
  full: battery.state_of_charge[end] >= battery.initial_energy
goal: {minimize: cost}
baseline: {rule: self-consumption}
"""
SITE = """\
price [EUR/kWh],load [kW],sun [kW]
0.1,5,0
0.1,5,15
0.3,5,30
0.3,20,5
0.4,25,0
0.2,5,0
"""
ZONE = """\
horizon: {start: 2026-01-01, step: 1 h, periods: 8}
components:
  grid: {model: grid, import_price: site.csv#price}
  room: {model: thermal_zone, capacitance: 2 kWh/K, initial_temperature: 20.5 degC, gains: -1 kW}
  heating: {model: heater, zone: room, electric_power_max: 3 kW, cop: 3}
requirements:
  comfort: 20 degC <= room.temperature[t] <= 22 degC
goal: {minimize: cost}
baseline: {rule: thermostat}
"""
PRICES = [0.1, 0.35, 0.2, 0.15, 0.1, 0.1, 0.4, 0.2]


def test_a_battery_takes_what_is_left_over_and_gives_what_lacks(tmp_path: Path) -> None:
    """Hour by hour: gives its 4.5 kWh, takes 10, then 20 (5 are sold), gives 15, then the rest."""
    cases = answer_of(tmp_path, BATTERY, SITE)
    held = 10 * 0.9 + 20 * 0.9 - 15 / 0.9
    cost = 0.5 * 0.1 - 5 * 0.05 + (25 - held * 0.9) * 0.4 + 5 * 0.2
    assert cases["baseline"]["objective"] == pytest.approx(cost)
    assert cases["baseline"]["saving"] == pytest.approx(cost - cases["base"]["objective"])
    assert cases["baseline"]["description"] == "the rule self-consumption"


def test_a_thermostat_heats_from_one_limit_to_the_other(tmp_path: Path) -> None:
    """Half a kelvin is lost in an hour; at 20 degC 5 kWh of heat lead to 22 degC, four hours on."""
    data = "\n".join(["price [EUR/kWh]", *map(str, PRICES)])
    cases = answer_of(tmp_path, ZONE, data)
    assert cases["baseline"]["objective"] == pytest.approx((PRICES[1] + PRICES[6]) * 5 / 3)
    assert cases["base"]["objective"] < cases["baseline"]["objective"]


def with_machine(machine: str) -> str:
    """Return the zone, heated by a machine through an emitter; no resistance, so no losses."""
    heater = "  heating: {model: heater, zone: room, electric_power_max: 3 kW, cop: 3}\n"
    assert heater in ZONE
    emitter = "  radiator: {model: emitter, heat_bus: heat, zone: room}\n"
    return ZONE.replace("model: grid,", "model: grid, bus: power,").replace(
        heater, f"{emitter}  heating: {{{machine}, heat_bus: heat}}\n"
    )


@pytest.mark.parametrize(
    ("machine", "full", "cop"),
    [
        ("model: heat_pump, bus: power, rated_capacity: 9 kW, cop: 3", 9.0, 3.0),
        (
            "model: heat_pump, bus: power, rated_capacity: 1.5 kW, cop: 3, "
            "count: 2, switching: yes",
            3.0,
            3.0,
        ),
        (
            "model: heat_pump, bus: power, rated_capacity: 9 kW, carnot_fraction: 40 %, "
            "source_temperature: 0 degC, sink_temperature: 35 degC, electric_power_max: 1 kW",
            *[0.4 * 308.15 / 35] * 2,
        ),
        ("model: boiler, bus: power, rated_capacity: 3 kW, rated_efficiency: 90 %", 3.0, 0.9),
    ],
)
def test_a_thermostat_runs_machines_behind_an_emitter(
    tmp_path: Path, machine: str, full: float, cop: float
) -> None:
    """A pencil: the room holds 2 kWh/K and loses 1 kW; heating begins at 20 and ends at 22 degC."""
    above, runs, cost = 0.5 * 2, False, 0.0  # content above that at 20 degC [kWh]
    for price in PRICES:
        runs = runs or above - 1 < -1e-9
        heat = min(full, 4 - (above - 1)) if runs else 0.0
        above, cost = above - 1 + heat, cost + price * heat / cop
        runs = runs and above < 4 - 1e-9
    data = "\n".join(["price [EUR/kWh]", *map(str, PRICES)])
    cases = answer_of(tmp_path, with_machine(machine), data)
    assert cases["baseline"]["objective"] == pytest.approx(cost)
    assert cases["base"]["objective"] < cases["baseline"]["objective"]


def test_a_thermostat_stops_short_of_what_is_below_the_least_part_load(tmp_path: Path) -> None:
    """3 kW, at least 2: from 20 degC it heats with 3 kW; the 3 kWh that lack then are its last."""
    pump = "model: heat_pump, bus: power, rated_capacity: 3 kW, cop: 3, minimum_part_load: 70 %"
    data = "\n".join(["price [EUR/kWh]", *map(str, PRICES)])
    cases = answer_of(tmp_path, with_machine(pump), data)
    # hours 1 and 2 at full power; 1 kWh that is left of the way is less than 2.1 kW
    above, heats = 0.0, list[float]()
    for _ in PRICES[1:]:
        wish = min(3.0, 5.0 - above) if (above < 1 or heats[-1:] == [3.0]) else 0.0
        heats.append(wish if wish >= 2.1 else 0.0)
        above += heats[-1] - 1
    cost = sum(price * heat / 3 for price, heat in zip(PRICES[1:], heats, strict=True))
    assert cases["baseline"]["objective"] == pytest.approx(cost)


def by_hours(first: int, last: int) -> str:
    """Return the zone with 2.1 kW of heat, its limits kept from an hour to one before the last."""
    where = f'{{for: t in T, where: hour(t) >= {first} and hour(t) < {last}, must: "'
    slow = ZONE.replace("electric_power_max: 3 kW", "electric_power_max: 0.7 kW")
    limits = "20 degC <= room.temperature[t] <= 22 degC"
    assert limits in slow
    return slow.replace(limits, f'{where}{limits}"}}')


def test_a_thermostat_is_off_while_no_limit_applies(tmp_path: Path) -> None:
    """20 degC at 01:00, 20.55 and 21.1 after two hours that end or begin with a limit; then off."""
    data = "\n".join(["price [EUR/kWh]", *map(str, PRICES)])
    cases = answer_of(tmp_path, by_hours(2, 3), data)
    assert cases["baseline"]["objective"] == pytest.approx(0.7 * (PRICES[1] + PRICES[2]))
    plant = Environment.load(tmp_path / "plant.yaml")
    record = plant.run(ruled("thermostat", plant), seconds=900)
    power = record["heating.electric_power"].values.reshape(8, 4).mean(axis=1)
    # At 01:00 it is not yet below 20 degC; a quarter of an hour later it is.
    assert power == pytest.approx([0, 0.75 * 0.7, 0.7, 0, 0, 0, 0, 0])


def test_a_rule_that_leaves_a_limit_says_which_and_when(tmp_path: Path) -> None:
    """19 degC at 03:00, and 2.1 kW less 1 kW raise 2 kWh/K by 0.55 K; the plan heats before."""
    data = "\n".join(["price [EUR/kWh]", *map(str, PRICES)])
    cases = answer_of(tmp_path, by_hours(4, 6), data)
    assert cases["base"]["status"] == "optimal"
    assert cases["baseline"]["status"] == "infeasible"
    said = "the rule leaves room at 19.55 degC at 2026-01-01T04:00, below its limit of 20 degC"
    assert cases["baseline"]["reason"].endswith(said)


SIZE = "energy_capacity: {between: [0 kWh, 30 kWh], costs: 3 EUR/kWh/a}"


@pytest.mark.parametrize(
    ("plant", "old", "new", "words"),
    [
        (BATTERY, "self-consumption", "greedy", "no such rule.*greedy.*self-consumption or therm"),
        (BATTERY, "rule: self-", "rule: thermostat, x: self-", "unknown key in the baseline"),
        (BATTERY, "{rule:", "{without: [battery], rule:", "one of both"),
        (BATTERY, "self-consumption", "thermostat", "does not say what battery .battery. does"),
        (ZONE, "thermostat", "self-consumption", "does not say what room .thermal_zone. does"),
        (ZONE, " <= 22 degC", "", "needs two limits of the temperature of room.*found lower"),
        (ZONE, "electric_power_max: 3 kW, ", "", "needs the power of heating"),
        (BATTERY, "energy_capacity: 30 kWh", SIZE, "cannot be executed.*given sizes"),
    ],
)
def test_a_rule_without_a_meaning_is_refused(
    tmp_path: Path, plant: str, old: str, new: str, words: str
) -> None:
    assert old in plant
    data = SITE if plant is BATTERY else "\n".join(["price [EUR/kWh]", *map(str, PRICES)])
    text = plant.replace("periods: 6}", "periods: 6, weight: 2}").replace(old, new, 1)
    with pytest.raises(Exception, match=words):
        read_plant(problem(tmp_path, text, site_csv=data))


def test_python_names_a_rule_too() -> None:
    site = Site("2026-06-01", "1 h", 2)
    site.add("grid", "grid", import_price=[0.2, 0.4])
    site.add("hall", "load", power=[1, 3])
    slots: dict[str, Any] = {"energy_capacity": 2, "initial_energy": 2}
    site.add("battery", "battery", **slots)
    site.minimise_cost()
    site.baseline(rule="self-consumption")
    report = site.blueprint().core.report
    assert report is not None
    assert [case.description for case in report.cases] == ["the rule self-consumption"]
    with pytest.raises(InputError, match="one of both"):
        site.baseline()
