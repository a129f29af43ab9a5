"""Spinning reserve: what the units that run could give beyond what they give."""

from engiagent.agents.offline.draft import Reading
from engiagent.agents.offline.plant.system import CAPACITY, STORES, System

_UNITS = ("genset", "chp")


def add_reserve(system: System) -> None:
    """Require what one sentence asks of the reserve: a power, shares of the load, sun or wind."""
    draft = system.builder.draft
    asked = [r for r in draft.readings if r.slot.options.get("reserve")]
    if not asked:
        return
    line = asked[0].line
    if len({r.line for r in asked}) > 1:
        draft.doubt(line, "the reserve is asked for in several sentences")
    plant = system.reader.plant
    stores = [i for i in plant.instances if i.unit.component in STORES]
    if any(str(i.unit.card.get("carrier", "electricity")) == "electricity" for i in stores):
        draft.doubt(line, "whether the battery counts as reserve is not said")
    parts = [text for text in (_part(system, reading) for reading in asked) if text is not None]
    margins = []
    for instance in (i for c in _UNITS for i in plant.of(c)):
        name = instance.name
        most = system.builder.at(system.filled[name]["power_max"])
        on = f"{name}_on"
        switched = any(v["name"] == on for v in system.builder.variables)
        margins.append(f"{most}*{on}[t]" if switched else most)
        margins.append(f"-{name}_power[t]")
    if not margins:
        draft.refuse(line, "no unit that could hold a reserve")
        return
    left = " + ".join(margins).replace("+ -", "- ")
    system.row("spinning reserve", f"{left} >= {' + '.join(parts)}", CAPACITY, line)


def add_contingency(system: System) -> None:
    """Require that the other units that run could carry the load when one of them trips."""
    draft, plant = system.builder.draft, system.reader.plant
    lines = system.reader.facts.get("n_minus_1", [])
    if not lines:
        return
    units = [i for c in _UNITS for i in plant.of(c)]
    loads = plant.of("load")
    others = [i for i in plant.instances
              if i.unit.component in (*STORES, "grid", "pv", "wind", "chp")]  # fmt: skip
    if others or len(units) < 2 or not loads:
        draft.doubt(lines[0], "what else could carry the load when a unit trips?")
        return
    wanted = " + ".join(system.builder.at(system.filled[i.name]["power"]) for i in loads)
    names = {v["name"] for v in system.builder.variables}
    for lost in units:
        left = []
        for unit in units:
            if unit.name != lost.name:
                most = system.builder.at(system.filled[unit.name]["power_max"])
                on = f"{unit.name}_on"
                left.append(f"{most}*{on}[t]" if on in names else most)
        system.row(f"load without {lost.name}", f"{' + '.join(left)} >= {wanted}", CAPACITY,
                   lines[0])  # fmt: skip


def _part(system: System, reading: Reading) -> str | None:
    """Return one summand of the reserve; report it where what it is a share of is not clear."""
    builder, slot, plant = system.builder, reading.slot, system.reader.plant
    made = builder.at(builder.value(slot.name, reading.value, slot.said))
    words = set(reading.words.split())
    if slot.name == "reserve_power":
        return made
    if slot.name == "reserve_of_load":
        return " + ".join(f"{made}*{builder.at(system.filled[i.name]['power'])}"
                          for i in plant.of("load"))  # fmt: skip
    sources = plant.of(slot.name.removeprefix("reserve_of_"))
    if "used" in words and sources:
        return " + ".join(f"{made}*{i.name}_power[t]" for i in sources)
    if "available" in words and sources:
        return " + ".join(f"{made}*{builder.at(system.filled[i.name]['available_power'])}"
                          for i in sources)  # fmt: skip
    builder.draft.doubt(reading.line, "a share of what is available, or of what is used?")
    return None
