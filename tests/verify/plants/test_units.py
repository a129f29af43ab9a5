"""For every model: a right plan passes, and each way to cheat physics is caught."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.verify.plants.yard import broken, executed, passes

CURVE = "(0.0, 0.09, -0.15, 0.612, -0.324, -0.216)"
PARAMETERS = {
    "battery": "energy_capacity: 100, charge_power_max: 50, discharge_power_max: 50, "
    "initial_energy: 10, charge_efficiency: 0.9",
    "lossy": "energy_capacity: 100, charge_power_max: 50, discharge_power_max: 50, "
    "initial_energy: 10, no_load_loss: 0.5, proportional_loss: 0.02, standby_loss: 0.1",
    "aged": "energy_capacity: 10, initial_energy: 0, cycles_at_full_depth: 4000, "
    "capacity_loss_max: CAP",
    "thermal_store": "energy_capacity: 20, initial_energy: 10, charge_power_max: 5, "
    "self_discharge: 0.1",
    "tank": "mass: 860, loss_conductance: '0.002[kW/K]', initial_temperature: 50, "
    "temperature_max: 60",
    "two_zone_tank": "mass: 1000, hot_temperature: 80, cold_temperature: 40, initial_fraction: 0.5",
    "hot_water_tank": "mass: 200, initial_temperature: 45, use: 0.05, use_temperature: 40",
    "stratified_tank": "mass: 200, layers: 5, initial_temperature: 60, use: 0.05, "
    "use_temperature: 40, temperature_max: 80",
    "layers": "mass: 200, layers: 5, initial_temperature: 60, temperature_max: 80",
    "ice_tank": "energy_capacity: 1000, initial_energy: 500, "
    f"charge_curve: '{CURVE}', charge_difference: 4",
    "ev": "energy_capacity: 50, charge_power_max: 11, charge_efficiency: 0.9, arrival: 1, "
    "departure: 3, arrival_energy: 20, required_energy: 38",
    "v2g": "energy_capacity: 50, charge_power_max: 11, discharge_power_max: 11, arrival: '(0, 3)', "
    "departure: '(2, 4)', arrival_energy: '(20, 30)', minimum_energy: 5",
    "genset": "rated_power: 100, fuel_slope: '0.24[l/kWh]', fuel_no_load: '4[l/h]', "
    "minimum_load: 0.3, minimum_up_hours: 3, minimum_down_hours: 2, start_fuel: 2, ramp_up: 50",
    "chp": "rated_power: 100, load: '(0.5, 1)', electric_efficiency: '(0.32, 0.36)', "
    "thermal_efficiency: '(0.55, 0.5)'",
    "extraction_chp": "condensing_power_max: 100, condensing_power_min: 40, power_loss: 0.15, "
    "power_to_heat: 0.6, fuel_slope: 2.5",
    "heater": "cop: 3, electric_power_max: 5",
    "heat_pump": "rated_capacity: 10, carnot_fraction: 0.5, source_temperature: 0, "
    "sink_temperature: 35, minimum_part_load: 1",
    "boiler": "rated_capacity: 10, rated_efficiency: 0.8",
    "chiller": "rated_capacity: 500, rated_cop: 5, part_load_curve: '(0.2, 0.3, 0.5)', "
    "minimum_part_load: 0.1",
    "cooling_tower": "rated_water_flow: 20, rated_fan_power: 15, wet_bulb_temperature: 25.56, "
    "water_temperature_max: 29.5",
    "fan": "rated_flow: 5, rated_power: 4",
    "pv": "dc_capacity: 100, irradiance: 800, air_temperature: 20",
    "wind_turbine": "speeds: '(3, 12, 25)', powers: '(0, 900, 900)', wind_speed: 6",
    "generator_profile": "available_power: 10",
    "curtailable_load": "power: 10, curtailable_share: 0.2",
    "shiftable_load": "power: 10, shift_up_max: 4, shift_down_max: 4, ahead_energy_max: 3",
    "job": "power: 2, duration: 2, latest: 3",
    "grid": "emission_factor: '0.5[kg/kWh] + 0.1[kg/kWh]*pos(t)'",
}
MODELS = {"lossy": "battery", "aged": "battery", "v2g": "ev", "layers": "stratified_tank"}
HEAT_35 = 0.5 * 308.15 / 35.0
"""Half of Carnot's between 0 and 35 degC."""


def plan(
    folder: Path, case: str, series: dict[str, Any], more: str = "", **changed: str
) -> tuple[set[str], bool]:
    """Return what is broken in a plan of a unit called ``u``, and whether all was checked."""
    parameters = PARAMETERS[case]
    for old, new in changed.items():
        parameters = parameters.replace(old, new)
    if more:
        parameters = f"{parameters}, {more}"
    text = (
        f"  - name: u\n    model: {MODELS.get(case, case)}\n    index: T\n"
        f"    parameters: {{{parameters}}}\n    connections: {{heat_bus: h}}\n"
    )
    certificate = executed(folder, text, {f"u.{word}": data for word, data in series.items()})
    notes = certificate.levels["physics"]["notes"]
    assert notes == [], notes
    return broken(certificate), passes(certificate)


RIGHT = [
    ("grid", {"import": [4, 2], "export": [0, 0], "emissions": [2, 1.2]}),
    ("battery", {"charge": [50, 0], "discharge": [0, 20], "state_of_charge": [10, 55, 35]}),
    ("lossy", {"charge": [25, 0], "discharge": [0, 0], "state_of_charge": [10, 34, 33.9]}),
    ("thermal_store", {"charge": [5, 0], "discharge": [0, 5]}),
    ("tank", {"charge": [2, 0], "discharge": [0, 0], "temperature": [50, 51.938106, 51.874301]}),
    ("two_zone_tank", {"charge": [10, 0], "discharge": [0, 5]}),
    ("hot_water_tank", {"charge": [6.28, 6.28]}),
    ("stratified_tank", {"charge": [6.28, 6.28]}),
    ("layers", {"charge": [1, 0], "discharge": [0, 1]}),
    ("ice_tank", {"charge": [165, 0], "discharge": [0, 5]}),
    ("ev", {"charge": [0, 10, 10, 0]}),
    ("v2g", {"charge": [11, 0, 0, 0], "discharge": [0, 10, 0, 8]}),
    ("genset", {"power": [0, 50, 60, 40, 0, 0], "fuel": [0, 18, 18.4, 13.6, 0, 0]}),
    ("genset", {"power": [0, 30, 30, 30, 0], "on": [0, 1, 1, 1, 0], "start": [0, 1, 0, 0, 0]}),
    ("chp", {"power": [50, 100, 0], "heat": [85.9375, 138.8888889, 0]}),
    ("extraction_chp", {"power": [85, 0], "heat": [100, 0], "fuel": [250, 0]}),
    ("heater", {"electric_power": [2, 0], "heat": [6, 0]}),
    ("heat_pump", {"heat": [10, 0], "electric_power": [10 / HEAT_35, 0]}),
    ("heat_pump", {"heat": [10, 5], "electric_power": [10 / HEAT_35, 5 / HEAT_35 * 1.1]}),
    ("heat_pump", {"electric_power": [10 / HEAT_35, 0]}),
    ("boiler", {"heat": [8, 0], "fuel": [10, 0]}),
    ("chiller", {"cooling": [500, 250, 25], "electric_power": [100, 47.5, 11.75]}),
    ("cooling_tower", {"heat_rejected": [465, 0], "speed": [1, 0], "electric_power": [15, 0]}),
    ("fan", {"flow": [5, 2.5], "electric_power": [4, 0.5]}),
    ("pv", {"power": [50, 59]}),
    ("wind_turbine", {"power": [300, 100]}),
    ("curtailable_load", {"unmet": [2, 0], "power": [8, 10]}),
    ("shiftable_load", {"shift_up": [3, 0], "shift_down": [0, 3], "power": [13, 7]}),
    ("job", {"begin": [0, 1, 0, 0], "power": [0, 2, 2, 0]}),
]
WRONG = [
    # energy out of nothing
    ("battery", {"charge": [50, 0], "discharge": [0, 20], "state_of_charge": [10, 60, 40]}, "step"),
    ("battery", {"charge": [10, 0], "discharge": [0, 30]}, "below:u.state_of_charge"),
    ("lossy", {"charge": [25, 0], "discharge": [0, 0], "state_of_charge": [10, 35, 35]}, "step"),
    ("thermal_store", {"charge": [0, 0], "discharge": [5, 5]}, "below:u.energy"),
    ("two_zone_tank", {"charge": [0, 0], "discharge": [15, 15]}, "below:u.energy"),
    # limits
    ("battery", {"charge": [60, 0], "discharge": [0, 20]}, "limit:u.charge"),
    ("battery", {"charge": [20, 0], "discharge": [20, 0]}, "both:u"),
    ("tank", {"charge": [20, 0], "discharge": [0, 0]}, "above:u.temperature"),
    ("hot_water_tank", {"charge": [0, 0]}, "warm:u"),
    ("stratified_tank", {"charge": [25, 25]}, "layers:u.high"),
    ("layers", {"charge": [25, 25], "discharge": [0, 0]}, "layers:u.high"),
    ("ice_tank", {"charge": [169, 0], "discharge": [0, 5]}, "ice:u.charge"),
    ("ev", {"charge": [0, 10, 5, 0]}, "departure:u"),
    ("ev", {"charge": [0, 10, 10, 5]}, "limit:u.charge"),
    ("v2g", {"charge": [0, 0, 0, 0], "discharge": [10, 10, 0, 0]}, "below:u.state_of_charge"),
    ("genset", {"power": [0, 50, 60, 0, 0, 0]}, "times:u"),
    ("genset", {"power": [50, 50, 50, 0, 50, 50]}, "times:u"),
    ("genset", {"power": [20, 50, 50, 0, 0, 0]}, "least:u.power"),
    ("genset", {"power": [50, 101, 50, 0, 0, 0]}, "capacity:u.power"),
    ("genset", {"power": [30, 90, 50, 0, 0, 0]}, "ramp:u.power"),
    ("genset", {"power": [50, 50, 50, 9, 0], "on": [1, 1, 1, 0, 0]}, "capacity:u.power"),
    ("genset", {"power": [50] * 3, "on": [1, 1, 0.5]}, "whole:u.on"),
    ("chp", {"power": [40, 100, 0]}, "least:u.power"),
    ("extraction_chp", {"power": [50], "heat": [100]}, "region:u.2"),
    ("heater", {"electric_power": [6, 0]}, "limit:u.electric_power"),
    ("heat_pump", {"heat": [11, 0]}, "capacity:u.heat"),
    ("boiler", {"heat": [12, 0]}, "capacity:u.heat"),
    ("chiller", {"cooling": [501, 0]}, "capacity:u.cooling"),
    ("cooling_tower", {"heat_rejected": [465], "speed": [0.5]}, "above:u.water_temperature"),
    ("cooling_tower", {"heat_rejected": [465], "speed": [0]}, "rest:u"),
    ("fan", {"flow": [6, 2.5]}, "capacity:u.flow"),
    ("pv", {"power": [61, 0]}, "limit:u.power"),
    ("wind_turbine", {"power": [301, 0]}, "limit:u.power"),
    ("curtailable_load", {"unmet": [3, 0]}, "limit:u.unmet"),
    ("shiftable_load", {"shift_up": [3, 0], "shift_down": [0, 2]}, "served:u"),
    ("shiftable_load", {"shift_up": [4, 0], "shift_down": [0, 4]}, "above:u.shifted_energy"),
    ("job", {"begin": [0, 0, 1, 0]}, "window:u"),
    ("job", {"begin": [0, 0, 0, 0]}, "done:u"),
    # a result that its decisions do not give
    ("grid", {"import": [4, 2], "export": [0, 0], "emissions": [2, 1]}, "output:u.emissions"),
    ("genset", {"power": [0, 50, 60, 40], "fuel": [0, 16, 18.4, 13.6]}, "output:u.fuel"),
    ("chp", {"power": [50, 100], "heat": [90, 138.8888889]}, "output:u.heat"),
    ("extraction_chp", {"power": [85], "heat": [100], "fuel": [240]}, "output:u.fuel"),
    ("heater", {"electric_power": [2, 0], "heat": [7, 0]}, "output:u.heat"),
    ("heat_pump", {"heat": [10, 5], "electric_power": [2.27, 1.13]}, "output:u.electric_power"),
    ("boiler", {"heat": [8, 0], "fuel": [8, 0]}, "output:u.fuel"),
    ("chiller", {"cooling": [250], "electric_power": [50]}, "output:u.electric_power"),
    ("fan", {"flow": [2.5], "electric_power": [2]}, "output:u.electric_power"),
]


@pytest.mark.parametrize(("case", "series"), RIGHT)
def test_a_right_plan_passes(tmp_path: Path, case: str, series: dict[str, Any]) -> None:
    found, all_right = plan(tmp_path, case, series)
    assert found == set()
    assert all_right


@pytest.mark.parametrize(("case", "series", "check"), WRONG)
def test_a_wrong_plan_is_caught(
    tmp_path: Path, case: str, series: dict[str, Any], check: str
) -> None:
    found, _ = plan(tmp_path, case, series)
    assert any(name.startswith(check) for name in found), found


@pytest.mark.parametrize(("limit", "holds"), [("0.001", False), ("0.01", True)])
def test_ageing_is_judged_by_the_cycles_of_the_executed_plan(
    tmp_path: Path, limit: str, holds: bool
) -> None:
    # 50 cycles of full depth of 4000 use 1/80 of the life, a loss of 0.2/80 = 0.0025.
    cycle = np.tile([10.0, 0.0], 50)
    found, _ = plan(tmp_path, "aged", {"charge": cycle, "discharge": np.roll(cycle, 1)}, CAP=limit)
    assert found == (set() if holds else {"above:u.capacity_loss"})


@pytest.mark.parametrize(
    ("series", "faults"),
    [
        ({"power": [10, 6]}, set()),  # implicit
        ({"power": [10, 6], "curtailed": [0, 4]}, set()),  # explicit
        ({"curtailed": [0, 4]}, set()),  # explicit alone
        ({"power": [10, 6], "curtailed": [0, 3]}, {"output:u.curtailed"}),  # inconsistent
        ({"power": [10, 6], "curtailed": [1, 4]}, {"output:u.curtailed"}),
        ({"power": [11, 6]}, {"limit:u.power", "sign:u.curtailed"}),
    ],
)
def test_curtailment_may_be_explicit_or_implicit_but_has_to_add_up(
    tmp_path: Path, series: dict[str, Any], faults: set[str]
) -> None:
    found, _ = plan(tmp_path, "generator_profile", series)
    assert found == faults


def test_a_unit_that_has_to_deliver_all_may_not_curtail(tmp_path: Path) -> None:
    found, _ = plan(tmp_path, "generator_profile", {"power": [10, 6]}, more="curtailable: 0")
    assert found == {"all:u"}


def test_a_battery_without_terminal_condition_is_no_infeasible_one(tmp_path: Path) -> None:
    found, right = plan(tmp_path, "battery", {"charge": [0, 0], "discharge": [10, 0]})
    assert right
    assert found == set()


def test_units_alike_are_counted(tmp_path: Path) -> None:
    series = {"power": [0, 120, 200, 60, 0], "on": [0, 2, 2, 1, 0]}
    text = PARAMETERS["genset"].replace(", ramp_up: 50", "").replace("hours: 3", "hours: 2")
    dynamics = f"  - {{name: u, model: genset, index: T, parameters: {{{text}, count: 2}}}}\n"
    columns = {f"u.{word}": data for word, data in series.items()}
    assert passes(executed(tmp_path, dynamics, columns))
    columns["u.on"] = [0, 2, 1, 1, 0]  # one of two stops after an hour, and 200 kW need both
    assert broken(executed(tmp_path, dynamics, columns)) == {"capacity:u.power", "times:u.up"}
