"""Columns of a plant with several rooms: which room a series of heat gains is of."""

import re
from collections.abc import Sequence

from engiagent.agents.offline.amounts import kind_of
from engiagent.agents.offline.draft import Draft, Value
from engiagent.agents.offline.grids import Column
from engiagent.agents.offline.owners import topic
from engiagent.agents.offline.plant.language.reading import score_of
from engiagent.agents.offline.plant.language.words import Marked
from engiagent.agents.offline.plant.spaces.nodes import column_zone
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.series import bare_name

_OTHERS = frozenset(
    {"demand", "import", "export", "price", "not", "limit", "most", "least", "load"}
)


def zone_place(
    draft: Draft, plant: Plant, column: Column, unit: str, said: Sequence[Marked]
) -> tuple[Instance, str] | None:
    """Return the room and the slot of a column where a plant has several rooms.

    ``said`` are the texts that may say what the column is, its name first. The room is the one
    that the name of the column begins with, or the one that is spoken of where the column is named.
    """
    zones = plant.of("zone")
    if len(zones) < 2 or not unit:
        return None
    zone = column_zone(plant, column.name)
    slot = _slot(zones[0], unit, said, named=zone is not None)
    if slot is None:
        return None
    zone = zone or _spoken(draft, zones, column.name)
    return None if zone is None else (zone, slot)


_ROOF = re.compile(
    r"(?:roofs?|panels?|pv|photovoltaics?|solar [a-z]+|inverters?) (?:offers?|yields?|gives?"
    r"|delivers?|makes?|supplies) what the (?:table|file|column|list) (?:says|shows|gives|lists)"
)
_SUN = re.compile(r"(?<![a-z])(?:sun|solar|pv|roof)(?![a-z])")


def take_roof(draft: Draft, plant: Plant, columns: Sequence[Column]) -> list[Column]:
    """Return the columns without that of the sun where the text says that the roof offers it.

    Without these words a column of sun may as well be what comes through the windows.
    """
    sources = plant.of("pv")
    told = any(_ROOF.search(line.line) for line in draft.lines if not line.sentence.is_heading)
    suns = [
        c for c in columns
        if c.unit and kind_of(c.unit) == "power" and _SUN.search(c.name.lower())
    ]  # fmt: skip
    if not told or len(sources) != 1 or len(suns) != 1:
        return list(columns)
    sun = suns[0]
    value = Value(sun.unit, sun.source, numbers=sun.numbers, data=sun.data)
    draft.series[sources[0].name, "available_power"] = value
    return [c for c in columns if c is not sun]


def _slot(zone: Instance, unit: str, said: Sequence[Marked], named: bool) -> str | None:
    card, kind = zone.unit, kind_of(unit)
    for k, text in enumerate(said):
        concepts = frozenset(c for c in text.said() if not c.startswith("@")) - {"each", "must"}
        for name, slot in card.slots.items():
            if not slot.options.get("series") or kind not in slot.kinds:
                continue
            says = card.says[name]
            if score_of(card.component, says.needs, says.may, concepts, "value"):
                return name if name != "ambient_temperature" else None
        # What a text says of all columns of a file is more than what it says of this one.
        if k and named and kind == "power" and "gain" in concepts and not concepts & _OTHERS:
            return "gains"
    return None


def _spoken(draft: Draft, zones: Sequence[Instance], name: str) -> Instance | None:
    """Return the room that is spoken of where a column is named."""
    finders = {z.name: z.finder for z in zones}
    for n, line in enumerate(draft.lines):
        for i, token in enumerate(line.tokens):
            if token.kind == "code" and token.text in (name, bare_name(name)):
                about = topic(draft.lines, n, line.starts[i], finders)
                return next((z for z in zones if z.name == about), None)
    return None
