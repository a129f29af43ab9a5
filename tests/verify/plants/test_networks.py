"""Networks of heat, zones of ISO 13790, emitters, machines that stand by: faults are caught."""

from math import exp
from pathlib import Path
from typing import Any

import pytest

from tests.verify.plants.yard import broken, executed, passes
from tests.written import mapping

BOX = """  - name: u
    model: rc_network
    index: T
    connections:
      nodes: {mass: {capacity: 2, initial_temperature: 20}}
      links: {out: {one: ambient, other: mass, conductance: 0.5}}
      boundaries: {ambient: 10}
      heated: {mass: 6}
"""
ZONE = """  - name: u
    model: zone_5r1c
    index: T
    parameters: {mass_capacity: 5, mass_area: 250, surface_area: 450, window_conductance: 0.03,
      opaque_conductance: 0.05, ventilation: 0.04, ambient_temperature: 20, initial_temperature: 20,
      temperature_min: 19, heating_power_max: 4}
"""
EMITTER = """  - name: u
    model: emitter
    index: T
    parameters: {power_max: 5}
    connections: {heat_bus: warm, zone: room}
  - name: room
    model: thermal_zone
    index: T
    parameters: {capacitance: 2, resistance: 2, initial_temperature: 20, ambient_temperature: 10}
"""
PUMPS = """  - name: u
    model: heat_pump
    index: T
    parameters: {rated_capacity: 4, count: 3, cop: 4, standby_power: 0.1}
"""


def box(heat: float) -> list[float]:
    """Return the temperatures of the box over two hours: 1/4 of the distance decays by the hour."""
    temperatures, end = [20.0], 10.0 + heat / 0.5
    for _ in range(2):
        temperatures.append(end + (temperatures[-1] - end) * exp(-0.25))
    return temperatures


AIR = """  - name: u
    model: air_handler
    index: T
    parameters: {rated_flow: 2, rated_power: 1.6, outdoor_temperature: 10, cooling_power_max: 4,
      outdoor_share_max: 0.5, supply_temperature_min: 14, supply_temperature_max: 24}
    connections: {cooling_bus: cold, zone: room}
  - name: room
    model: thermal_zone
    index: T
    parameters: {capacitance: 2, resistance: 2, initial_temperature: 20,
      ambient_temperature: 22.012}
"""
# Half of the flow takes 1.006 kW away by 1 K of difference, and an eighth of the fan's power.
BLOWN = mapping("""
    {u.flow: [1, 1], u.outdoor_share: [0, 0], u.supply_temperature: [19, 19],
      u.cooling_coil: [1.006, 1.006], room.temperature: [20, 20, 20]}
""")


BOXES = """  - name: u
    model: air_handler
    index: T
    parameters: {rated_flow: 2, rated_power: 1.6, outdoor_temperature: 10, cooling_power_max: 4,
      outdoor_share_max: 0.5, supply_temperature_min: 14, supply_temperature_max: 24}
    connections: {cooling_bus: cold}
  - name: a
    model: vav_box
    index: T
    parameters: {flow_max: 1, reheat_max: 3, discharge_temperature_max: 30}
    connections: {air_handler: u, zone: warm, heat_bus: heat}
  - name: b
    model: vav_box
    index: T
    parameters: {flow_min: 0.2, flow_max: 1}
    connections: {air_handler: u, zone: room}
  - name: warm
    model: thermal_zone
    index: T
    parameters: {capacitance: 2, resistance: 2, initial_temperature: 20,
      ambient_temperature: 20}
  - name: room
    model: thermal_zone
    index: T
    parameters: {capacitance: 2, resistance: 2, initial_temperature: 20,
      ambient_temperature: 21.006}
"""
# Both get half a kilogram at 19 degC; what this takes from the first, its coil gives back.
SHARED = mapping("""
    {u.flow: [1, 1], u.outdoor_share: [0, 0], u.supply_temperature: [19, 19],
      u.cooling_coil: [1.006, 1.006], a.flow: [0.5, 0.5], a.reheat: [0.503, 0.503],
      b.flow: [0.5, 0.5], b.reheat: [0, 0], warm.temperature: [20, 20, 20],
      room.temperature: [20, 20, 20]}
""")


CASES: list[tuple[str, dict[str, Any], str]] = [
    (BOX, {"u.heating": [5, 5], "u.mass.temperature": box(5.0)}, ""),
    (BOX, {"u.heating": [3, 3], "u.mass.temperature": box(3.0)}, ""),
    (BOX, {"u.heating": [3, 3], "u.mass.temperature": box(3.1)}, "drift:u.mass.temperature"),
    (BOX, {"u.heating": [7, 3]}, "limit:u.heating_mass"),
    (BOX, {"u.heating": [-1, 3]}, "sign:u.heating_mass"),
    # Everything at 20 °C stays there without heat.
    (
        ZONE,
        {
            "u.heating": [0, 0],
            "u.mass.temperature": [20, 20, 20],
            "u.air.mean_temperature": [20, 20],
        },
        "",
    ),
    (ZONE, {"u.heating": [0, 0], "u.air.mean_temperature": [20, 21]}, "output:u.air.mean_temp"),
    (ZONE, {"u.heating": [5, 0]}, "limit:u.heating"),
    (
        ZONE.replace("temperature: 20, initial", "temperature: 0, initial"),
        {"u.heating": [0, 0]},
        "below:u.air.mean_temperature",
    ),
    (EMITTER, {"u.heat": [5, 5], "room.temperature": [20, 20, 20]}, ""),
    (EMITTER, {"u.heat": [6, 5]}, "limit:u.heat"),
    (EMITTER, {"u.heat": [-1, 5]}, "sign:u.heat"),
    (EMITTER, {"u.heat": [2, 5], "room.temperature": [20, 20, 20]}, "drift:zone.room.temperature"),
    (AIR, {**BLOWN, "u.cooling": [1.006, 1.006], "u.electric_power": [0.2, 0.2]}, ""),
    (AIR, {**BLOWN, "u.cooling_coil": [0, 1.006]}, "coils:u"),
    (AIR, {**BLOWN, "u.flow": [3, 1]}, "limit:u.flow"),
    (AIR, {**BLOWN, "u.outdoor_share": [0.6, 0]}, "limit:u.outdoor_share"),
    (AIR, {**BLOWN, "u.supply_temperature": [13, 19]}, "least:u.supply_temperature"),
    (AIR, {**BLOWN, "u.electric_power": [0.1, 0.2]}, "output:u.electric_power"),
    (AIR, {**BLOWN, "u.flow": [2, 1], "u.cooling_coil": [2.012, 1.006]}, "drift:zone.room"),
    (BOXES, {**SHARED, "a.cooling": [0, 0], "b.cooling": [0.503, 0.503]}, ""),
    (BOXES, {**SHARED, "u.cooling_coil": [0.5, 1.006]}, "coils:u"),
    (BOXES, {**SHARED, "u.flow": [1.1, 1]}, "flows:u"),
    (BOXES, {**SHARED, "b.flow": [0.1, 0.5]}, "least:b.flow"),
    (BOXES, {**SHARED, "a.reheat": [4, 0.503]}, "limit:a.reheat"),
    (BOXES, {**SHARED, "a.reheat": [0, 0.503]}, "drift:zone.warm"),
    (BOXES, {**SHARED, "b.reheat": [0.1, 0]}, "limit:b.reheat"),
    # 0.5 kg/s of 19 degC are behind a coil of 5.6 kW warmer than 30 degC.
    (
        BOXES.replace("reheat_max: 3", "reheat_max: 9"),
        {**SHARED, "a.reheat": [5.6, 0.503]},
        "limit:a.reheat",
    ),
    # 0.3 kW stand by, however many run.
    (PUMPS, {"u.heat": [8, 4, 0], "u.on": [2, 1, 0], "u.electric_power": [2.3, 1.3, 0.3]}, ""),
    (
        PUMPS,
        {"u.heat": [8, 4, 0], "u.on": [2, 1, 0], "u.electric_power": [2.1, 1.1, 0.1]},
        "output:u.electric_power",
    ),
]


@pytest.mark.parametrize(("dynamics", "schedule", "check"), CASES)
def test_a_plan_is_judged_by_the_physics_of_its_units(
    tmp_path: Path, dynamics: str, schedule: dict[str, Any], check: str
) -> None:
    certificate = executed(tmp_path, dynamics, schedule)
    found = broken(certificate)
    if check:
        assert any(name.startswith(check) for name in found), found
    else:
        assert found == set()
        assert passes(certificate)
