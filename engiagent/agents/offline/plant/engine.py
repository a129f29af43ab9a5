"""The reader of plants: sentences into slots of units, and what was not understood."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline.cards import lexicon
from engiagent.agents.offline.draft import Cell, Fact
from engiagent.agents.offline.goals import Goal
from engiagent.agents.offline.owners import Owners
from engiagent.agents.offline.plant.cold.eir import Eir
from engiagent.agents.offline.plant.cold.icing import Icing
from engiagent.agents.offline.plant.cold.modes import Modes
from engiagent.agents.offline.plant.cold.reset import Reset
from engiagent.agents.offline.plant.language.background import (
    gives_reason,
    says_nothing,
)
from engiagent.agents.offline.plant.language.dependence import changes_something, sheds_a_load
from engiagent.agents.offline.plant.language.enumerated import predicates_apart, units_apart
from engiagent.agents.offline.plant.language.numbers import Numbers
from engiagent.agents.offline.plant.language.statements import bears, stated
from engiagent.agents.offline.plant.language.weight import bearing_word
from engiagent.agents.offline.plant.language.words import NEUTRAL, UNKNOWN, Marked, group
from engiagent.agents.offline.plant.machinery.blocks import Offer
from engiagent.agents.offline.plant.machinery.formulas import Curve
from engiagent.agents.offline.plant.machinery.laws import Law
from engiagent.agents.offline.plant.stores.tapers import Taper
from engiagent.agents.offline.plant.times.limits import (
    TIMES,
    Ban,
    is_question,
    is_story,
    leaves_out_the_end,
    of_a_letter,
    running_state,
    told_besides,
)
from engiagent.agents.offline.plant.uncertain.ahead import Ahead
from engiagent.agents.offline.plant.units import Instance, Plant
from engiagent.agents.offline.schedules import period_of

if TYPE_CHECKING:
    from engiagent.agents.offline.plant.machinery.steps import Steps
    from engiagent.agents.offline.plant.market.acceptance import Acceptance
    from engiagent.agents.offline.plant.market.balancing import Balancing
    from engiagent.agents.offline.plant.market.investing import Investing
    from engiagent.agents.offline.plant.market.priorities import Priorities
    from engiagent.agents.offline.plant.market.shifting import Shift
    from engiagent.agents.offline.plant.stores.readiness import Readiness
    from engiagent.agents.offline.plant.times.constancy import Constant

_STORES: Final = ("battery", "vehicle", "heat_store", "cold_store")
_OF_STORES: Final = ("start_empty", "start_half", "start_full", "final_", "no_terminal")


_OF_LISTS: Final = frozenset(
    ["@load", "@heat_load", "@cooling_load", "@pv", "@wind",
     "demand", "heat", "cool", "electric", "power", "available"]
)  # fmt: skip


_DAYTIMES: Final = frozenset({"morning", "afternoon", "evening", "night"})


@dataclass
class Reader(Numbers):
    """Reads the lines of a draft for a plant."""

    goal: Goal | None = None
    curves: Mapping[str, Curve] = field(default_factory=dict)
    offers: Mapping[str, Offer] = field(default_factory=dict)
    stays: Mapping[str, Mapping[str, tuple[str, Cell]]] = field(default_factory=dict)
    shares: Sequence[tuple[float, float, int]] = ()
    steps: "Steps | None" = None
    tapers: Sequence[Taper] = ()
    modes: Modes | None = None
    laws: Mapping[str, Law] = field(default_factory=dict)
    eir: Mapping[str, Eir] = field(default_factory=dict)
    icing: Icing | None = None
    reset: Reset | None = None
    constants: Sequence["Constant"] = ()
    balancing: "Balancing | None" = None
    ahead: Ahead | None = None
    investing: "Investing | None" = None
    shifts: Sequence["Shift"] = ()
    ready: "Readiness | None" = None
    priorities: "Priorities | None" = None
    acceptance: "Acceptance | None" = None

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
        free = [
            i
            for i in free
            if not (self._counts(n, i) or self._restated(n, i) or self._other_count(n, i))
        ]
        for a, b in self._segments(marked):
            reason = self._all_of(n, marked, free, self._at_commas(marked, a, b))
            for apart in (units_apart, predicates_apart):
                pieces = apart(marked, a, b) if reason is not None else []
                if pieces and self._all_of(n, marked, free, pieces) is None:
                    reason = None
            if reason is not None:
                return reason
        return None

    def _all_of(
        self, n: int, marked: Marked, free: list[int], clauses: Sequence[tuple[int, int]]
    ) -> str | None:
        """Read clauses one after the other; return why the first was not understood, if any."""
        for first, last in clauses:
            inside = [i for i in free if first <= i < last and not self.draft.is_taken(n, i)]
            reason = (
                self._numbers(n, marked, inside, (first, last))
                if inside
                else self._statement(n, marked, first, last)
            )
            if reason is not None:
                return reason
        return None

    def _segments(self, marked: Marked) -> list[tuple[int, int]]:
        """Cut a sentence at semicolons."""
        tokens = marked.line.tokens
        marks = (i for i, t in enumerate(tokens) if t.text in (";", ".") and t.kind == "mark")
        cuts = [0, *(i + 1 for i in marks), len(tokens)]
        return [(a, b) for a, b in pairwise(cuts) if a < b]

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
                and not self.whole(tokens[i])
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
            subject = {c for c in marked.said(first, a) if c.startswith("@")}
            told = stated(said) or (len(subject) == 1 and stated(said | subject))
            own = not has and bool(said - {"start", "end"}) and (named or bool(told))
            if own:
                if start < a:
                    result.append((start, a))
                result.append((a, b))
                start = b
        if start < last:
            result.append((start, last))
        return [pair for pair in result if pair[0] < pair[1]]

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
        if all(self.draft.is_taken(n, i) or line.tokens[i].kind == "mark"
               for i in range(first, last)):  # fmt: skip
            return None
        outside = leaves_out_the_end(self.draft.lines, n)
        if outside is not None and set(range(first, last)) <= set(outside):
            self._background(n, first, last)
            return None
        if self.goal is not None and n == self.goal.line:
            return self._goal(marked, first, last)
        if is_story(marked, first, last, said):
            return None
        if self._asked(marked, first, last, said):
            a, b = line.tokens[first].span[0], line.tokens[last - 1].span[1]
            self.draft.facts.append(Fact("background", n, (a, b), {}, ""))
            return None
        changes = changes_something(marked, first, last)
        empty = says_nothing(marked, first, last) or gives_reason(marked, first, last)
        if empty and not changes:
            self._background(n, first, last)
            return None
        asks = changes or bears(marked, said, times) or self._asks(n, first, last, said)
        if self._about_the_end(n, said) or (not times and self._leads_list(n, first, last, said)):
            self._says_when(n, first, last)
            return None
        if not asks and stated(said) is None and not self._joined(marked, first, last):
            return self._weighed(n, marked, first, last)
        described = any(t.kind == "code" for t in line.tokens[first:last]) and not said & group(
            "binding"
        )
        if described and not times:
            return self._weighed(n, marked, first, last)
        unknown = [line.tokens[i].text for i in range(first, last) if marked.concepts[i] == UNKNOWN]
        if times and not unknown:
            reason = self._ban(n, marked, first, last)
            if reason is None:
                return None
        fact = stated(said, bool(unknown)) if not times else None
        parts = self._joined(marked, first, last) if fact is None else []
        if parts:
            reasons = [self._statement(n, marked, a, b) for a, b in parts]
            return next((r for r in reasons if r is not None), None)
        if fact is None:
            shown = f" (unknown: {', '.join(unknown)})" if unknown else ""
            return f"no rule covers what this asks for{shown}"
        whole = any(t.kind in TIMES and self.whole(t) for t in line.tokens[first:last])
        if fact in ("no_export", "no_import") and whole and not unknown:
            return self._ban(n, marked, first, last)
        if sheds_a_load(marked, first, last):
            return "may a load be switched off?"
        fact = self._way_of(fact, marked, first)
        if fact == "final_at_least_that":
            if not self._after_start(n):
                return "'that' is not the content at the start"
            fact = "final_at_least_initial"
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

    def _weighed(self, n: int, marked: Marked, first: int, last: int) -> str | None:
        """Refuse a clause that nothing takes where a word of it may change the problem."""
        word = bearing_word(marked, first, last, lambda i: self.draft.is_taken(n, i))
        return None if word is None else f"nothing covers this, and '{word}' may matter"

    @staticmethod
    def _way_of(fact: str, marked: Marked, first: int) -> str:
        """Return which way has no losses, where only the sentence before the comma says so."""
        if fact != "no_loss":
            return fact
        tokens = marked.line.tokens
        begin = max((i + 1 for i in range(first) if tokens[i].text == ";"), default=0)
        before = marked.said(begin, first)
        into = before & {"charge", "wayin", "whencharging"}
        out = before & {"discharge", "wayout", "whendischarging"}
        return "no_loss" if bool(into) is bool(out) else "no_loss_in" if into else "no_loss_out"

    def _about_the_end(self, n: int, said: frozenset[str]) -> bool:
        """Whether a clause holds no more than what a phrase on the end said already."""
        known = {f.name for f in self.draft.facts if f.line == n}
        ends = {"no_terminal", "final_equals_initial", "final_at_least_initial"}
        return bool(known & ends) and said <= {"end", "start", "soc", "hold", "energy", "same"}

    def _leads_list(self, n: int, first: int, last: int, said: frozenset[str]) -> bool:
        """Whether a clause only says of what the list at its end is, which is taken already."""
        tokens = self.draft.lines[n].tokens
        lists = (i for i in range(first, last) if tokens[i].kind == "list")
        return any(self.draft.is_taken(n, i) for i in lists) and said <= _OF_LISTS

    def _says_when(self, n: int, first: int, last: int) -> None:
        """Account for the times of a clause that are the whole horizon."""
        for token in self.draft.lines[n].tokens[first:last]:
            if token.kind in TIMES:
                entry = {"span": list(token.span), "quote": token.text, "reason": "the horizon"}
                self.draft.unused.append(entry)

    def _after_start(self, n: int) -> bool:
        """Whether the last number read so far is what a store holds at the start."""
        before = [r for r in self.draft.readings if 0 <= r.line <= n]
        return bool(before) and before[-1].slot.name in ("initial_energy", "initial_fraction")

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
        if not named and of_a_letter(line, [i.finder for i in self.plant.instances]):
            return "of which unit?"
        self.bans.append(Ban(fact, about, n, period, only))
        self.draft.take(n, range(first, last))
        return None

    def _goal(self, marked: Marked, first: int, last: int) -> str | None:
        """Hold the rest of the sentence with the objective against what an objective may say."""
        tokens = marked.line.tokens
        last = told_besides(marked, first, last)
        said = {c for c in marked.said(first, last) if not c.startswith("@")}
        said -= {"always"} if _asks_each(marked, first, last) else set()
        said -= {"cond"} if _asks_when(marked, first, last) else set()
        strange = [
            tokens[i].text for i in range(first, last)
            if marked.concepts[i] == UNKNOWN and tokens[i].text not in self.labels
        ]  # fmt: skip
        words = {tokens[i].text for i in range(first, last) if marked.concepts[i] == "timeword"}
        short = self.axis is not None and self.axis.hours <= 14 and words <= _DAYTIMES
        harmless = ({"timeword"} if short else set()) | ({"eachday"} if self._one_day() else set())
        strange += sorted(said - group("objective") - harmless)
        times = [t.text for t in tokens[first:last] if t.kind in TIMES and not self.whole(t)]
        if not strange and not times:
            return None
        return f"the objective says more than is understood: {', '.join((*strange, *times))}"

    def _one_day(self) -> bool:
        return self.axis is not None and self.axis.hours == 24

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


_EACH_PERIOD: Final = re.compile(
    r"(?:what|which|how much|how many|when)(?: [a-z]+){0,4} (?:should|shall|do|can|must|are|is|to)"
    r"(?: (?:we|you|i|it|they|the [a-z]+))?(?: to)?(?: (?!never|always|not)[a-z]+){1,4}"
    r" (?:in|for|during|at) (?:each|every) (?:[a-z-]+ )?(?:hour|block|period|quarter|step)"
)


_ASKS_WHEN: Final = re.compile(
    r"^(?:which|what)(?: [a-z]+){1,3} (?:runs?|(?:is|are) (?:served|supplied|on|run)) (?:and )?when"
    r"(?= so| such|$)|^when (?:should|shall|do|does|must)(?: [a-z]+){1,4}(?= so| such|$)"
)


def _asks_when(marked: Marked, first: int, last: int) -> bool:
    """Whether 'when' asks: 'which loads run when?'."""
    text = " ".join(t.text for t in marked.line.tokens[first:last] if t.kind == "word")
    return _ASKS_WHEN.search(text) is not None and len(re.findall(r"\bwhen\b", text)) == 1


def _asks_each(marked: Marked, first: int, last: int) -> bool:
    """Whether 'each hour' belongs to a question: 'what should we sell in each hour?'."""
    text = " ".join(t.text for t in marked.line.tokens[first:last] if t.kind == "word")
    match = _EACH_PERIOD.match(text)
    return match is not None and "always" not in text.split()


def owners_of(plant: Plant, *more: str) -> Owners:
    """Return the units of a plant, and what else it has, as the engine knows components."""
    names: dict[str, Mapping[str, re.Pattern[str]]] = {}
    for instance in plant.instances:
        component = instance.unit.component
        names[component] = {**names.get(component, {}), instance.name: instance.finder}
    return Owners(frozenset((*names, *more)), names)


def instances_named(plant: Plant, owner: str, component: str) -> tuple[Instance, ...]:
    """Return the units that an owner stands for; ``*`` is all of a kind."""
    return tuple(i for i in plant.of(component) if owner in ("*", i.name))
