"""Electric vehicles: batteries on wheels, that may be there for a part of the horizon only."""

from engiagent.agents.offline.plant.system import System, lacking
from engiagent.agents.offline.plant.units import Instance


def park(system: System, instance: Instance) -> None:
    """Fill what a vehicle gives back: nothing, unless the text says that its charger can."""
    filled, name = system.filled[instance.name], instance.name
    draft = system.builder.draft
    if not _gives_back(system):
        filled["discharge_power_max"] = "0[kW]"
        filled["discharge_efficiency"] = "1"
        draft.assume(f"{name}: it is charged, and gives nothing back")
        return
    filled.setdefault("discharge_power_max", filled["charge_power_max"])
    if "discharge_efficiency" not in filled:
        filled["discharge_efficiency"] = lacking(system, instance, "discharge_efficiency")


def _gives_back(system: System) -> bool:
    """Whether vehicles, or their chargers, are said to work in both directions."""
    reader, draft = system.reader, system.builder.draft
    told: dict[bool, int] = {}
    for n, line in enumerate(draft.lines):
        said = reader.marked(n).said()
        both = "twoway" in said or ("@vehicle" in said and said & {"eachway", "discharge"})
        if both and not line.sentence.is_heading:
            told.setdefault("not" not in said, n)
    if len(told) == 2:
        draft.doubt(told[False], "may vehicles give back, or may they not?")
    return True in told
