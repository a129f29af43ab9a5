"""What a place of a text is about: lines as concepts, and the unit that was spoken of last."""

import re
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from engiagent.agents.offline.draft import Draft
from engiagent.agents.offline.passages import Sentence
from engiagent.agents.offline.plant.language.words import (
    NEUTRAL,
    UNKNOWN,
    Marked,
    group,
    mark,
    vocabulary,
)
from engiagent.agents.offline.plant.times.horizon import horizon_words
from engiagent.agents.offline.plant.units import Plant, nouns, pattern_of
from engiagent.agents.offline.timing import Axis
from engiagent.agents.offline.tokens import Line, Token, tokenise

STRANGER: Final = "?"
"""What 'it' is when the sentence before is on something that nothing here knows."""
PRONOUNS: Final = frozenset({"it", "its", "they", "their"})


_HOURLY: Final = re.compile(
    r"<percent#\d+> (?:of (?:its|the|their) (?:[a-z]+ ){1,3}?)?"
    r"(?P<rate>per|each|every|an) hour(?![a-z-])"
)
"""A share that is lost by the hour; 'per hour' elsewhere says how long the periods are."""
_THE_UNIT: Final = re.compile(r"(?:the|our|this) (?:unit|machine|device)(?![a-z-])")


@dataclass
class Discourse:
    """The lines of a draft, what their words mean, and what they are about."""

    draft: Draft
    plant: Plant
    axis: Axis | None

    def __post_init__(self) -> None:
        self.hints: dict[int, str] = {}
        self.words = vocabulary(nouns(self.plant), self.plant.concepts)
        self.cache: dict[int, Marked] = {}
        self.kinds = {
            component: pattern_of(text)
            for component, text in nouns(self.plant).items()
            if self.plant.of(component)
        }

    def about(self, n: int, token: int) -> str | None:
        """Return which kind of unit a place of a line is about.

        The nearest mention before it counts, then one behind it, then the sentences before it in
        the same paragraph, the lead-in of its list and the heading.
        """
        owner = self.draft.table_lines.get(n, {}).get("owner")
        tabled = [i.unit.component for i in self.plant.instances if i.name == owner]
        if tabled:
            return tabled[0]
        words = {t.text for t in self.draft.lines[n].tokens[:token]}
        pronoun = bool(words & PRONOUNS)
        # 'Its fuel' is about what burns it.
        here = [(i, c) for i, c in self._units_in(n) if not (pronoun and c == "fuel")]
        before = [c for i, c in here if i < token]
        if before:
            return before[-1]
        if n in self.hints:
            return self.hints[n]
        sentence = self.draft.lines[n].sentence
        if here and not pronoun:
            return here[0][1]
        machines = {i.unit.component for i in self.plant.instances if i.unit.card.get("output")}
        if len(machines) == 1 and _THE_UNIT.match(self.draft.lines[n].line):
            return machines.pop()
        for k in range(n - 1, -1 if sentence.passage >= 0 else n - 1, -1):
            other = self.draft.lines[k].sentence
            if other.is_heading or other.heading != sentence.heading:
                break
            if other.passage != sentence.passage and not sentence.is_item and k < n - 3:
                break
            found = self._units_in(k)
            if found:
                return found[0][1]
            storing = self._store() if self.marked(k).said() & group("storing") else None
            if storing is not None:
                return storing
            if other.passage == sentence.passage and self._strange(k):
                return STRANGER
        for text in (sentence.lead, sentence.heading):
            named = [c[1:] for c in self._plain(text) if c.startswith("@")]
            if named:
                return named[-1]
        return here[0][1] if here else None

    def _store(self) -> str | None:
        """Return the kind of the only store of a plant."""
        kinds = ("battery", "heat_store", "cold_store")
        stores = [i.unit.component for i in self.plant.instances if i.unit.component in kinds]
        return stores[0] if len(stores) == 1 else None

    def _strange(self, k: int) -> bool:
        """Whether a sentence speaks of something unknown, and no number of it was understood."""
        line = self.draft.lines[k]
        read = any(t.amount and self.draft.is_taken(k, i) for i, t in enumerate(line.tokens))
        return bool(self.marked(k).unknown()) and not read

    def _units_in(self, n: int) -> list[tuple[int, str]]:
        concepts = self.marked(n).concepts
        return [(i, c[1:]) for i, c in enumerate(concepts) if c.startswith("@")]

    def _plain(self, text: str) -> tuple[str, ...]:
        plain = re.sub(r"[^\w\s-]", " ", text.lower())
        line = tokenise(plain, Sentence((0, len(plain)), plain, 0, "", "", False), None)
        return mark(line, self.words).concepts

    def marked(self, n: int) -> Marked:
        """Return a line with its concepts; words that rules took are neutral."""
        if n not in self.cache:
            self.cache[n] = self._marked(n)
        return self.cache[n]

    def _marked(self, n: int) -> Marked:
        line = self.draft.lines[n]
        extra: dict[int, str] = {}
        for i, token in enumerate(line.tokens):
            if token.kind == "word" and self.draft.is_taken(n, i):
                extra[i] = NEUTRAL
            if self.axis is not None and self._before_start(token):
                extra[i] = "start"
            if token.kind == "clock" and self.axis is not None and token.clock is not None:
                edge = self._edge(line, i, token.clock)
                if edge is not None:
                    extra[i] = edge
        for match in _HOURLY.finditer(line.line):
            extra[line.token_at(match.start("rate"))] = "standing"
        if self.axis is not None:
            spoken = horizon_words(line, self.axis)
            extra |= {i: c for i, c in spoken.items() if extra.get(i) != NEUTRAL}
        found = mark(line, self.words, extra)
        concepts = list(found.concepts)
        for i, concept in enumerate(concepts):
            if concept in ("@store", "@engine"):
                stores = any(u.unit.card.get("model") == "battery" for u in self.plant.instances)
                none = UNKNOWN if stores or concept == "@engine" else "absent"
                concepts[i] = self.plant.generic.get(concept, none)
            elif concept == "allnight":
                concepts[i] = "always" if self._at_night() else UNKNOWN
        return Marked(line, tuple(concepts), found.joints, found.phrased)

    def _at_night(self) -> bool:
        """Whether the horizon is a night, so that 'all night' is all of it."""
        if self.axis is None or self.axis.hours > 16:
            return False
        return self.axis.start_clock >= 16 or self.axis.start_clock <= 4

    def whole(self, token: Token) -> bool:
        """Whether a period of the day is all of the horizon, so that it restricts nothing."""
        if self.axis is None or token.period is None or token.period.rest or self.axis.hours > 24:
            return False
        return all(
            any(a <= clock < b for a, b in token.period.ranges) for clock in self.axis.clocks()
        )

    def _before_start(self, token: Token) -> bool:
        """Whether a token is 'before 06:00' where the horizon begins then."""
        assert self.axis is not None
        before = token.kind == "period_open" and token.text.lower().startswith("before")
        clock = token.clock
        return before and clock is not None and abs(clock % 24 - self.axis.start_clock) < 1e-9

    def _edge(self, line: Line, i: int, clock: float) -> str | None:
        """Return whether a time of the day is the start or the end of the horizon.

        Where both are the same, words such as 'again' before it tell them apart.
        """
        assert self.axis is not None
        first = abs(clock - self.axis.start_clock) < 1e-9
        last = abs(clock % 24 - self.axis.end_clock % 24) < 1e-9
        if first and last:
            before = takewhile(lambda t: t.text not in (",", ";"), reversed(line.tokens[:i]))
            words = [t.text for t in before][::-1]
            owns = {
                i for i, word in enumerate(words) if word == "has" and "to" not in words[i : i + 2]
            }
            again = {word for i, word in enumerate(words) if i not in owns} & group("again")
            return "end" if again else "start"
        return "start" if first else "end" if last else None
