"""Numbers that enter nothing: how many units there are, how long the horizon is, years, lists."""

import re
from dataclasses import dataclass, replace
from typing import Final

from engiagent.agents.offline.amounts import Amount
from engiagent.agents.offline.draft import Reading, amount_value
from engiagent.agents.offline.plant.language.discourse import Discourse
from engiagent.agents.offline.plant.language.words import group
from engiagent.blueprint.units import convert, parse_unit

_PICKS: Final = frozenset({"one", "each", "any", "all", "either"})


@dataclass
class Counts(Discourse):
    """Accounts for the numbers of a draft that only count, date or say something again."""

    def _counts(self, n: int, i: int) -> bool:
        """Whether a number says how many units there are, as many as were found."""
        line = self.draft.lines[n]
        amount = line.tokens[i].amount
        if amount is None or amount.kind != "number" or amount.unit:
            return False
        machines = [u for u in self.plant.instances if u.unit.card.get("output")]
        named = i > 0 and line.tokens[i - 1].text in ("the", "all") and amount.quote.isalpha()
        if named and amount.value == len(machines):
            self.draft.take(n, [i])
            return True
        tail = line.line[line.starts[i] :].split("> ", 1)
        behind = tail[1] if len(tail) > 1 else ""
        for component, pattern in self.kinds.items():
            found = pattern.search(behind)
            near = found is not None and behind[: found.start()].count(" ") <= 2
            if near and {"start", "onstate"} <= self.marked(n).said():
                return False  # how many run before the first period
            near = near and not re.match(r"(?:hours?|minutes?|days?|times|weeks?|steps?) ", behind)
            units = self.plant.of(component)
            counted = len(units) == 1 and "count" in units[0].unit.slots and amount.value >= 2
            if near and counted and not self._readings_of(component, "count"):
                value = amount_value(amount, self.draft.source(n, amount))
                slot, span = units[0].unit.slots["count"], line.sentence.span
                self.draft.readings.append(Reading(units[0].name, slot, value, "value", n, span))
                self.draft.take(n, [i])
                return True
            tabled = sum(not unit.noun for unit in units)
            if near and amount.value in (len(units), tabled):
                self.draft.take(n, [i])
                self.draft.unused.append(
                    {"span": list(amount.span), "quote": amount.quote, "reason": "counts units"}
                )
                return True
        return False

    def _restated(self, n: int, i: int) -> bool:
        """Whether a duration only says again how long a step or the horizon is."""
        amount = self.draft.lines[n].tokens[i].amount
        if amount is None or self.axis is None:
            return False
        amount = self._spelled(n, i) or amount
        if amount.kind != "duration":
            return False
        named = "overday" in self.marked(n).concepts[max(0, i - 3) : i]
        if n in self.draft.table_lines or (self.marked(n).said() & group("lasting") and not named):
            return False
        minutes = convert(amount.value, parse_unit(amount.unit), parse_unit("min"))
        known = (self.axis.step_minutes, 60 * self.axis.hours)
        if not any(abs(minutes - m) < 1e-6 for m in known):
            return False
        self.draft.take(n, [i])
        return True

    def _spelled(self, n: int, i: int) -> Amount | None:
        """Return a duration in words, as 'five minutes'; None for any other number."""
        tokens = self.draft.lines[n].tokens
        amount = tokens[i].amount
        behind = tokens[i + 1].text if i + 1 < len(tokens) else ""
        unit = {"minutes": "min", "hours": "h", "days": "d"}.get(behind)
        if amount is None or amount.kind != "number" or unit is None or amount.unit:
            return None
        return replace(amount, unit=unit, kind="duration")

    def _year(self, n: int, i: int) -> bool:
        """Whether a number is a year in a sentence that sets no limit."""
        amount = self.draft.lines[n].tokens[i].amount
        if amount is None or amount.unit or n in self.draft.table_lines:
            return False
        asks = self.marked(n).said() & group("binding")
        if not re.fullmatch(r"(?:19|20)\d\d", amount.quote) or asks:
            return False
        self._explained(amount, "a year")
        self.draft.take(n, [i])
        return True

    def _one_of(self, n: int, i: int) -> bool:
        """Whether a number in words counts what was just listed, as in 'one of the three'."""
        tokens = self.draft.lines[n].tokens
        amount = tokens[i].amount
        words = [t.text for t in tokens[max(0, i - 3) : i]]
        behind = tokens[i + 1].text if i + 1 < len(tokens) else ","
        if amount is None or amount.unit or words[-2:] != ["of", "the"] or words[0] not in _PICKS:
            return False
        if not tokens[i].text.isalpha() or behind not in (",", "for", ";", "at", "in", ")"):
            return False
        self._explained(amount, "counts what was listed before it")
        self.draft.take(n, [i])
        return True

    def _explained(self, amount: Amount, reason: str) -> None:
        """Account for a number that enters nothing."""
        entry = {"span": list(amount.span), "quote": amount.quote, "reason": reason}
        self.draft.unused.append(entry)

    def _other_count(self, n: int, i: int) -> bool:
        """Whether a number is a year, or counts what the text lists."""
        return self._listed(n, i) or self._year(n, i) or self._one_of(n, i)

    def _listed(self, n: int, i: int) -> bool:
        """Whether a number in words counts the items of the list that its sentence leads into."""
        line = self.draft.lines[n]
        amount = line.tokens[i].amount
        if amount is None or amount.unit or not line.tokens[i].text.isalpha():
            return False
        if not line.sentence.text.rstrip().endswith(":"):
            return False
        items = {
            other.sentence.passage for other in self.draft.lines[n + 1 :]
            if other.sentence.is_item and other.sentence.lead.endswith(line.sentence.text.rstrip())
        }  # fmt: skip
        if len(items) != amount.value:
            return False
        self._explained(amount, "counts the items")
        self.draft.take(n, [i])
        return True

    def _readings_of(self, component: str, slot: str) -> list[Reading]:
        return [
            r for r in self.draft.readings
            if r.slot.component == component and r.slot.name == slot
        ]  # fmt: skip
