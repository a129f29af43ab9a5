"""The reader of plants: sentences into slots of units, and what was not understood."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.amounts import currency_of
from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Fact, Priced, Reading, amount_value
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.owners import Owners, topic
from engiagent.agents.offline.plant.background import (
    asides,
    described,
    gives_reason,
    quieted,
    says_nothing,
)
from engiagent.agents.offline.plant.discourse import Discourse
from engiagent.agents.offline.plant.formulas import Curve
from engiagent.agents.offline.plant.limits import (
    TIMES,
    Ban,
    Timed,
    is_question,
    is_story,
    running_state,
    while_price,
)
from engiagent.agents.offline.plant.reading import Found, Scene, items_of, read
from engiagent.agents.offline.plant.statements import bears, stated
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.plant.words import NEUTRAL, UNKNOWN, Marked, group
from engiagent.agents.offline.schedules import Item as PriceItem
from engiagent.agents.offline.schedules import assign, period_of
from engiagent.agents.offline.slots import plausible
from engiagent.blueprint.units import convert, parse_unit

_STORES: Final = ("battery", "heat_store", "cold_store")
_OF_STORES: Final = ("start_empty", "start_half", "start_full", "final_", "no_terminal")


_PICKED: Final = re.compile(
    r"(?<![a-z-])(?:one|either|any|only|neither)(?![a-z-])| or (?!to |until |up |more|less)"
)


_UNIVERSAL: Final = re.compile(r"(?:^|[^a-z])(?:no|none of the|any|all|all the) $")
_DAYTIMES: Final = frozenset({"morning", "afternoon", "evening", "night"})


@dataclass
class Reader(Discourse):
    """Reads the lines of a draft for a plant."""

    goal: Goal | None = None
    facts: dict[str, list[int]] = field(default_factory=dict)
    fact_units: list[tuple[str, str | None, int]] = field(default_factory=list)
    priced: list[tuple[Reading, Priced]] = field(default_factory=list)
    timed: list[Timed] = field(default_factory=list)
    bans: list[Ban] = field(default_factory=list)
    curves: Mapping[str, Curve] = field(default_factory=dict)

    def read_all(self) -> None:
        """Read every line; report those that are not understood."""
        for n, line in enumerate(self.draft.lines):
            if line.sentence.is_heading:
                continue
            reason = self._line(n)
            if reason is not None:
                self.draft.refuse(n, reason)

    def _line(self, n: int) -> str | None:
        line = self.draft.lines[n]
        free = [
            i for i, token in enumerate(line.tokens)
            if token.amount is not None and not self.draft.is_taken(n, i)
        ]  # fmt: skip
        if any(
            t.kind == "list" and not self.draft.is_taken(n, i) for i, t in enumerate(line.tokens)
        ):
            return "a list of numbers has no place"
        marked = self.marked(n)
        if self._state(n, marked):
            return None
        free = [i for i in free if not (self._counts(n, i) or self._restated(n, i))]
        for first, last in self._clauses(marked):
            inside = [i for i in free if first <= i < last]
            reason = (
                self._numbers(n, marked, inside, (first, last))
                if inside
                else self._statement(n, marked, first, last)
            )
            if reason is not None:
                return reason
        return None

    def _clauses(self, marked: Marked) -> list[tuple[int, int]]:
        """Cut a sentence at semicolons, and at commas before another statement."""
        tokens = marked.line.tokens
        cuts = [0]
        for i, token in enumerate(tokens):
            if token.text in (";", ".") and token.kind == "mark":
                cuts.append(i + 1)
        cuts.append(len(tokens))
        whole = list(pairwise(cuts))
        result = []
        for first, last in whole:
            result += self._at_commas(marked, first, last)
        return [pair for pair in result if pair[0] < pair[1]]

    def _at_commas(self, marked: Marked, first: int, last: int) -> list[tuple[int, int]]:
        """Cut off pieces between commas that hold no number but ask for something themselves."""
        tokens = marked.line.tokens
        inner = (i for i in range(first + 1, last) if tokens[i].text in (",", "and"))
        edges = [first, *inner, last]
        pieces = list(pairwise(edges))
        n = self.draft.lines.index(marked.line)
        numbers = [
            any(
                (tokens[i].amount is not None or tokens[i].kind in TIMES)
                and not self.draft.is_taken(n, i)
                for i in range(a, b)
            )
            for a, b in pieces
        ]
        if not any(numbers) or all(numbers):
            return [(first, last)]
        result: list[tuple[int, int]] = []
        start = first
        for k, ((a, b), has) in enumerate(zip(pieces, numbers, strict=True)):
            said = marked.said(a, b)
            named = bool(said) and all(c.startswith("@") for c in said)
            if named and k + 1 < len(pieces):  # 'A and B have to …' belongs together
                behind = [c for c in marked.concepts[slice(*pieces[k + 1])] if c != NEUTRAL]
                named = not (behind and behind[0].startswith("@"))
            own = not has and bool(said) and (named or stated(said) is not None)
            if own:
                if start < a:
                    result.append((start, a))
                result.append((a, b))
                start = b
        if start < last:
            result.append((start, last))
        return result

    # -- numbers ------------------------------------------------------------------------------

    def _counts(self, n: int, i: int) -> bool:
        """Whether a number says how many units there are, as many as were found."""
        line = self.draft.lines[n]
        amount = line.tokens[i].amount
        if amount is None or amount.kind != "number" or amount.unit:
            return False
        tail = line.line[line.starts[i] :].split("> ", 1)
        behind = tail[1] if len(tail) > 1 else ""
        for component, pattern in self.kinds.items():
            found = pattern.search(behind)
            near = found is not None and behind[: found.start()].count(" ") <= 2
            if near and amount.value == len(self.plant.of(component)):
                self.draft.take(n, [i])
                self.draft.unused.append(
                    {"span": list(amount.span), "quote": amount.quote, "reason": "counts units"}
                )
                return True
        return False

    def _restated(self, n: int, i: int) -> bool:
        """Whether a duration only says again how long a step or the horizon is."""
        amount = self.draft.lines[n].tokens[i].amount
        if amount is None or amount.kind != "duration" or self.axis is None:
            return False
        if n in self.draft.table_lines or self.marked(n).said() & group("lasting"):
            return False
        minutes = convert(amount.value, parse_unit(amount.unit), parse_unit("min"))
        known = (self.axis.step_minutes, 60 * self.axis.hours)
        if not any(abs(minutes - m) < 1e-6 for m in known):
            return False
        self.draft.take(n, [i])
        return True

    def _numbers(
        self, n: int, marked: Marked, free: list[int], span: tuple[int, int]
    ) -> str | None:
        ban = while_price(self, n, marked, free, span)
        if ban is not None:
            self.bans.append(ban)
            self.draft.take(n, range(*span))
            return None
        piece = Marked(
            marked.line,
            tuple(c if span[0] <= i < span[1] else NEUTRAL for i, c in enumerate(marked.concepts)),
        )
        piece = self._quieted(n, piece, span)
        if piece.unknown():
            words = ", ".join(dict.fromkeys(piece.unknown()))
            return f"unknown words beside a number: {words}"
        line = self.draft.lines[n]
        about = self.about(n, free[0])
        items = items_of(piece, free)
        found = read(piece, items, Scene(self.plant, about))
        if isinstance(found, str):
            return found
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
            reason = self._take(n, one, groups[k] if groups else [], clocks)
            if reason is not None:
                return reason
        self.draft.take(n, range(*span))
        return None

    def _quieted(self, n: int, piece: Marked, span: tuple[int, int]) -> Marked:
        """Return a clause with numbers without the asides in it, which are accounted for."""
        if not piece.unknown():
            return piece
        for first, last in asides(piece, *span):
            self._background(n, first, last)
            piece = quieted(piece, range(first, last))
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

    def _take(self, n: int, found: Found, times: list[int], clocks: list[int]) -> str | None:
        line = self.draft.lines[n]
        amount = line.tokens[found.token].amount
        assert amount is not None
        money = currency_of(amount.unit) if amount.unit else None  # no exchange rate for a range
        if money in (None, "EUR") and not plausible(found.slot, amount) and found.slot.range_unit:
            return f"{amount.quote} is outside the plausible range of {found.slot.said}"
        owners = self._owners(n, found)
        if not owners:
            return f"{amount.quote}: of which {found.slot.component} is the {found.slot.said}?"
        if len(owners) > 1 and (times or clocks or found.slot.options.get("priced")):
            return f"{amount.quote}: of which of them is the {found.slot.said}?"
        value = amount_value(amount, self.draft.source(n, amount))
        said = " ".join(sorted(found.said))
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
        if "each" in found.said or self._universal(line.line, found.slot.component):
            return "*"
        finders = {u.name: u.finder for u in units}
        return topic(self.draft.lines, n, line.starts[found.token], finders)

    def _universal(self, text: str, component: str) -> bool:
        """Whether a sentence is about all units of a kind: 'no engine may', 'any set must'."""
        pattern = self.kinds.get(component)
        found = [] if pattern is None else [text[: m.start()] for m in pattern.finditer(text)]
        return any(_UNIVERSAL.search(before) for before in found)

    def _state(self, n: int, marked: Marked) -> bool:
        """Take a cell that says whether a unit runs at the start."""
        owner = str(self.draft.table_lines.get(n, {}).get("owner"))
        kinds = {i.name: i.unit.component for i in self.plant.instances}
        state = running_state(marked, self.axis) if owner in kinds else None
        if state is None:
            return False
        self.facts.setdefault(state, []).append(n)
        self.fact_units.append((state, kinds[owner], n))
        self.draft.take(n, range(len(marked.line.tokens)))
        return True

    # -- statements ---------------------------------------------------------------------------

    def _statement(self, n: int, marked: Marked, first: int, last: int) -> str | None:
        line = self.draft.lines[n]
        said = marked.said(first, last)
        times = any(
            line.tokens[i].kind in (*TIMES, "clock")
            and marked.concepts[i] not in ("start", "end")
            and not self.draft.is_taken(n, i)
            and not self.whole(line.tokens[i])
            for i in range(first, last)
        )
        if self.goal is not None and n == self.goal.line:
            return self._goal(marked, first, last)
        if is_story(marked, first, last, said) or self._asked(marked, first, last, said):
            return None
        if says_nothing(marked, first, last) or gives_reason(marked, first, last):
            self._background(n, first, last)
            return None
        asks = bears(marked, said, times) or self._asks(n, first, last, said)
        if not asks and stated(said) is None:
            return None
        described = any(t.kind == "code" for t in line.tokens[first:last]) and not said & group(
            "binding"
        )
        if described and not times:
            return None
        unknown = [line.tokens[i].text for i in range(first, last) if marked.concepts[i] == UNKNOWN]
        if times and not unknown:
            reason = self._ban(n, marked, first, last)
            if reason is None:
                return None
        fact = stated(said) if not (unknown or times) else None
        parts = self._joined(marked, first, last) if fact is None else []
        if parts:
            reasons = [self._statement(n, marked, a, b) for a, b in parts]
            return next((r for r in reasons if r is not None), None)
        if fact is None:
            shown = f" (unknown: {', '.join(unknown)})" if unknown else ""
            return f"no rule covers what this asks for{shown}"
        self.facts.setdefault(fact, []).append(n)
        covered = line.tokens[first:last]
        place = (covered[0].span[0], covered[-1].span[1])
        shown = "background" if fact == "holds" else fact
        self.draft.facts.append(Fact(shown, n, place, {}, ""))
        named = [c[1:] for c in marked.concepts[first:last] if c.startswith("@")]
        about = named[0] if named else self.about(n, first)
        if not named and "each" in said and fact.startswith(_OF_STORES):
            stores = [i for i in self.plant.instances if i.unit.component in _STORES]
            if "both" in (t.text for t in covered) and len(stores) != 2:
                return "'both' are not two stores"
            about = None  # all of them
        self.fact_units.append((fact, about, n))
        self.draft.take(n, range(first, last))
        return None

    def _asked(self, marked: Marked, first: int, last: int, said: frozenset[str]) -> bool:
        """Whether a clause only asks what should run, and names no times but the whole horizon."""
        tokens = marked.line.tokens[first:last]
        clocks = (self.axis.start_clock, self.axis.end_clock) if self.axis is not None else ()
        whole = all(
            t.period is not None and clocks and t.period.ranges == (clocks,)
            for t in tokens if t.kind in TIMES
        )  # fmt: skip
        return whole and is_question(marked, first, last, said)

    def _ban(self, n: int, marked: Marked, first: int, last: int) -> str | None:
        """Take what is forbidden, or allowed only, at some times of the day."""
        line = self.draft.lines[n]
        spans = [i for i in range(first, last) if line.tokens[i].kind in TIMES]
        period = period_of(line, spans)
        said = marked.said(first, last)
        only = "only" in said
        fact = stated((said - {"only"}) | {"not"} | {"@window"})
        clocks = any(line.tokens[i].kind == "clock" for i in range(first, last))
        if period is None or period.rest or clocks or fact is None or only is ("not" in said):
            return "times"
        named = [c[1:] for c in marked.concepts[first:last] if c.startswith("@")]
        about = named[0] if named else self.about(n, first)
        self.bans.append(Ban(fact, about, n, period, only))
        self.draft.take(n, range(first, last))
        return None

    def _goal(self, marked: Marked, first: int, last: int) -> str | None:
        """Hold the rest of the sentence with the objective against what an objective may say."""
        said = {c for c in marked.said(first, last) if not c.startswith("@")}
        tokens = marked.line.tokens
        strange = [tokens[i].text for i in range(first, last) if marked.concepts[i] == UNKNOWN]
        words = {tokens[i].text for i in range(first, last) if marked.concepts[i] == "timeword"}
        short = self.axis is not None and self.axis.hours <= 14 and words <= _DAYTIMES
        strange += sorted(said - group("objective") - ({"timeword"} if short else set()))
        times = [t.text for t in tokens[first:last] if t.kind in TIMES]
        if not strange and not times:
            return None
        return f"the objective says more than is understood: {', '.join((*strange, *times))}"

    def _asks(self, n: int, first: int, last: int, said: frozenset[str]) -> bool:
        """Whether words of a clause ask for something or set a condition to a unit."""
        line, scope = self.draft.lines[n], lexicon().scope
        concepts, joints = self.marked(n).concepts, self.marked(n).joints
        names = ["requirement", "command"]
        names += ["condition"] if any(c.startswith("@") for c in said) else []
        return any(
            set(line.covered(*match.span())) & set(range(first, last))
            and not all(
                self.draft.is_taken(n, i) or i in joints or concepts[i].startswith("@")
                for i in line.covered(*match.span())
            )
            for name in names
            for match in scope[name].finditer(line.line)
        )

    def _joined(self, marked: Marked, first: int, last: int) -> list[tuple[int, int]]:
        """Return the parts of a sentence that 'and', 'but' or commas join, if each is clear."""
        tokens = marked.line.tokens
        for marks in ((",",), (",", "and", "but")):
            edges = [first, *(i for i in range(first + 1, last) if tokens[i].text in marks), last]
            parts = [(a, b) for a, b in pairwise(edges) if marked.said(a, b)]
            if len(parts) > 1 and all(
                stated(marked.said(a, b)) or not bears(marked, marked.said(a, b), False)
                for a, b in parts
            ):
                return parts
        return []


def owners_of(plant: Plant) -> Owners:
    """Return the units of a plant as the rest of the engine knows components."""
    names: dict[str, Mapping[str, re.Pattern[str]]] = {}
    for instance in plant.instances:
        component = instance.unit.component
        names[component] = {**names.get(component, {}), instance.name: instance.finder}
    return Owners(frozenset(names), names)


def instances_named(plant: Plant, owner: str, component: str) -> tuple[Instance, ...]:
    """Return the units that an owner stands for; ``*`` is all of a kind."""
    return tuple(i for i in plant.of(component) if owner in ("*", i.name))
