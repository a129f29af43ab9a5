"""Plans that formulations make are accepted when the checker executes them, model by model."""

from pathlib import Path
from typing import Any

import pytest

from engiagent.io.plainyaml import loads_yaml
from engiagent.plant.site import Site
from engiagent.run.certify import certify
from tests.formulations.components.plans import plan_of

SITES: dict[str, dict[str, dict[str, Any]]] = loads_yaml(
    """
battery:
  u: {model: battery, bus: site, energy_capacity: 20, initial_energy: 5, charge_power_max: 5,
      discharge_power_max: 5, charge_efficiency: 0.9, self_discharge: 0.01}
heat pump and tank:
  u: {model: heat_pump, bus: site, heat_bus: warm, rated_capacity: 20, carnot_fraction: 0.4,
      source_temperature: [0, -5, 5, 2], sink_temperature: 40}
  tank: {model: tank, heat_bus: warm, mass: 1000, loss_conductance: 0.002,
      initial_temperature: 45, temperature_max: 60, temperature_min: 40}
  heat: {model: load, bus: warm, power: [8, 6, 4, 2]}
heat pumps alike that stand by:
  u: {model: heat_pump, bus: site, heat_bus: warm, rated_capacity: 4, count: 3, cop: 3,
      standby_power: 0.1, minimum_part_load: 0.5}
  tank: {model: tank, heat_bus: warm, mass: 1000, initial_temperature: 45, temperature_max: 60,
      temperature_min: 40}
  heat: {model: load, bus: warm, power: [8, 6, 4, 2]}
radiator and zone:
  b: {model: heat_pump, bus: site, heat_bus: warm, rated_capacity: 9, cop: 3}
  u: {model: emitter, heat_bus: warm, zone: room, power_max: 6}
  room: {model: thermal_zone, capacitance: 3, resistance: 5, initial_temperature: 20,
      ambient_temperature: [0, 2, 4, 1]}
network of rooms and walls:
  b: {model: heat_pump, bus: site, heat_bus: warm, rated_capacity: 9, cop: 3}
  u: {model: rc_network, heat_bus: warm,
      nodes: {air: {}, wall: {capacity: 4, initial_temperature: 20}},
      links: {out: {one: ambient, other: air, conductance: 0.1},
              in: {one: air, other: wall, conductance: 0.5}},
      boundaries: {ambient: "2[degC]"}, heat: {air: 0.3}, heated: {air: 6},
      comfort: {air: {low: "20[degC]"}}}
zone of ISO 13790:
  b: {model: heat_pump, bus: site, heat_bus: warm, rated_capacity: 9, cop: 3}
  u: {model: zone_5r1c, heat_bus: warm, mass_capacity: 5, mass_area: 250, surface_area: 450,
      window_conductance: 0.03, opaque_conductance: 0.05, ventilation: 0.04,
      ambient_temperature: [0, 2, 4, 1], internal_gains: 0.4, solar_gains: [0, 0.5, 1, 0],
      initial_temperature: 20, temperature_min: 20}
boiler and thermal store:
  u: {model: boiler, fuel_bus: gas, heat_bus: warm, rated_capacity: 20, rated_efficiency: 0.9,
      minimum_part_load: 0.3}
  gas: {model: grid, bus: gas, export_power_max: 0}
  store: {model: thermal_store, heat_bus: warm, energy_capacity: 20, initial_energy: 5,
      self_discharge: 0.01}
  heat: {model: load, bus: warm, power: [8, 6, 4, 2]}
chiller and ice:
  u: {model: chiller, bus: site, cooling_bus: cold, rated_capacity: 20, rated_cop: 4}
  ice: {model: ice_tank, cooling_bus: cold, energy_capacity: 20, initial_energy: 5}
  cold: {model: load, bus: cold, power: [8, 6, 4, 2]}
chiller by chords:
  u: {model: chiller, bus: site, cooling_bus: cold, rated_capacity: 20, rated_cop: 4,
      part_load_curve: "(0.2, 0.3, 0.5)", minimum_part_load: 0.1, segments: 3}
  cold: {model: load, bus: cold, power: [8, 6, 4, 12]}
genset:
  u: {model: genset, bus: site, rated_power: 20, fuel_slope: "0.25[l/kWh]",
      fuel_no_load: "1[l/h]", minimum_load: 0.3, minimum_up_hours: 2, start_fuel: 1}
sun and wind:
  u: {model: pv, bus: site, dc_capacity: 10, irradiance: [0, 300, 800, 100], air_temperature: 20}
  w: {model: wind_turbine, bus: site, speeds: "(3, 12, 25)", powers: "(0, 9, 9)",
      wind_speed: [2, 5, 9, 13]}
vehicle:
  u: {model: ev, bus: site, energy_capacity: 50, charge_power_max: 11, charge_efficiency: 0.9,
      arrival: "1[h]", departure: "4[h]", arrival_energy: "20[kWh]", required_energy: "40[kWh]"}
loads:
  u: {model: curtailable_load, bus: site, power: [3, 3, 3, 3], curtailable_share: 0.2,
      lost_load_value: 0.1}
  s: {model: shiftable_load, bus: site, power: [3, 3, 3, 3], shift_up_max: 2, shift_down_max: 2}
  j: {model: job, bus: site, power: 2, duration: 2}
hot water:
  u: {model: hot_water_tank, heat_bus: warm, mass: 300, initial_temperature: 50,
      use: [0.02, 0, 0.03, 0], use_temperature: 40}
  e: {model: heat_pump, bus: site, heat_bus: warm, rated_capacity: 10, cop: 1}
feeder:
  u: {model: feeder, source: site, buses: {site: 0.4, house: 0.4},
      lines: {c: {from: site, to: house, resistance: 0.16, reactance: 0.05, ampacity: 142}}}
  h: {model: load, bus: house, power: [3, 6, 9, 2]}
two zones:
  u: {model: two_zone_tank, heat_bus: warm, mass: 1000, hot_temperature: 70, cold_temperature: 30,
      initial_fraction: 0.4, loss_conductance: 0.003}
  b: {model: heat_pump, bus: site, heat_bus: warm, rated_capacity: 9, cop: 3}
  heat: {model: load, bus: warm, power: [8, 6, 4, 9]}
""",
    "sites",
)


@pytest.mark.parametrize("name", sorted(SITES))
def test_what_a_formulation_plans_is_what_physics_does(tmp_path: Path, name: str) -> None:
    site = Site(start="2025-07-01T00:00", step="1 h", periods=4)
    site.add("net", "grid", bus="site", import_power_max=100, export_power_max=0)
    site.add("need", "load", bus="site", power=[12, 18, 15, 17])
    for unit, slots in SITES[name].items():
        site.add(unit, **slots)
    prices: dict[str, Any] = {"net": [0.3, 0.1, 0.4, 0.2]}
    if "gas" in SITES[name]:
        prices["gas"] = 0.1
    if name == "radiator and zone":
        site.require("room_temperature[t+1] >= 20[degC]", name="warm enough")
    site.minimise_cost(prices)
    certificate = certify(None, plan_of(site), site.blueprint(), folder=tmp_path, name="site")
    level = certificate.levels["physics"]
    assert level["notes"] == []
    assert [v for v in certificate.violations if v["level"] == "physics"] == []
    assert level["status"] == "pass"
