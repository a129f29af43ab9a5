"""The reading of one problem while it goes on: what was found, which words are accounted for."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engiagent.agents.offline.amounts import Amount, Span
from engiagent.agents.offline.cards import Slot
from engiagent.agents.offline.results import (
    Ambiguous,
    Analysis,
    Conflict,
    Implausible,
    Missing,
    NotUnderstood,
)
from engiagent.agents.offline.tokens import Line, Period, Token

if TYPE_CHECKING:
    from engiagent.blueprint.document import Blueprint

Json = dict[str, Any]


@dataclass(frozen=True)
class Fact:
    """A phrase that a rule recognised."""

    name: str
    line: int
    span: Span
    groups: dict[str, Token]
    words: str


@dataclass(frozen=True)
class Cell:
    """The row of a unit in a column of a file whose column ``head`` names the units."""

    file: str
    head: str
    column: str
    label: str


@dataclass(frozen=True)
class Blocks:
    """Blocks of several periods each, as hours over quarter-hours: a time set of its own.

    Attributes
    ----------
    origin
        The file that gives values by block; empty where only the text speaks of blocks.
    """

    name: str
    start: str
    step_minutes: float
    periods: int
    zone: str | None = None
    origin: str = ""

    @property
    def step_text(self) -> str:
        """The length of a block as a blueprint writes it."""
        whole = self.step_minutes % 60 == 0
        return f"{self.step_minutes / 60:g} h" if whole else f"{self.step_minutes:g} min"


@dataclass(frozen=True)
class Value:
    """A number, or a series over the periods, with its unit and where it comes from.

    ``blocks`` are what a series is over where that is not the periods.

    ``expression`` is in terms of ``x0`` (the amount itself) and names of other slots.
    """

    unit: str
    source: Any
    number: float | None = None
    numbers: tuple[float, ...] | None = None
    data: str | None = None
    expression: str = "x0"
    said: str = ""
    cell: "Cell | None" = None
    blocks: "Blocks | None" = None

    @property
    def is_series(self) -> bool:
        """Whether it varies over the periods."""
        return self.numbers is not None or self.data is not None


@dataclass(frozen=True)
class Reading:
    """A slot of a component, filled."""

    owner: str
    slot: Slot
    value: Value
    bound: str
    line: int
    span: Span
    words: str = ""


@dataclass(frozen=True)
class Priced:
    """A price, with the times of the day at which it holds (None: at all, or all other, times)."""

    role: str
    value: Value
    period: Period | None
    line: int
    span: Span


@dataclass(frozen=True)
class Band:
    """Limits of a temperature at some times of the day."""

    owner: str
    limits: tuple[tuple[str, Value], ...]
    period: Period | None
    line: int
    span: Span
    inclusive: bool = False


@dataclass
class Draft:
    """Everything read so far. Lines of tables are marked in :attr:`table_lines`."""

    text: str
    lines: list[Line]
    table_lines: dict[int, Json] = field(default_factory=dict)
    taken: set[tuple[int, int]] = field(default_factory=set)
    facts: list[Fact] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)
    prices: list[Priced] = field(default_factory=list)
    bands: list[Band] = field(default_factory=list)
    gains: list[Priced] = field(default_factory=list)
    series: dict[tuple[str, str], Value] = field(default_factory=dict)
    unused: list[Json] = field(default_factory=list)
    missing: list[Missing] = field(default_factory=list)
    not_understood: list[NotUnderstood] = field(default_factory=list)
    ambiguous: list[Ambiguous] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)
    implausible: list[Implausible] = field(default_factory=list)
    assumptions: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, line: int, tokens: range | list[int]) -> None:
        """Account for tokens of a line."""
        self.taken.update((line, i) for i in tokens)

    def is_taken(self, line: int, token: int) -> bool:
        """Whether a token is accounted for."""
        return (line, token) in self.taken

    def free_amounts(self, *kinds: str) -> Iterator[tuple[int, int, Amount]]:
        """Yield line, token and amount of every number that nothing has taken yet."""
        for n, line in enumerate(self.lines):
            for i, token in enumerate(line.tokens):
                amount = token.amount
                fits = amount is not None and (not kinds or amount.kind in kinds)
                if fits and amount is not None and not self.is_taken(n, i):
                    yield n, i, amount

    def has(self, name: str) -> bool:
        """Whether a fact was stated."""
        return any(fact.name == name for fact in self.facts)

    def fact(self, name: str) -> Fact | None:
        """Return the first statement of a fact."""
        return next((fact for fact in self.facts if fact.name == name), None)

    def quote(self, line: int, *more: Span) -> Json:
        """Return a text source for the sentence of a line, and for other places of the text."""
        return self.quoted(self.lines[line].sentence.span, *more)

    def spoken_clock(self, spans: tuple[Span, ...]) -> Json | None:
        """Return how clock times were read that are not written as hours and minutes."""
        said = [" ".join(self.text[a:b].split()) for a, b in spans]
        spoken = [
            s for s in said if re.search(r"(?i)\d\s?[ap]\.?m|noon|midday|o'clock|first|last", s)
        ]
        if not spoken:
            return None
        shown = ", ".join(dict.fromkeys(spoken))
        return {"kind": "assumption", "reason": f"on a 24-hour clock: {shown}"}

    def quoted(self, span: Span, *more: Span) -> Json:
        """Return a text source for one or several places."""
        source: Json = {"kind": "text", **self._place(span)}
        if more:
            source["spans"] = [self._place(other) for other in more]
        return source

    def _place(self, span: Span) -> Json:
        return {"span": list(span), "quote": self.text[span[0] : span[1]]}

    def source(self, line: int, amount: Amount) -> Json:
        """Return the source of an amount: its cell in a table, or its place in the text."""
        cells = self.table_lines.get(line, {}).get("cells", ())
        for source in cells:
            start, end = source["span"]
            if start <= amount.span[0] and amount.span[1] <= end:
                return dict(source)
        return text_source(amount)

    def doubt(self, line: int, message: str) -> None:
        """Report a sentence that can be read in two ways."""
        span = self.lines[line].sentence.span
        entry = Ambiguous(self.text[span[0] : span[1]], span, message)
        if entry not in self.ambiguous:
            self.ambiguous.append(entry)

    def clash(
        self, line: int, code: str, about: tuple[str, str], message: str, spans: tuple[Span, ...]
    ) -> None:
        """Report two statements that cannot both hold; ``about`` is component and quantity."""
        self.doubt(max(line, 0), message)
        entry = Conflict(code, *about, message, tuple(s for s in spans if s != (0, 0)))
        if entry not in self.conflicts:
            self.conflicts.append(entry)

    def place(self, reading: Reading) -> Span:
        """Return where a value stands: its own place in the text, else its sentence."""
        return source_span(reading.value.source) or reading.span

    def refuse(self, line: int, reason: str) -> None:
        """Report a sentence that was not understood, once."""
        span = self.lines[line].sentence.span
        if all(entry.span != span for entry in self.not_understood):
            text = re.sub(r"\s+", " ", self.text[span[0] : span[1]])
            self.not_understood.append(NotUnderstood(text, span, reason))

    def assume(self, text: str) -> None:
        """Announce a convention, once."""
        if text not in self.assumptions:
            self.assumptions.append(text)

    def lacks_axis(self) -> None:
        """Report that nothing says how long the horizon is."""
        message = "the time axis is not given: how many periods, how long?"
        self.missing.append(Missing("time", "periods", message))

    def lacks_goal(self) -> None:
        """Report that nothing says what is to be best."""
        message = "no objective is stated: what is to be small or large?"
        self.missing.append(Missing("objective", "sense", message))

    def analysis(self, blueprint: "Blueprint | None", given: Sequence[str] = ()) -> Analysis:
        """Return all that was read and reported; ``given`` are the slots that the user filled."""
        return Analysis(
            blueprint,
            tuple(self.missing),
            tuple(self.not_understood),
            tuple(self.ambiguous),
            tuple(self.assumptions),
            (*self.notes, *(f"given by the user: {name}" for name in given)),
            tuple(self.conflicts),
            tuple(self.implausible),
        )

    def find(self, owner: str, slot: str) -> Reading | None:
        """Return what fills a slot of a component."""
        return next((r for r in self.readings if r.owner == owner and r.slot.name == slot), None)


def source_span(source: Any) -> Span | None:
    """Return the place in the text of a source, None where it has none."""
    if isinstance(source, dict) and source.get("kind") in ("text", "table"):
        start, end = source["span"]
        return int(start), int(end)
    return None


def text_source(amount: Amount) -> Json:
    """Return the source of an amount in the running text."""
    if amount.quote.lower() in ("a", "an"):
        return {"kind": "assumption", "reason": f"'{amount.quote}' before {amount.unit} is one"}
    return {"kind": "text", "span": list(amount.span), "quote": amount.quote}


def amount_value(amount: Amount, source: Json, expression: str = "x0") -> Value:
    """Return an amount as a value."""
    return Value(amount.unit or "1", source, amount.value, expression=expression)
