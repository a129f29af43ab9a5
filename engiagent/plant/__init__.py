"""Plant files: one declarative statement of a site, as YAML."""

from engiagent.plant.reading import read_plant
from engiagent.plant.source import PlantError
from engiagent.plant.writing import to_yaml

__all__ = ["PlantError", "read_plant", "to_yaml"]
