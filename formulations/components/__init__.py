"""Physical units as an optimiser sees them: one file for each, one table that names them all."""

from typing import Final

from engiagent.formulations.components import (
    battery,
    boiler,
    chiller,
    chp,
    cooler,
    extraction_chp,
    fan,
    generator_profile,
    genset,
    grid,
    heat_pump,
    heater,
    hot_water_tank,
    ice_tank,
    load,
    pump,
    pv,
    tank,
    thermal_store,
    thermal_zone,
    two_zone_tank,
    wind_turbine,
)
from engiagent.formulations.components.description import Builder, Model

MODELS: Final[dict[str, Model]] = {
    "battery": battery.MODEL,
    "boiler": boiler.MODEL,
    "chiller": chiller.MODEL,
    "chp": chp.MODEL,
    "cooler": cooler.MODEL,
    "extraction_chp": extraction_chp.MODEL,
    "fan": fan.MODEL,
    "generator_profile": generator_profile.MODEL,
    "genset": genset.MODEL,
    "grid": grid.MODEL,
    "heat_pump": heat_pump.MODEL,
    "heater": heater.MODEL,
    "hot_water_tank": hot_water_tank.MODEL,
    "ice_tank": ice_tank.MODEL,
    "load": load.MODEL,
    "pump": pump.MODEL,
    "pv": pv.MODEL,
    "tank": tank.MODEL,
    "thermal_store": thermal_store.MODEL,
    "thermal_zone": thermal_zone.MODEL,
    "two_zone_tank": two_zone_tank.MODEL,
    "wind_turbine": wind_turbine.MODEL,
}

BUILDERS: Final[dict[str, Builder]] = {name: model.fragment for name, model in MODELS.items()}
