"""Plant files: one declarative statement of a site, as YAML."""

from engiagent.problems import Problem
from engiagent.readings.reading import Reading


def read_plant(problem: Problem) -> Reading | None:
    """Return what the plant block of a problem states; None where it has none."""
    return None
