"""Physical units as an optimiser sees them: one file for each, one table that names them all."""

from collections.abc import Callable
from typing import Final

from engiagent.blueprint.document import ComponentDef
from engiagent.formulations.components import (
    battery,
    cooler,
    generator_profile,
    grid,
    heater,
    load,
    thermal_zone,
)
from engiagent.formulations.components.fragment import Fragment, Surroundings

Builder = Callable[[ComponentDef, Surroundings], Fragment]

BUILDERS: Final[dict[str, Builder]] = {
    "battery": battery.fragment,
    "cooler": cooler.fragment,
    "generator_profile": generator_profile.fragment,
    "grid": grid.fragment,
    "heater": heater.fragment,
    "load": load.fragment,
    "thermal_zone": thermal_zone.fragment,
}
