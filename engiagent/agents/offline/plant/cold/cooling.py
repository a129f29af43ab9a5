"""What is read of cooling beside its units: modes, needs, duties, laws; the order of reading."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engiagent.agents.offline.draft import Draft, Reading, amount_value
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.grids import Column, Grid
from engiagent.agents.offline.plant.cold.coldlists import take_cold_for_power, take_needed_lists
from engiagent.agents.offline.plant.cold.duties import Stated, take_duties
from engiagent.agents.offline.plant.cold.eir import Eir, take_eir
from engiagent.agents.offline.plant.cold.icing import (
    Icing,
    take_icing,
    take_melting,
    take_power_price,
)
from engiagent.agents.offline.plant.cold.modes import Modes, take_goal, take_modes
from engiagent.agents.offline.plant.cold.moding import without_machines
from engiagent.agents.offline.plant.cold.needs import take_described, take_needs
from engiagent.agents.offline.plant.cold.phrased import take_phrased
from engiagent.agents.offline.plant.cold.reset import Reset, take_reset
from engiagent.agents.offline.plant.cold.resetting import load_column, with_load
from engiagent.agents.offline.plant.engine import Reader
from engiagent.agents.offline.plant.language.retold import take_step_words
from engiagent.agents.offline.plant.machinery.laws import Law, take_laws
from engiagent.agents.offline.plant.stores.tapers import Taper
from engiagent.agents.offline.plant.times.limits import Timed
from engiagent.agents.offline.plant.units import Plant
from engiagent.agents.offline.timing import Axis


@dataclass
class Cooling:
    """What a text says of cooling in whole phrases, while it is read."""

    draft: Draft
    modes: Modes | None
    reset: Reset | None = None
    stated: list[Stated] = field(default_factory=list)
    laws: Mapping[str, Law] = field(default_factory=dict)
    eir: Mapping[str, Eir] = field(default_factory=dict)
    icing: Icing | None = None
    melting: Sequence[Taper] = ()
    peak: tuple[int, int, int] | None = None

    @classmethod
    def open(cls, draft: Draft, grids: Sequence[Grid]) -> "Cooling":
        """Read what comes before any unit is known."""
        return cls(draft, take_modes(draft, grids), take_reset(draft))

    def units(self, plant: Plant) -> Plant:
        """Return the plant without the machines that modes stand for."""
        return with_load(without_machines(plant, self.modes), self.reset)

    def columns(self, columns: Sequence[Column]) -> dict[str, tuple[str, str]]:
        """Return which slots of which units some columns are, by their names."""
        return load_column(columns, self.reset)

    def lists(self, plant: Plant) -> tuple[Plant, list[int]]:
        """Read lists of needs; return the plant with their load, and their lengths."""
        return take_needed_lists(self.draft, plant)

    def phrases(self, plant: Plant, axis: Axis | None) -> Plant:
        """Read phrases on the units of a plant; return it with the loads that they add."""
        if axis is not None:
            take_step_words(self.draft, axis)
        take_described(self.draft)
        plant = take_needs(self.draft, plant, self.modes, axis)
        take_cold_for_power(self.draft, plant)
        self.laws = take_laws(self.draft, plant)
        self.eir = take_eir(self.draft, plant)
        self.icing = take_icing(self.draft, plant)
        self.stated += take_phrased(self.draft, plant, axis)
        self.melting = take_melting(self.draft, plant, axis)
        self.peak = take_power_price(self.draft, plant, axis)
        self.stated += take_duties(self.draft, plant, axis)
        return plant

    def goal(self, goal: Goal | None) -> None:
        """Account for what an objective says of modes."""
        take_goal(self.draft, goal, self.modes)

    def into(self, reader: Reader) -> None:
        """Hand what was read to the reader of all other sentences."""
        reader.modes, reader.laws, reader.eir = self.modes, self.laws, self.eir
        reader.icing, reader.reset = self.icing, self.reset
        if self.peak is not None:
            self._price(reader, *self.peak)
        for fact in self.stated:
            reader.state(fact.fact, fact.about, fact.line)
            if fact.about is not None and fact.fact == "always_on":
                reader.hints[fact.line] = fact.about

    def _price(self, reader: Reader, n: int, place: int, period: int) -> None:
        """Hand over a price for the highest power of a period of the day."""
        line = self.draft.lines[n]
        amount = line.tokens[place].amount
        assert amount is not None
        grid = reader.plant.of("grid")[0]
        value = amount_value(amount, self.draft.source(n, amount))
        slot = grid.unit.slots["demand_charge"]
        reading = Reading(grid.name, slot, value, "value", n, line.sentence.span)
        reader.timed.append(Timed(reading, line.tokens[period].period, None))

    def kinds(self) -> tuple[str, ...]:
        """Return what a plant has besides its units."""
        return ("modes",) if self.modes is not None or self.reset is not None else ()
