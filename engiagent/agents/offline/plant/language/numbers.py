"""Numbers of a sentence as readings: what they are of, whose, and when they hold."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.amounts import currency_of
from engiagent.agents.offline.draft import Priced, Reading, Value, amount_value
from engiagent.agents.offline.owners import topic
from engiagent.agents.offline.plant.language.background import (
    asides,
    cost_labels,
    demanded,
    described,
    of_a_period,
    quieted,
)
from engiagent.agents.offline.plant.language.counts import Counts
from engiagent.agents.offline.plant.language.dependence import SALE_COSTS
from engiagent.agents.offline.plant.language.discourse import PRONOUNS, STRANGER
from engiagent.agents.offline.plant.language.reading import Found, Scene, items_of, read
from engiagent.agents.offline.plant.language.words import NEUTRAL, THING, Marked, group
from engiagent.agents.offline.plant.machinery.staged import Staged
from engiagent.agents.offline.plant.market.events import Event
from engiagent.agents.offline.plant.market.tiers import Tiers
from engiagent.agents.offline.plant.spaces.carnot import Carnot
from engiagent.agents.offline.plant.spaces.changes import Change
from engiagent.agents.offline.plant.spaces.links import Feed, Link, leads_elsewhere
from engiagent.agents.offline.plant.spaces.rooms import TIMED, take_room
from engiagent.agents.offline.plant.spaces.slopes import Slope
from engiagent.agents.offline.plant.spaces.soft import Soft
from engiagent.agents.offline.plant.spaces.whichroom import (
    for_one_room,
    is_mean,
    of_each_room,
    of_some,
)
from engiagent.agents.offline.plant.stores.ratios import Ratio, ratio_in
from engiagent.agents.offline.plant.stores.wearing import Growing, growing_wear, unknown_beside
from engiagent.agents.offline.plant.times.horizon import PARTS_OF_DAY
from engiagent.agents.offline.plant.times.limits import TIMES, Ban, Timed, while_price
from engiagent.agents.offline.schedules import Item as PriceItem
from engiagent.agents.offline.schedules import assign, period_of
from engiagent.agents.offline.slots import plausible

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.market.reactive import Reactive
    from engiagent.agents.offline.plant.spaces.radiators import Radiators
    from engiagent.agents.offline.plant.spaces.roomfiles import RoomFiles

_PICKED: Final = re.compile(
    r"(?<![a-z-])(?:one|either|any|only|neither)(?![a-z-])| or (?!to |until |up |more|less|<)"
)
_UNIVERSAL: Final = re.compile(r"(?:^|[^a-z])(?:no|none of the|any|all|all the|every) $")
_NONE: Final = re.compile(
    r"(?:^|[,;] |and |but )(?:none|no one|nobody|neither) (?:can|may|must|of)"
)
_INSIDE_RATIOS: Final = frozenset(
    [
        "charge",
        "discharge",
        "wayin",
        "wayout",
        "outof",
        "into",
        "import",
        "hold",
        "soc",
        "loss",
        "move",
        "rampdown",
        "rampup",
        "cond",
        "arrive",
        "@battery",
        "@grid",
    ]
)
_IN_AND_OUT: Final = frozenset(
    ["charge", "discharge", "loadedge", "whencharging", "whendischarging"]
)
_BESIDE_RATIOS: Final = frozenset({"loss", "efficiency", "each", "soc", "hold", "cond", "outof"})


def _of_all(found: Found) -> bool:
    """Whether a limit of the import only says 'together': of all that hangs on the connection."""
    named = {"@grid", "import", "joint", "peak"} & found.said
    return found.slot.name == "import_power_max" and "together" in found.said and not named


@dataclass
class Numbers(Counts):
    """Takes the numbers of the lines of a draft."""

    facts: dict[str, list[int]] = field(default_factory=dict)
    fact_units: list[tuple[str, str | None, int]] = field(default_factory=list)
    priced: list[tuple[Reading, Priced]] = field(default_factory=list)
    timed: list[Timed] = field(default_factory=list)
    bans: list[Ban] = field(default_factory=list)
    growing: list[Growing] = field(default_factory=list)
    labels: set[str] = field(default_factory=set)
    changes: list[Change] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    wishes: list[Soft] = field(default_factory=list)
    flags: dict[str, Value] = field(default_factory=dict)
    staged: Staged | None = None
    tiers: Tiers | None = None
    by_time: dict[str, list[Priced]] = field(default_factory=dict)
    slopes: list[Slope] = field(default_factory=list)
    carnots: Sequence[Carnot] = ()
    reactive: "Reactive | None" = None
    rooms: "RoomFiles | None" = None
    radiators: "Radiators | None" = None
    links: Sequence[Link] = ()
    feeds: Sequence[Feed] = ()

    def _numbers(
        self, n: int, marked: Marked, free: list[int], span: tuple[int, int]
    ) -> str | None:
        ban = while_price(self, n, marked, free, span)
        if ban is not None:
            self.bans.append(ban)
            self.draft.take(n, range(*span))
            return None
        wear = growing_wear(marked, n, free)
        if wear is not None:
            strange = unknown_beside(marked)
            if isinstance(wear, str) or strange:
                return wear if isinstance(wear, str) else f"unknown words: {', '.join(strange)}"
            self.growing.append(wear)
            for amount in wear.example:
                self._explained(amount, "an example that agrees with the rule before it")
            self.draft.take(n, range(*span))
            return None
        inside: Sequence[int] = range(*span)
        ratio = ratio_in(marked, free, self.draft.text)
        if ratio is not None:
            between = {marked.concepts[i] for i in ratio.tokens} - {NEUTRAL, THING}
            if between - _INSIDE_RATIOS:
                return "an example of energies with more than the reader knows"
            free = [i for i in free if i not in ratio.tokens]
            inside = [i for i in inside if i not in ratio.tokens and i not in ratio.split]
            reason = self._ratio(n, ratio)
            if reason is not None or not free:
                return reason or self._rest(n, marked, inside, span)
        piece = Marked(
            marked.line,
            tuple(c if i in inside else NEUTRAL for i, c in enumerate(marked.concepts)),
        )
        piece = self._quieted(n, self._parts_of_day(piece, span), span)
        if piece.unknown():
            words = ", ".join(dict.fromkeys(piece.unknown()))
            return f"unknown words beside a number: {words}"
        piece = _led(marked, piece, span)
        line = self.draft.lines[n]
        about = self._about(n, free[0], piece)
        items = items_of(piece, free)
        found = read(piece, items, Scene(self.plant, about))
        if isinstance(found, str):
            return found
        if any(set(TIMED) & set(f.slot.options) for f in found):
            return take_room(self, n, piece, found, span)
        times = [
            i for i in range(*span)
            if line.tokens[i].kind in TIMES and not self.draft.is_taken(n, i)
        ]  # fmt: skip
        times = [] if all(self.whole(line.tokens[i]) for i in times) else times
        if times and not all({"priced", "window"} & set(f.slot.options) for f in found):
            return "times of the day beside a number that holds at all times"
        clocks = [
            i for i in range(*span)
            if line.tokens[i].kind == "clock" and marked.concepts[i] not in ("start", "end")
        ]  # fmt: skip
        if clocks and not (len(clocks) == len(found) == 1 and "moment" in found[0].slot.options):
            return f"the time '{line.tokens[clocks[0]].text}' belongs to nothing"
        groups = assign(self.draft, n, [PriceItem((f.token,)) for f in found]) if times else None
        if times and groups is None:
            return "which number holds at which times is not clear"
        for k, one in enumerate(found):
            reason = self.take_found(n, one, groups[k] if groups else [], clocks)
            if reason is not None:
                return reason
        self.draft.take(n, range(*span))
        return None

    def _parts_of_day(self, piece: Marked, span: tuple[int, int]) -> Marked:
        """Return a clause without words such as 'evening' beside the times that they stand for."""
        tokens = piece.line.tokens
        periods = [t.period for t in tokens[slice(*span)] if t.period is not None]
        ranges = [r for period in periods for r in period.ranges]
        quiet = [
            i for i in range(*span)
            if tokens[i].text in PARTS_OF_DAY and ranges
            and all(PARTS_OF_DAY[tokens[i].text][0] <= a for a, _ in ranges)
            and all(b <= PARTS_OF_DAY[tokens[i].text][1] for _, b in ranges)
        ]  # fmt: skip
        return quieted(piece, quiet)

    def _about(self, n: int, token: int, piece: Marked) -> str | None:
        """Return what a number is about; what only a store does needs no name.

        A sentence that speaks of charging, and not of 'it', is about the store of a plant whatever
        the sentence before is about.
        """
        found = self.about(n, token)
        words = {t.text for t in self.draft.lines[n].tokens[:token]}
        if found == STRANGER and piece.said() & group("storing") and not words & PRONOUNS:
            return None
        known = self.plant.units.get(found or "")
        makes = known is not None and "supplies" in known.card and known.model != "battery"
        if makes and piece.said() & _IN_AND_OUT and not words & PRONOUNS and self._store():
            return self._store()  # what is charged is no machine
        return found

    def _ratio(self, n: int, ratio: Ratio) -> str | None:
        """Take an efficiency that an example of two energies states."""
        stores = [i for i in self.plant.instances if i.unit.component == "battery"]
        if len(stores) != 1:
            return "an example of energies, of which battery is not clear"
        unit, name = stores[0].unit, stores[0].name
        for slot, value in ratio.slots:
            place = self.draft.lines[n].sentence.span
            self.draft.readings.append(Reading(name, unit.slots[slot], value, "value", n, place))
        if len(ratio.slots) > 1:
            self.draft.assume(
                f"{name}: the round-trip efficiency is split by its square root between charging"
                " and discharging"
            )
        if ratio.lossless:
            self.state(ratio.lossless, "battery", n)
        self.draft.take(n, [*ratio.tokens, *ratio.split])
        return None

    def _rest(
        self, n: int, marked: Marked, inside: Sequence[int], span: tuple[int, int]
    ) -> str | None:
        """Hold what is said beside an example against what may be."""
        said = {marked.concepts[i] for i in inside} - {NEUTRAL, THING}
        if said - _BESIDE_RATIOS - {"@battery"}:
            return "an example of energies with more than the reader knows"
        self.draft.take(n, range(*span))
        return None

    def state(self, fact: str, about: str | None, n: int) -> None:
        """Note what a line states of a kind of unit."""
        self.facts.setdefault(fact, []).append(n)
        self.fact_units.append((fact, about, n))

    def _quieted(self, n: int, piece: Marked, span: tuple[int, int]) -> Marked:
        """Return a clause with numbers without the asides in it, which are accounted for."""
        if not (piece.unknown() or "cond" in piece.said()):
            return piece
        piece = quieted(piece, of_a_period(piece, *span))
        piece = demanded(piece, *span)
        for first, last in asides(piece, *span):
            self._background(n, first, last)
            piece = quieted(piece, range(first, last))
        labels = cost_labels(piece, *span)
        self.labels |= {piece.line.tokens[i].text for i in labels}
        piece = quieted(piece, labels)
        kinds = [i.unit.component for i in self.plant.instances]
        single = frozenset(k for k in kinds if kinds.count(k) == 1)
        return quieted(piece, described(piece, single, *span))

    def _background(self, n: int, first: int, last: int) -> None:
        """Account for a clause that says nothing about any part of the model."""
        covered = self.draft.lines[n].tokens[first:last]
        a, b = covered[0].span[0], covered[-1].span[1]
        reason = "speaks of no unit, no quantity and no time of the model"
        entry = {"span": [a, b], "quote": self.draft.text[a:b], "reason": reason}
        if entry not in self.draft.unused:
            self.draft.unused.append(entry)
        self.draft.take(n, range(first, last))

    def take_found(self, n: int, found: Found, times: list[int], clocks: list[int]) -> str | None:
        """Take a number into its slot; say why where it has no place."""
        line = self.draft.lines[n]
        amount = line.tokens[found.token].amount
        assert amount is not None
        if found.slot.name == "export_price" and SALE_COSTS.search(line.line):
            return f"{amount.quote}: does what is fed in earn this, or cost it?"
        money = currency_of(amount.unit) if amount.unit else None  # no exchange rate for a range
        if money in (None, "EUR") and not plausible(found.slot, amount) and found.slot.range_unit:
            return f"{amount.quote} is outside the plausible range of {found.slot.said}"
        walls = found.slot.component == "zone" and amount.kind in ("resistance", "conductance")
        if walls and leads_elsewhere(self.draft, n, found.token, self.plant.units["zone"].nouns):
            return f"{amount.quote}: a wall to another room"
        if is_mean(found, line.line):
            return f"{amount.quote}: a mean of temperatures"
        if for_one_room(self.plant, self.feeds, line.line, found):
            return f"{amount.quote}: for one of several rooms alone?"
        shared = "shared" in self.facts or "share" in self.marked(n).said()
        if _of_all(found) and not shared:
            return f"{amount.quote}: of what together is this the limit?"
        owners = self._owners(n, found)
        if not owners:
            return f"{amount.quote}: of which {found.slot.component} is the {found.slot.said}?"
        if len(owners) > 1 and (times or clocks or found.slot.options.get("priced")):
            return f"{amount.quote}: of which of them is the {found.slot.said}?"
        value = amount_value(amount, self.draft.source(n, amount))
        said = " ".join(sorted(found.said))
        if found.slot.options.get("splits"):
            return self._split(n, found, owners, value)
        readings = [
            Reading(owner, found.slot, value, found.bound, n, line.sentence.span, said)
            for owner in owners
        ]
        reading = readings[0]
        if found.slot.options.get("priced"):
            period = period_of(line, times)
            self.priced.append(
                (reading, Priced(found.slot.name, value, period, n, line.sentence.span))
            )
        elif times or clocks:
            limited = period_of(line, times) if times else None
            clock = line.tokens[clocks[0]] if clocks else None
            self.timed.append(Timed(reading, limited, clock))
        else:
            self.draft.readings += readings
        return None

    def _split(self, n: int, found: Found, owners: list[str], value: Value) -> str | None:
        """Take a content 'at the start and again, or more, at the end' as both of them."""
        if found.bound == "value" and "vague" not in found.said and "same" not in found.said:
            return "whether it is a value or a limit at the end is not clear"
        slots = self.plant.units[found.slot.component].slots
        first, last = (slots[name] for name in found.slot.options["splits"])
        span = self.draft.lines[n].sentence.span
        for owner in owners:
            self.draft.readings += [
                Reading(owner, first, value, "value", n, span, "start"),
                Reading(owner, last, value, found.bound, n, span, "end"),
            ]
        return None

    def _owners(self, n: int, found: Found) -> list[str]:
        """Return the units that a number is about: one, all, or those that its line lists."""
        line = self.draft.lines[n]
        units = self.plant.of(found.slot.component)
        numbers = sum(token.amount is not None for token in line.tokens)
        named = [u.name for u in units if len(units) > 1 and u.finder.search(line.line)]
        if len(named) > 1 and numbers == 1 and _PICKED.search(line.line):
            return []
        if len(named) > 1 and numbers == 1 and n not in self.draft.table_lines:
            return named
        owner = self._owner(n, found)
        return [] if owner is None else [owner]

    def _owner(self, n: int, found: Found) -> str | None:
        units = self.plant.of(found.slot.component)
        if len(units) == 1:
            return units[0].name
        cell = self.draft.table_lines.get(n)
        if cell is not None and cell.get("owner") in {u.name for u in units}:
            return str(cell["owner"])
        line = self.draft.lines[n]
        plural = re.match(r"(?:their|they) ", line.line) is not None
        if plural or "each" in found.said or self._universal(line.line, found.slot.component):
            return "*"
        finders = {u.name: u.finder for u in units}
        if found.slot.component == "zone" and of_some(line.line):
            return None  # 'one of the rooms', 'the other room'
        if found.slot.component == "zone" and of_each_room(
            line.line, self.kinds["zone"], finders.values()
        ):
            return "*"
        return topic(self.draft.lines, n, line.starts[found.token], finders)

    def _universal(self, text: str, component: str) -> bool:
        """Whether a sentence is about all units of a kind: 'no engine may', 'any set must'."""
        pattern = self.kinds.get(component)
        found = [] if pattern is None else [text[: m.start()] for m in pattern.finditer(text)]
        if any(unit.finder.search(text) for unit in self.plant.of(component)):
            return False  # 'a third set' is one
        if component == "vehicle" and any(re.search(r"(?:^|[^a-z])an? $", b) for b in found):
            return True  # 'a charger passes on 93 %'
        return any(_UNIVERSAL.search(before) for before in found) or bool(_NONE.search(text))


def _led(marked: Marked, piece: Marked, span: tuple[int, int]) -> Marked:
    """Return a clause with the 'from one hour to the next' that leads its whole sentence."""
    said = piece.said()
    led = span[0] > 0 and marked.concepts[:1] == ("nexthour",) and "nexthour" not in said
    place = next((i for i in range(*span) if piece.concepts[i] == NEUTRAL), None)
    if not led or place is None or not said & {"ramp", "rampup", "rampdown"}:
        return piece
    concepts = list(piece.concepts)
    concepts[place] = "nexthour"
    return Marked(piece.line, tuple(concepts), piece.joints)
