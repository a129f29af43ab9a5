"""Physical units as an optimiser sees them: one file for each, one table that names them all."""

from typing import Final

from engiagent.formulations.components import (
    battery,
    boiler,
    chiller,
    cooler,
    fan,
    generator_profile,
    grid,
    heat_pump,
    heater,
    hot_water_tank,
    ice_tank,
    load,
    pump,
    tank,
    thermal_store,
    thermal_zone,
    two_zone_tank,
)
from engiagent.formulations.components.description import Builder, Model

MODELS: Final[dict[str, Model]] = {
    "battery": battery.MODEL,
    "boiler": boiler.MODEL,
    "chiller": chiller.MODEL,
    "cooler": cooler.MODEL,
    "fan": fan.MODEL,
    "generator_profile": generator_profile.MODEL,
    "grid": grid.MODEL,
    "heat_pump": heat_pump.MODEL,
    "heater": heater.MODEL,
    "hot_water_tank": hot_water_tank.MODEL,
    "ice_tank": ice_tank.MODEL,
    "load": load.MODEL,
    "pump": pump.MODEL,
    "tank": tank.MODEL,
    "thermal_store": thermal_store.MODEL,
    "thermal_zone": thermal_zone.MODEL,
    "two_zone_tank": two_zone_tank.MODEL,
}

BUILDERS: Final[dict[str, Builder]] = {name: model.fragment for name, model in MODELS.items()}
