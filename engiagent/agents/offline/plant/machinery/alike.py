"""Several units that are alike: how many of them run is one whole number."""

import re
from typing import Final

from engiagent.agents.offline.builder import for_owner
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.plant.system import System
from engiagent.agents.offline.plant.units import Instance

_OF_ONE: Final = re.compile(
    r"(?<![a-z])(?:each|every|an?|one|per|apiece|identical|alike|running|its?)(?![a-z])"
)
_UNITWISE: Final = (
    "cooling_max", "power_in_max", "min_power", "no_load_power", "start_cost", "power_max",
    "heat_max",
)  # fmt: skip


def several(system: System, instance: Instance) -> None:
    """Give units that are alike the limits of all of them; report values that may be of all."""
    name, filled = instance.name, system.filled[instance.name]
    builder, draft = system.builder, system.builder.draft
    readings = for_owner(draft, instance.unit.component, name)
    for slot in _UNITWISE:
        for reading in readings.get(slot, ()):
            if not _OF_ONE.search(draft.lines[reading.line].line):
                draft.doubt(max(reading.line, 0), "is this of each of them, or of all together?")
    output = instance.unit.card["output"]
    upper = next(v["upper"] for v in instance.unit.card["variables"] if v["name"] == output)
    single = filled[upper]
    filled["unit_most"] = single
    filled[upper] = builder.derived(
        f"{name}_{upper}_of_all", f"{filled['count']}*{builder.at(single)}", "kW",
        f"{upper.replace('_', ' ')} of all together", [filled["count"], single],
        single in builder.indexed,
    )  # fmt: skip


def whole(system: System, name: str) -> Json:
    """Return the type of a variable that says whether, or how many, units run."""
    if not system.has(name, "count"):
        return {"type": "binary"}
    return {"type": "integer", "lower": 0, "upper": system.filled[name]["count"]}


def before_first(system: System, name: str, running: int | None) -> str:
    """Return how many units run before the first period; ``running`` is the line that says so."""
    if system.has(name, "initial_on"):
        return system.filled[name]["initial_on"]
    if running is None or not system.has(name, "count"):
        return "0" if running is None else "1"
    text = system.builder.draft.lines[running].line
    if re.search(r"(?<![a-z])(?:one|a single)(?! of (?:the|them) or)(?![a-z])", text):
        return "1"
    if re.search(r"(?<![a-z])(?:all|every|each)(?![a-z])", text) is None:
        system.builder.draft.doubt(running, "how many of them run before the first period?")
    return system.filled[name]["count"]
