"""What executing a plan means, unit by unit: one registry, one file for each family of units."""

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Final

from engiagent.errors import EngiagentError
from engiagent.verify.plants.entry import Entry

MODELS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "air_handler": "air",
        "battery": "batteries",
        "boiler": "heating",
        "chiller": "cooling",
        "chp": "cogeneration",
        "cooler": "converters",
        "cooling_tower": "cooling",
        "curtailable_load": "loads",
        "demand_response": "loads",
        "emitter": "emitters",
        "ev": "vehicles",
        "extraction_chp": "cogeneration",
        "fan": "machines",
        "feeder": "feeders",
        "generator_profile": "generation",
        "genset": "gensets",
        "grid": "terminals",
        "heat_pump": "heating",
        "heater": "converters",
        "hot_water_tank": "tanks",
        "ice_tank": "stores",
        "job": "loads",
        "load": "terminals",
        "pump": "machines",
        "pv": "generation",
        "rc_network": "networks",
        "shiftable_load": "loads",
        "stratified_tank": "stratified",
        "tank": "tanks",
        "thermal_store": "stores",
        "thermal_zone": "zones",
        "two_zone_tank": "tanks",
        "vav_box": "air",
        "wind_turbine": "generation",
        "zone_5r1c": "networks",
    }
)
"""By model the file of its family, which is read only when a problem has such a unit."""


@cache
def entry_of(model: str) -> Entry:
    """Return what the checker knows of a model of units.

    Raises
    ------
    EngiagentError
        For a model that is not known.
    """
    if model not in MODELS:
        raise EngiagentError(
            f"the checker knows no model {model!r}; it knows {', '.join(sorted(MODELS))}"
        )
    module = import_module(f"engiagent.verify.plants.{MODELS[model]}")
    found: Entry = module.ENTRIES[model]
    return found
