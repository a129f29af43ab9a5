"""Plant files: one declarative statement of a site, as YAML."""

from engiagent.plant.reading import read_plant
from engiagent.plant.source import PlantError

__all__ = ["PlantError", "read_plant"]
