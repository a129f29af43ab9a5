"""Claims into parameters: every one has to be used, and those on one thing have to agree."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from engiagent.agents.offline.builder import Builder, note_repeat
from engiagent.agents.offline.claims.reader import ALL, ClaimReader, Said
from engiagent.agents.offline.draft import Json, Priced, Value
from engiagent.agents.offline.results import Missing
from engiagent.agents.offline.storage import constrain
from engiagent.agents.offline.tariffs import scheduled

_EACH: Final = re.compile(
    r"(?<![a-z])(?:each|every|identical|alike|apiece|both|any|an?|one|either|neither|no|its|equal|per"
    r"|of the same (?:type|kind|size))(?![a-z])"
)


@dataclass
class Facts:
    """The claims of a text while a model is built of them."""

    reader: ClaimReader
    builder: Builder
    used: set[int] = field(default_factory=set)

    # -- what was said ------------------------------------------------------------------------

    def all(self, claim: str, owner: str | None = None, bound: str | None = None) -> list[Said]:
        """Return the claims of a name, of one unit or of all, limited in one way or in any."""
        return [
            s for s in self.reader.found
            if s.claim == claim and (bound is None or s.bound == bound)
            and (owner is None or s.owner == ALL or owner in s.owner.split(" "))
        ]  # fmt: skip

    def says(self, claim: str, owner: str | None = None) -> Said | None:
        """Return a claim without numbers, and count it as used."""
        found = self.all(claim, owner)
        for said in found:
            self.used.add(id(said))
        return found[0] if found else None

    def use(self, *said: Said) -> None:
        """Count claims as used."""
        self.used.update(id(s) for s in said)

    def one(
        self, claim: str, owner: str | None = None, bound: str | None = None, name: str = "value"
    ) -> Said | None:
        """Return what is said of one thing; claims that differ are a contradiction.

        It counts as used once its value is, or :meth:`use` says so; what repeats it does at once.
        """
        found = [s for s in self.all(claim, owner, bound) if name in s.values]
        # What is said of one unit by its name goes before what is said of all.
        own = [s for s in found if owner is not None and s.owner != ALL]
        found = own or found
        if not found:
            return None
        first = found[0]
        self.use(*found[1:])
        for other in found[1:]:
            self._agree(first, other, name)
        return first

    def _agree(self, first: Said, other: Said, name: str) -> None:
        a, b = first.values[name], other.values[name]
        same = (a.unit, a.number, a.numbers, a.data) == (b.unit, b.number, b.numbers, b.data)
        if same and first.bound == other.bound:
            note_repeat(self.builder, b)
            return
        self.builder.draft.clash(
            max(other.line, 0), "two-values", (first.owner, first.claim),
            f"two statements of the {first.claim.replace('_', ' ')} that differ",
            (first.span, other.span),
        )  # fmt: skip

    # -- parameters ---------------------------------------------------------------------------

    def value(self, said: Said, parameter: str, description: str, name: str = "value") -> str:
        """Return the parameter of a claim's amount."""
        self.use(said)
        return self.builder.value(parameter, said.values[name], description)

    def number(
        self, claim: str, owner: str | None, parameter: str, description: str,
        bound: str | None = None,
    ) -> str | None:  # fmt: skip
        """Return the parameter of what is said of a unit, None where nothing is."""
        said = self.one(claim, owner, bound)
        if said is None:
            return None
        if owner is not None:
            self.of_each(said, owner)
        return self.value(said, parameter, description)

    def of_each(self, said: Said, owner: str) -> None:
        """Report an amount of several units of which it is not said that it is that of each."""
        names = next((n for n in self.reader.names.values() if owner in n), {})
        alone = len(names) < 2 or said.owner != ALL or said.line < 0
        draft = self.builder.draft
        a, b = draft.lines[said.line].sentence.span if not alone else (0, 0)
        first = draft.text.rfind(";", a, said.span[0]) + 1 or a
        last = draft.text.find(";", said.span[1], b)
        clause = draft.text[first : last if last >= 0 else b].lower()
        if not alone and not _EACH.search(clause):
            self.builder.draft.doubt(said.line, "is this of each of them, or of all together?")

    def needed(
        self, made: str | None, owner: str, slot: str, unit: str, said: str, series: bool = False
    ) -> str:
        """Return a parameter; report it as missing where there is none."""
        if made is not None:
            return made
        gap = Missing(owner, slot, f"the {said} of {owner} is not given")
        return self.builder.missing(f"{owner}_{slot}", unit, said, gap, series)

    def series(self, claim: str, owner: str | None, parameter: str, description: str) -> str | None:
        """Return the parameter over the periods of what holds at their times, or always."""
        found = self.all(claim, owner)
        own = [s for s in found if owner is not None and s.owner != ALL]
        found = own or found
        if not found:
            return None
        self.use(*found)
        points = [s for s in found if s.clock is not None]
        if points:
            return self._points(points, found, parameter, description)
        listed = [s for s in found if s.values["value"].is_series]
        if listed and (len(found) > 1 or found[0].period is not None):
            line = max(0, *(s.line for s in found))
            self.builder.draft.doubt(line, f"the {description} is given in two ways")
        if listed or (len(found) == 1 and found[0].period is None):
            return self.builder.value(parameter, (listed or found)[0].values["value"], description)
        priced = [Priced(parameter, s.values["value"], s.period, s.line, s.span) for s in found]
        unit = found[0].values["value"].unit
        return scheduled(self.builder, parameter, priced, unit, description, None)

    def _points(
        self, points: Sequence[Said], found: Sequence[Said], parameter: str, description: str
    ) -> str | None:
        """Return the parameter of values that each name the time of their period."""
        draft, axis = self.builder.draft, self.builder.axis
        clocks = axis.clocks()
        by_clock = {round((s.clock or 0) % 24, 6): s.values["value"] for s in points}
        units = {s.values["value"].unit for s in points}
        fits = len(by_clock) == len(points) == len(found) == len(clocks) and len(units) == 1
        if not fits or axis.hours > 24 or {round(c % 24, 6) for c in clocks} != set(by_clock):
            draft.doubt(
                max(points[0].line, 0), f"the {description} is not given for every period once"
            )
            return None
        ordered = [by_clock[round(c % 24, 6)] for c in clocks]
        for value in ordered:
            self.builder.used.append(value.source)
        numbers = tuple(float(v.number) for v in ordered if v.number is not None)
        sources = [v.source for v in ordered]
        made = Value(units.pop(), sources, numbers=numbers)
        return self.builder.value(parameter, made, description)

    def restated(self, said: Said, other: Said | None, what: str, name: str = "value") -> None:
        """Hold a value that is said again against the one that was said first."""
        self.use(said)
        value = said.values[name]
        first = other.values["value"] if other is not None else None
        if first is None or (first.number, first.unit) != (value.number, value.unit):
            self.builder.used.append(value.source)
            self.builder.draft.doubt(max(said.line, 0), f"this is another {what} than elsewhere")
            return
        note_repeat(self.builder, value)

    # -- rows ---------------------------------------------------------------------------------

    def row(
        self, name: str, text: str, category: str, line: int = -1, each: bool = True,
        where: str | None = None,
    ) -> None:  # fmt: skip
        """Add a row, for every period or once."""
        forall = ["t in T"] if each else None
        constrain(self.builder, name, text, category, line, forall, where)

    def variable(self, name: str, **fields: object) -> str:
        """Add a decision variable over the periods."""
        entry: Json = {"name": name, "index": ["t in T"], "type": "continuous", **fields}
        self.builder.variables.append({k: v for k, v in entry.items() if v is not None})
        return name

    def nothing_lost(self) -> None:
        """Report every claim that was read and entered nothing."""
        draft = self.builder.draft
        for said in self.reader.found:
            if id(said) in self.used or said.claim in ("holds", "ask", "no_waiver"):
                continue
            what = said.claim.replace("_", " ")
            if said.line >= 0:
                draft.refuse(said.line, f"the {what} was read but has no place in the model")
            else:
                draft.notes.append(f"column for {what} is not used")
                draft.doubt(0, f"the column for {what} has no place in the model")
