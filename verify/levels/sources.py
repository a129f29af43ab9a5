"""What a source reference says: its pieces, its places in the text, its numbers."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from engiagent.units.unit import Unit, parse_unit
from engiagent.units.words import resolve_unit
from engiagent.verify.figures import close_to, lone_units, rate_of_things
from engiagent.verify.requirements import squeezed

Span = tuple[int, int]
SHORT = 200
"""Characters that may be quoted of any text: one or two sentences."""


class ProblemLike(Protocol):
    """What the checker needs of a problem; see the architecture page."""

    @property
    def id(self) -> str:
        """A short name."""

    @property
    def text(self) -> str:
        """The whole file."""

    @property
    def body_start(self) -> int:
        """Where the front matter ends."""

    @property
    def folder(self) -> Path:
        """Where data files lie."""

    @property
    def expert(self) -> Path | None:
        """Where annotated requirements lie."""

    @property
    def tables(self) -> Any:
        """Tables of the text."""

    @property
    def sentences(self) -> Any:
        """Sentences with their spans."""

    @property
    def quantities(self) -> Any:
        """Numbers of the text with their spans."""

    @property
    def sha256(self) -> Any:
        """Hashes of the text and of every file."""


@dataclass(frozen=True)
class Source:
    """One source reference, read from JSON.

    ``kind``: as in the architecture page; ``untraced`` for a plain string. ``of``: the sources that
    this one was made from.
    """

    kind: str
    span: Span | None = None
    quote: str | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    of: tuple["Source", ...] = ()

    def leaves(self) -> Iterator["Source"]:
        """Yield the sources that stand at the beginning: this one, or those it was made from."""
        if self.of:
            for part in self.of:
                yield from part.leaves()
        if not self.of or self.span is not None:
            yield self


def read_sources(reference: Any) -> tuple[Source, ...]:
    """Return the sources of a reference: none, one, or a list."""
    if reference is None:
        return ()
    if isinstance(reference, str):
        return (Source("untraced", quote=reference),)
    if isinstance(reference, Mapping):
        return (_read(reference),)
    return tuple(source for item in reference for source in read_sources(item))


def _read(reference: Mapping[str, Any]) -> Source:
    of = read_sources(reference.get("of"))
    spans = tuple(
        Source("text", (int(s["span"][0]), int(s["span"][1])), s["quote"])
        for s in reference.get("spans") or ()
    )
    span = reference.get("span")
    place = None if span is None else (int(span[0]), int(span[1]))
    kind, quote = str(reference.get("kind", "untraced")), reference.get("quote")
    return Source(kind, place, quote, reference, of + spans)


def all_leaves(reference: Any) -> list[Source]:
    """Return every leaf of a reference, in the order of writing."""
    return [leaf for source in read_sources(reference) for leaf in source.leaves()]


def misquotation(source: Source, text: str) -> str | None:
    """Return what is wrong with a span and its quote, None when they agree."""
    if source.kind not in ("text", "table") and source.span is None:
        return None
    if source.span is None:
        if source.quote is None:
            return "the source gives neither a place nor the words"
        found = squeezed(source.quote) in squeezed(text)
        return None if found else f"the text does not say {squeezed(source.quote)!r}"
    start, stop = source.span
    if not 0 <= start < stop <= len(text):
        return f"the span {start} to {stop} is not in the text of {len(text)} characters"
    if source.quote is not None and squeezed(text[start:stop]) != squeezed(source.quote):
        return (
            f"at {start} to {stop} the text says {squeezed(text[start:stop])[:60]!r}, "
            f"not {squeezed(source.quote)[:60]!r}"
        )
    return None


def words_of(source: Source, text: str) -> str:
    """Return the words that a source points at."""
    if source.span is not None:
        return text[source.span[0] : source.span[1]]
    return source.quote or ""


def is_most_of(source: Source, problem: ProblemLike) -> bool:
    """Whether a source points at so much of the text that it points at nothing."""
    if source.kind == "table" or source.span is None:
        return False
    length = source.span[1] - source.span[0]
    return length > SHORT and 2 * length > len(problem.text) - problem.body_start


# --- units of numbers that have none beside them: from a table, a sentence ----------------------


def unit_elsewhere(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the unit of a number that has none beside it."""
    found = _table_unit(problem, leaf) or _quantity_unit(problem, leaf, wanted)
    if found is None and leaf.kind != "table" and leaf.span is not None:
        # ``1/h`` for the 40 of ``40 points per hour``
        found = rate_of_things(problem.text[leaf.span[1] : leaf.span[1] + 80])
    return found or _sentence_unit(problem, leaf, wanted)


def _cell(problem: ProblemLike, span: Span) -> tuple[Any, Any, int] | None:
    for table in problem.tables:
        for row in table.rows:
            for place, cell in enumerate(row):
                if cell.span[0] <= span[0] and span[1] <= max(cell.span[1], cell.span[0] + 1):
                    return table, row, place
    return None


def _table_unit(problem: ProblemLike, leaf: Source) -> Unit | None:
    """Return the unit of a table's cell: from its row, or from its column's header."""
    found = None if leaf.span is None else _cell(problem, leaf.span)
    if leaf.kind != "table" or found is None:
        return None
    table, row, place = found
    if table.unit_column is None or table.unit_column == place:
        unit: Unit | None = table.units[place]
        return unit
    return resolve_unit(row[table.unit_column].text)


def _quantity_unit(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the unit that stands elsewhere: ``kW`` for the 2 of ``from 2 to 8 kW``.

    A duration in the words before a list, as "kWh in each half hour: 3, 4", says nothing of it.
    """
    if leaf.span is None:
        return None
    timed = wanted.dimension == parse_unit("s").dimension
    for quantity in problem.quantities:
        if not timed and getattr(quantity, "kind", "number") == "duration":
            continue
        start, stop = getattr(quantity, "number_span", quantity.span)
        if start < leaf.span[1] and leaf.span[0] < stop and quantity.unit is not None:
            unit: Unit = quantity.unit
            return unit
    return None


def _sentence_unit(problem: ProblemLike, leaf: Source, wanted: Unit) -> Unit | None:
    """Return the one unit of the wanted kind that the sentence names apart from its numbers."""
    if leaf.span is None:
        return None
    tables = [t.span for t in problem.tables if t.span[0] <= leaf.span[0] < t.span[1]]
    whole = [s.span for s in problem.sentences if s.span[0] <= leaf.span[0] < s.span[1]]
    first, last = next(iter((*tables, *whole)), leaf.span)
    for sentence in problem.sentences:
        start, stop = sentence.span
        above = stop <= first and not problem.text[stop:first].strip()
        led = bool(tables) or problem.text[start:stop].rstrip().endswith(":")
        if (start <= first and last <= stop) or (above and led):
            named = {
                (unit.factor, unit.zero): unit
                for unit in lone_units(problem.text[start:stop], problem.text)
                if unit.dimension == wanted.dimension and unit.dimension
            }
            if len(named) == 1:
                return next(iter(named.values()))
    return None


# --- what a text says twice: a number that repeats one already accounted fo ---------------------


_NEAR: Final = 6
"""Words on either side that say what a number with a unit is of."""
_STEM: Final = 5
_COMMON: Final = re.compile(
    r"about|above|after|again|also|always|another|been|before|being|below|between|both|does|"
    r"each|every|exactly|from|further|given|have|here|hold|holds|into|just|kept|know|known|"
    r"least|less|limit|limited|make|many|more|most|must|need|needs|never|only|other|over|"
    r"same|shall|should|since|some|such|take|takes|than|that|their|them|then|there|these|"
    r"they|this|those|until|upon|value|want|were|what|when|where|which|while|will|with|"
    r"within|without|would|amount|amounts|hour|hours|during|remember|recall|note|repeat|"
    r"repeated|stated|said|therefore|hence"
)
_OPPOSITES: Final = (
    ("charg", "disch"),
    ("impor|buy|bough|purch|draw", "expor|sell|sold|sale|deliv|feed"),
    ("maxim|upper|highe|excee|most|above", "minim|lower|lowes|least|below|under|less"),
    ("start|initi|begin|begun|first|openi", "end|ends|final|last|closi"),
    ("heat|heate|warm|winte", "cool|coole|cold|summe|chill"),
    ("inlet|suppl|flow|inflo", "outle|retur|outfl|draw"),
    ("day|dayti", "night"),
    ("weekd", "weeke|satur|sunda"),
    ("reven|incom|earn", "cost|costs|fee|penal"),
)
_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*|\d+")


@dataclass(frozen=True)
class Meaning:
    """What some words are about: their stems, the names among them, their side of opposites."""

    stems: frozenset[str]
    names: frozenset[str]
    sides: frozenset[tuple[int, int]]

    def within(self, other: "Meaning") -> bool:
        """Whether nothing tells it from another: no name of its own, no opposite side."""
        return self.names <= other.names and self.sides <= other.sides


def meaning_of(words: str) -> Meaning:
    """Return what some words are about."""
    found = [match[0] for match in _WORD.finditer(words)]
    stems = {w.lower()[:_STEM] for w in found if len(w) >= 4 and not _COMMON.fullmatch(w.lower())}
    named = found[1:] if found[:1] == ["A"] else found  # the article opens a sentence
    names = {w for w in named if (len(w) == 1 and w.isupper() and w != "I") or w[-1].isdigit()}
    sides = {
        (pair, side)
        for pair, both in enumerate(_OPPOSITES)
        for side, alternatives in enumerate(both)
        for word in found
        if word.lower()[:_STEM] in alternatives.split("|")
    }
    return Meaning(frozenset(stems), frozenset(names), frozenset(sides))


def repeats_number(problem: ProblemLike, quantity: Any, accounted: Iterable[Any]) -> Any | None:
    """Return the accounted quantity that a number of the text repeats, None without one."""
    mine = None
    for other in accounted:
        if not same_amount(quantity, other):
            continue
        mine = mine or _around(problem, quantity)
        theirs = _around(problem, other)
        if other.span[1] <= quantity.span[0] and _points_back(problem, quantity):
            return other
        nearest = (mine[1] & theirs[0].stems) | (theirs[1] & mine[0].stems)
        if nearest and mine[0].within(theirs[0]):
            return other
    return None


def _points_back(problem: ProblemLike, quantity: Any) -> bool:
    """Whether an article before a number says that it is known already: "beyond the 640 kW"."""
    before = problem.text[: quantity.span[0]].split()[-1:]
    return bool(before) and before[0].lower() in ("the", "these", "those", "this", "that", "said")


def same_amount(one: Any, other: Any) -> bool:
    """Whether two numbers of a text are of one kind, one dimension and one size."""
    if one.kind != other.kind or bool(one.unit_text) != bool(other.unit_text):
        return False
    if one.unit is None or other.unit is None:
        return one.unit_text == other.unit_text and close_to(float(one.value), float(other.value))
    return bool(
        one.unit.dimension == other.unit.dimension
        and one.unit.is_point == other.unit.is_point
        and close_to(one.unit.to_si(float(one.value)), other.unit.to_si(float(other.value)))
    )


def _around(problem: ProblemLike, quantity: Any) -> tuple[Meaning, frozenset[str]]:
    """Return what the words beside a number are about, and the stem of the noun next to it."""
    start, stop = quantity.span
    around = (s.span for s in problem.sentences if s.span[0] <= start < s.span[1])
    first, last = next(around, (start, stop))
    most = _NEAR if quantity.unit_text else 2
    before = re.split(r"\d|[;:]", problem.text[first:start])[-1].split()[-most:]
    after = re.split(r"\d|[;:]", problem.text[stop:last])[0].split()[:most]
    behind = [stem for word in after[:2] for stem in meaning_of(word).stems]
    ahead = [stem for word in before for stem in meaning_of(word).stems]
    nearest = behind[:1] or ahead[-1:]
    return meaning_of(" ".join([*before, *after])), frozenset(nearest)
