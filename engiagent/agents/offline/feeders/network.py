"""A radial feeder under construction, and the columns of its lines as parameters."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engiagent.agents.offline.builder import Builder, for_owner, single
from engiagent.agents.offline.draft import Draft, Json, Reading, Value
from engiagent.agents.offline.feeders.sheets import PER_UNIT
from engiagent.agents.offline.plant.engine import Reader
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain

if TYPE_CHECKING:
    from engiagent.agents.offline.feeders.analyse import Scene

PHYSICS, CAPACITY = "Physical Laws", "Resource Capacity"


@dataclass
class Network:
    """A feeder under construction.

    Attributes
    ----------
    supplies, demands
        Active and reactive terms at a node ``n``.
    lossy
        Whether losses are counted.
    scale
        What the products of impedances and powers are divided by: the base power, per unit.
    """

    scene: "Scene"
    builder: Builder
    reader: Reader
    lossy: bool
    active: list[tuple[str, str]] = field(default_factory=list)
    reactive: list[tuple[str, str]] = field(default_factory=list)
    costs: list[tuple[str, str]] = field(default_factory=list)
    scale: str = ""
    per_unit: bool = False
    highest: str = ""
    base: str = ""
    loads: str = ""
    makers: list[str] = field(default_factory=list)

    @property
    def draft(self) -> Draft:
        """The reading of the text."""
        return self.scene.draft

    def readings(self, component: str) -> dict[str, list[Reading]]:
        """Return what was read of a unit, by slot."""
        return for_owner(self.draft, component, component)

    def value(self, component: str, slot: str, name: str) -> str | None:
        """Return the parameter of a slot, None where nothing was read."""
        found = self.readings(component).get(slot)
        if not found:
            return None
        reading = single(self.builder, found)
        return self.builder.value(name, reading.value, reading.slot.said)

    def wanted(self, component: str, slot: str, name: str, example: str) -> str:
        """Return the parameter of a slot; report it where nothing was read."""
        made = self.value(component, slot, name)
        if made is not None:
            return made
        card = self.scene.plant.units[component].slots[slot]
        return self.builder.missing(
            name, card.unit, card.said,
            Missing(component, slot, f"the {card.said} is not given; add it, as {example}"),
        )  # fmt: skip

    def price(self, slot: str) -> str | None:
        """Return the parameter of a price: a column over time, or what the text says."""
        stated = self.value("source", slot, slot)
        column = self.scene.prices.get(slot)
        if column is None:
            return stated
        if stated is not None:
            self.draft.doubt(0, f"the {slot.replace('_', ' ')} is given in two ways")
        sheet, place = column
        value = Value(
            sheet.units[place], sheet.source(place),
            numbers=None if sheet.file else sheet.numbers(place),
            data=f"{sheet.file}#{sheet.names[place]}" if sheet.file else None,
        )  # fmt: skip
        return self.builder.value(slot, value, slot.replace("_", " "))

    def variable(self, name: str, index: Sequence[str], unit: str, **fields: Any) -> None:
        """Add a variable."""
        entry = {"name": name, "index": list(index), "type": "continuous", **fields, "unit": unit}
        self.builder.variables.append({k: v for k, v in entry.items() if v is not None})

    def row(
        self, name: str, text: str, forall: Sequence[str], category: str = PHYSICS,
        source: Json | None = None,
    ) -> None:  # fmt: skip
        """Add a row."""
        constrain(self.builder, name, text, category, -1, list(forall))
        if source is not None:
            self.builder.constraints[-1]["source_reference"] = source


def of_lines(network: Network, role: str, said: str, unit: str = "") -> str:
    """Add a column of the lines as a parameter."""
    lines, sheet = network.scene.lines, network.scene.lines.sheet
    place = lines.roles[role]
    unit = unit or lines.unit(role)
    fields: Json = {"index": ["L"], "source_reference": sheet.source(place)}
    if sheet.file and len(lines.ends) == 2:
        fields |= {"data": f"{sheet.file}#{sheet.names[place]}",
                   "keys": [sheet.names[c] for c in lines.ends]}  # fmt: skip
    else:
        nested: dict[str, dict[str, float]] = {}
        for (a, b), number in zip(lines.pairs, sheet.numbers(place) or (), strict=True):
            nested.setdefault(a, {})[b] = number
        fields |= {"value": nested}
    return network.builder.parameter(
        role, "1" if unit == PER_UNIT else unit, f"{said} of a section", **fields
    )


def impedance(network: Network, role: str) -> str:
    """Return an impedance of a section (i, j) as a term."""
    lines = network.scene.lines
    if role not in lines.roles:
        return "0[ohm]"
    unit = lines.unit(role)
    per_length = "/" in unit
    if unit in ("", "1"):
        network.draft.doubt(0, f"in which unit is '{lines.sheet.heads[lines.roles[role]]}'?")
    if per_length is not ("length" in lines.roles):
        network.draft.doubt(0, "impedances by length, and lengths, go together")
    if (unit == PER_UNIT) is not network.per_unit and unit:
        network.draft.doubt(0, "impedances per unit, and a base power, go together")
    return f"{role}[i, j]*length[i, j]" if per_length else f"{role}[i, j]"
