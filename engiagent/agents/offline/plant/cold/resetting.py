"""The choice of the temperature of condenser water in a blueprint."""

from collections.abc import Sequence
from dataclasses import replace

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.plant.cold.reset import Reset
from engiagent.agents.offline.plant.language.reading import plain_text
from engiagent.agents.offline.plant.system import CAPACITY, System, weather_series
from engiagent.agents.offline.plant.units import Instance, Plant, pattern_of


def with_load(plant: Plant, reset: Reset | None) -> Plant:
    """Return the plant with the load in place of the chiller that serves it."""
    if reset is None:
        return plant
    kept = tuple(i for i in plant.instances if i.unit.component not in ("chiller", "cooling_load"))
    unit = plant.units["cooling_load"]
    load = Instance("cooling_load", unit, pattern_of(unit.nouns))
    return replace(plant, instances=(*kept, load))


def load_column(columns: Sequence[Column], reset: Reset | None) -> dict[str, tuple[str, str]]:
    """Return the one column of a load, which is that of the chiller."""
    loads = [c.name for c in columns if c.unit and kind_of(c.unit) == "power"
             and {"load", "demand"} & set(plain_text(c.name).split())]  # fmt: skip
    one = reset is not None and len(loads) == 1
    return {loads[0]: ("cooling_load", "cooling")} if one else {}


def add_reset(system: System) -> None:
    """Add temperature, speed, what they cost, and what the tower can do."""
    reset = system.reader.reset
    if reset is None:
        return
    builder, draft = system.builder, system.builder.draft
    if {i.unit.component for i in system.reader.plant.instances} - {"grid", "cooling_load"}:
        draft.doubt(reset.lines[0], "condenser water beside other units")
    wet = weather_series(system, "wet_bulb")
    if wet is None:
        draft.doubt(reset.lines[2], "the wet bulb temperature is not given")
        return
    said = {
        "base": "power per cold", "at": "temperature of that", "slope": "more power per degree",
        "low": "coldest water", "high": "warmest water", "approach": "approach at full speed",
        "load": "load of that approach", "fan": "power of the fan at full speed",
        "slowest": "least speed of the fan", "fastest": "largest speed of the fan",
    }  # fmt: skip
    made = {key: builder.value(f"reset_{key}", getattr(reset, key), text)
            for key, text in said.items()}  # fmt: skip
    for name, low, high, unit, quantity in (
        ("water", "low", "high", reset.low.unit, "condenser.water_temperature"),
        ("speed", "slowest", "fastest", "1", "tower.speed"),
    ):
        builder.variables.append(
            {"name": name, "index": ["t in T"], "type": "continuous", "lower": made[low],
             "upper": made[high], "unit": unit, "quantity": quantity, "role": "decision",
             "description": quantity.replace(".", " ").replace("_", " ")}
        )  # fmt: skip
    load = builder.at(system.filled["cooling_load"]["cooling"])
    system.demands.pop("cooling", None)  # the chiller makes what is needed
    above = f"(water[t] - {made['at']})/1[{reset.degree}]"
    chiller = f"{load}*({made['base']} + {made['slope']}*{above})"
    system.demand("electricity", f"{chiller} + {made['fan']}*speed[t]**3")
    system.curved.append("tower")
    system.row(
        "what the tower can do",
        f"speed[t] >= {made['approach']}*{load}/{made['load']}/(water[t] - {wet}[t])", CAPACITY,
        reset.lines[2],
    )  # fmt: skip
