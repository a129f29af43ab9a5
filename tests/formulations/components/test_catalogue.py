"""The page on components and the table of models: both say what the code does."""

import re
from pathlib import Path
from typing import Any

import pytest

from engiagent.blueprint.analysis import analyse
from engiagent.errors import EngiagentError
from engiagent.formulations.components import MODELS
from engiagent.formulations.expansion import expand
from engiagent.plant.site import Site
from engiagent.slots.page import page
from engiagent.units.unit import parse_unit

PAGE = Path(__file__).parents[3] / "docs" / "components.md"

SESSIONS = {"arrival": "(0)", "departure": "(2)", "arrival_energy": "(1)"}
STARTS = {"minimum_up_hours": 2, "minimum_down_hours": 2, "start_cost": 1}
TANK = {"mass": 100, "loss_conductance": 0.01}
LEVELS = {"part_load": "(0.2, 1)", "part_load_power": "(0.3, 1)"}
FULL: dict[str, dict[str, Any]] = {
    "air_handler": {
        "zone": "hall",
        "rated_flow": 2,
        "rated_power": 1,
        "outdoor_temperature": 10,
        "supply_temperature_min": 14,
        "supply_temperature_max": 30,
        "heating_power_max": 9,
        "cooling_power_max": 9,
    },
    "battery": {
        "energy_capacity": 5,
        "initial_energy": 2,
        "charge_power_max": 3,
        "discharge_power_max": 3,
        "exclusive_on": "T",
        "proportional_loss": 0.01,
        "wear_cost": 0.1,
        "reserve_up_max": 1,
        "reserve_down_max": 1,
        "daily_cycles_max": 1,
    },
    "boiler": {"rated_capacity": 9, "rated_efficiency": 0.9, "count": 2, **LEVELS, **STARTS},
    "chiller": {"rated_capacity": 9, "rated_cop": 4, "count": 2, **LEVELS, **STARTS},
    "chp": {
        "rated_power": 9,
        "load": "(0.5, 1)",
        "electric_efficiency": "(0.3, 0.35)",
        "thermal_efficiency": "(0.5, 0.5)",
        "dump": True,
        **STARTS,
    },
    "cooler": {},
    "heater": {},
    "cooling_tower": {"rated_water_flow": 20, "rated_fan_power": 15, "wet_bulb_temperature": 20},
    "emitter": {"power_max": 3},
    "curtailable_load": {"power": 3, "lost_load_value": 3},
    "demand_response": {"grid": "grid", "event": [0, 1, 0], "baseline": 5, "reward": 1},
    "ev": {
        "energy_capacity": 5,
        "charge_power_max": 3,
        "discharge_power_max": 3,
        **SESSIONS,
        "soft": True,
    },
    "extraction_chp": {
        "condensing_power_max": 9,
        "condensing_power_min": 3,
        "power_loss": 0.1,
        "power_to_heat": 0.5,
        "fuel_slope": 2.5,
        **STARTS,
    },
    "fan": {"rated_flow": 9, "rated_power": 2, "minimum_flow": 0.2, "count": 2, "segments": 3},
    "feeder": {
        "source": "a",
        "buses": {"a": 0.4, "b": 0.4},
        "scheme": "socp",
        "lines": {"L": {"from": "a", "to": "b", "resistance": 0.1, "reactance": 0.1}},
    },
    "generator_profile": {"available_power": 3},
    "genset": {
        "rated_power": 9,
        "fuel_slope": 0.3,
        "reserve_max": 3,
        "emission_factor": 2.6,
        "ramp_up": 3,
        **STARTS,
    },
    "grid": {
        "import_power_max": 9,
        "export_power_max": 9,
        "import_price": 0.2,
        "export_price": 0.1,
    },
    "heat_pump": {"rated_capacity": 9, "cop": 3, "count": 2, **LEVELS, **STARTS},
    "hot_water_tank": {
        **TANK,
        "initial_temperature": 50,
        "use": 0.001,
        "use_temperature": 40,
        "soft": True,
    },
    "ice_tank": {
        "energy_capacity": 9,
        "initial_energy": 2,
        "charge_limit_share": "(0, 1)",
        "charge_limit": "(3, 1)",
    },
    "job": {"power": 2, "duration": "2 h"},
    "load": {"power": 3},
    "pump": {"rated_flow": 9, "rated_power": 2, "minimum_flow": 0.2, "count": 2, "segments": 3},
    "pv": {"dc_capacity": 5, "irradiance": 500, "air_temperature": 20},
    "rc_network": {
        "nodes": {"b": {"capacity": 2, "initial_temperature": 20}},
        "links": {"L": {"one": "b", "other": "out", "conductance": 0.1}},
        "boundaries": {"out": 5},
        "heated": {"b": 5},
        "cooled": {"b": 5},
        "comfort": {"b": {"low": 19}},
        "soft": True,
    },
    "shiftable_load": {"power": 3, "shift_up_max": 1, "shift_down_max": 1},
    "tank": {**TANK, "initial_temperature": 50},
    "thermal_store": {"energy_capacity": 9, "initial_energy": 2},
    "thermal_zone": {
        "capacitance": 2,
        "initial_temperature": 20,
        "heating_power_max": 3,
        "cooling_power_max": 3,
    },
    "two_zone_tank": {
        **TANK,
        "hot_temperature": 60,
        "cold_temperature": 30,
        "initial_fraction": 0.5,
    },
    "vav_box": {
        "air_handler": "ahu",
        "zone": "hall",
        "flow_min": 0.2,
        "flow_max": 1,
        "reheat_max": 5,
        "discharge_temperature_max": 32,
    },
    "wind_turbine": {"speeds": "(3, 12)", "powers": "(0, 9)", "wind_speed": 5},
    "zone_5r1c": {
        "mass_capacity": 4,
        "mass_area": 250,
        "surface_area": 450,
        "window_conductance": 0.02,
        "opaque_conductance": 0.05,
        "ventilation": 0.04,
        "ambient_temperature": 5,
        "initial_temperature": 20,
        "temperature_min": 19,
        "cooling_power_max": 5,
        "soft": True,
    },
}


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), (
        "run python -m engiagent.slots.page > docs/components.md"
    )


def test_the_python_of_the_page_runs() -> None:
    blocks = re.findall(r"```python\n(.*?)```", page(), re.DOTALL)
    assert blocks
    for block in blocks:
        scope: dict[str, Any] = {}
        exec(compile(block, "components.md", "exec"), scope)
        assert scope["solution"].attrs["status"] == "optimal"


def test_every_model_has_an_instance_here() -> None:
    assert set(FULL) == set(MODELS)


@pytest.mark.parametrize("model", sorted(MODELS))
def test_a_full_instance_has_the_quantities_of_the_page_and_no_finding(model: str) -> None:
    site = Site(start="2025-01-01T00:00", step="1 h", periods=3)
    if model == "demand_response":
        site.add("grid", "grid")
    if model in ("air_handler", "vav_box"):
        site.add("hall", "thermal_zone", capacitance=2, initial_temperature=20)
    if model == "vav_box":
        site.add("ahu", "air_handler", **(FULL["air_handler"] | {"zone": None}))
    if model == "feeder":
        site.add("grid", "grid", bus="a", import_power_max=9)
        site.add("load", "load", bus="b", power=1)
    site.add("unit", model, **FULL[model])
    document = expand(site.blueprint())
    errors = [d for d in analyse(document, None).diagnostics if d.severity == "error"]
    assert not errors, errors
    core = document.core
    owner = "zone.unit." if model == "thermal_zone" else "unit."
    declared = {series: q.unit for series, q in MODELS[model].quantities.items()}
    if model == "emitter":  # on a bus of cold it has the other one
        declared.pop("cooling")
    pairs = [(v.quantity, v.unit) for v in core.decision_variables]
    pairs += [(e.quantity, e.unit) for e in core.expressions]
    # A feeder has a voltage by bus, a network its powers by node.
    pairs = [(q and re.sub(r"\.[ab]\.", ".<bus>.", q), u) for q, u in pairs]
    pairs = [(q and re.sub(r"([._])b$", r"\1<node>", q), u) for q, u in pairs]
    found = {q.removeprefix(owner): u for q, u in pairs if q is not None and q.startswith(owner)}
    for series, unit in found.items():
        assert series in declared, f"{model}.{series} is not on the page"
        assert parse_unit(unit or "1").dimension == parse_unit(declared[series]).dimension
    assert set(declared) <= set(found), f"not built: {set(declared) - set(found)}"


@pytest.mark.parametrize("model", sorted(MODELS))
def test_every_model_names_what_it_needs_and_what_it_does_not_know(model: str) -> None:
    required = [name for name, slot in MODELS[model].slots.items() if slot.required]
    site = Site(start="2025-01-01T00:00", step="1 h", periods=3)
    site.add("unit", model)
    if required:
        with pytest.raises(EngiagentError, match=f"unit.*the parameter {required[0]} is not given"):
            expand(site.blueprint())
    with pytest.raises(EngiagentError, match="unknown slot 'colour'"):
        site.add("other", model, colour="red")


@pytest.mark.parametrize("model", sorted(MODELS))
def test_no_slot_takes_what_is_no_number_or_of_another_dimension(model: str) -> None:
    for name, slot in MODELS[model].slots.items():
        not_finite = rf'parameters\.{name} "unit": a number that is not finite'
        of_money = rf"unit \({model}\): {name}.*USD"
        for bad, words in ((float("nan"), not_finite), ("3[USD]", of_money)):
            if isinstance(bad, float) and slot.table:
                continue
            site = Site(start="2025-01-01T00:00", step="1 h", periods=3)
            given: dict[str, Any] = {**FULL[model], name: bad}
            site.add("unit", model, **given)
            with pytest.raises(EngiagentError, match=words):
                expand(site.blueprint())
