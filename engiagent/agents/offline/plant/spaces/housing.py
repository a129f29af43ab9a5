"""What is read of a room beside the slots of its units, in the order in which it can be read."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engiagent.agents.offline.draft import Draft, Priced, Reading, Value
from engiagent.agents.offline.plant.language.guards import guard
from engiagent.agents.offline.plant.language.leads import led_prices, take_never
from engiagent.agents.offline.plant.language.remarks import take_absent, take_open_ends
from engiagent.agents.offline.plant.machinery.staged import (
    Staged,
    take_staged,
    take_switched,
    without_cooler,
)
from engiagent.agents.offline.plant.market.events import CREDITED, Event, take_events
from engiagent.agents.offline.plant.market.tiers import Tiers, take_tiers
from engiagent.agents.offline.plant.spaces.changes import Change, take_changes
from engiagent.agents.offline.plant.spaces.reversible import take_fractions, with_reversible
from engiagent.agents.offline.plant.spaces.rooms import name_rests, read_scheme
from engiagent.agents.offline.plant.spaces.soft import LABELS, take_soft
from engiagent.agents.offline.plant.spaces.walls import take_tons, take_walls
from engiagent.agents.offline.plant.times.spans import name_parts, name_rows, take_not_before
from engiagent.agents.offline.plant.units import Plant
from engiagent.agents.offline.timing import Axis

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.engine import Reader


@dataclass
class Housing:
    """Limits of changes, machines in stages, events, tiers and wishes of a text with a room."""

    draft: Draft
    flags: dict[str, Value]
    changes: list[Change] = field(default_factory=list)
    staged: Staged | None = None
    events: list[Event] = field(default_factory=list)

    def rooms(self, plant: Plant) -> Plant:
        """Read what holds before there is a time axis; return the plant with what it says."""
        draft, single = self.draft, len(plant.of("zone")) == 1
        if plant.of("zone"):
            name_rests(draft)
            name_rows(draft)
            read_scheme(draft)
            plant = with_reversible(plant, draft)
            take_fractions(draft, plant)
        if single:
            self.staged = take_staged(draft)
            self.changes = take_changes(draft)
            take_never(draft)
            take_walls(draft)
            take_tons(draft)
        return without_cooler(plant, self.staged)

    def timed(self, axis: Axis | None) -> None:
        """Account for words whose meaning depends on the steps of the plan."""
        if axis is not None:
            name_parts(self.draft, axis)
            take_not_before(self.draft, axis)
            take_switched(self.draft, axis)

    def paid(self, plant: Plant, axis: Axis | None) -> None:
        """Read the events at which drawing less is asked for, or paid, and an open end."""
        take_open_ends(self.draft, axis.end_clock if axis is not None else None)
        self.events = take_events(self.draft, plant)
        lacking = any(e.baseline is not None and e.credit is None for e in self.events)
        take_absent(self.draft, lacking)

    def into(self, reader: "Reader", axis: Axis | None) -> None:
        """Hand everything to the reader; call it before it reads the lines."""
        credited = any(e.baseline is not None for e in self.events)
        reader.changes += self.changes
        reader.events += self.events
        reader.labels |= {*CREDITED, "aggregator"} if credited else set()
        reader.staged, reader.flags = self.staged, self.flags
        led_prices(reader)
        _tiered(reader, take_tiers(self.draft, axis))
        reader.wishes = take_soft(reader, frozenset(self.flags))
        reader.labels |= LABELS if reader.wishes else set()
        guard(reader)


def _tiered(reader: "Reader", tiers: Tiers | None) -> None:
    """Take the first price of tiers as that of all electricity."""
    grids = reader.plant.of("grid")
    if tiers is None:
        return
    if len(grids) != 1:
        reader.draft.doubt(tiers.line, "of which supply are these the prices?")
        return
    reader.tiers = tiers
    slot = grids[0].unit.slots["import_price"]
    span = reader.draft.lines[tiers.line].sentence.span
    reading = Reading(grids[0].name, slot, tiers.first, "value", tiers.line, span)
    reader.priced.append((reading, Priced(slot.name, tiers.first, None, tiers.line, span)))
    if tiers.peak is not None:
        charge = grids[0].unit.slots["demand_charge"]
        made = Reading(grids[0].name, charge, tiers.peak, "value", tiers.line, span)
        reader.draft.readings.append(made)
