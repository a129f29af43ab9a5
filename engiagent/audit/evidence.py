"""What the engine did not understand, and whether it could hold what the engine misses.

A value is missing only where nothing that stays unread could be it. A number of the right kind in a
sentence, cell or column that was not understood, or a word that speaks of the quantity there, is
enough to leave the question open.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from engiagent.agents.offline import Understanding
from engiagent.agents.offline.tokens import Line
from engiagent.audit.tables import Quantity, absence_words
from engiagent.explain.places import Span

if TYPE_CHECKING:
    from engiagent.problems import Problem

_SURPLUS: Final = "was read but has no place"
_CLOCK: Final = re.compile(r"\s*(?:\d{1,2}[:.]\d{2}|\d{1,3}\b|\d{4}-\d{2}-\d{2})")
_FAMILIAR: Final = 1 / 3
"""The share of sentences that may stay unread in a text of which one knows what it needs."""


@dataclass(frozen=True)
class Unread:
    """A sentence or cell that was not understood.

    Attributes
    ----------
    words
        As tokens, numbers replaced by their kind.
    kinds
        Of its numbers; one that was taken may have been taken for the wrong thing.
    """

    span: Span
    words: str
    kinds: frozenset[str]


@dataclass(frozen=True)
class Evidence:
    """All that was not understood of a text and its data."""

    unread: tuple[Unread, ...] = ()
    columns: bool = False
    """Whether a column of a file or table has no place."""
    lists: bool = False
    """Whether such a column stands in a list of things, which has no time stamps."""
    told: str = ""
    """All of the text as tokens, for what it says in words alone."""
    familiar: bool = True
    """Whether most of the text was understood, so that what it needs is known."""

    def could_give(self, quantity: Quantity) -> bool:
        """Whether something unread could be the quantity."""
        if self.lists or (quantity.series and self.columns):
            return True
        if "efficiency" in quantity.slots.pattern and absence_words().lossless.search(self.told):
            return True
        return any(
            bool(piece.kinds & quantity.kinds)
            or ("*" in quantity.kinds and bool(piece.kinds))
            or quantity.words.search(piece.words) is not None
            for piece in self.unread
        )

    def asks(self) -> bool:
        """Whether something unread, or a plain word anywhere, could say what is to be best."""
        if absence_words().plain_goals.search(self.told):
            return True
        return any(absence_words().goals.search(piece.words) for piece in self.unread)

    def tells_time(self) -> bool:
        """Whether something unread, or a date anywhere, could say which periods are planned."""
        if absence_words().plain_times.search(self.told):
            return True
        return any(absence_words().times.search(piece.words) for piece in self.unread)

    def covers(self, spans: Iterable[Span]) -> bool:
        """Whether one of the places lies in something that was not understood."""
        wanted = list(spans)
        return any(a < piece.span[1] and piece.span[0] < b for piece in self.unread
                   for a, b in wanted)  # fmt: skip


def evidence_of(found: Understanding, problem: "Problem", without: Iterable[Span] = ()) -> Evidence:
    """Return what was not understood.

    Parameters
    ----------
    without
        Sentences that say themselves that a value is not known.
    """
    analysis, excluded = found.analysis, set(without)
    said = {conflict.message for conflict in analysis.conflicts}
    twice = {span for c in analysis.conflicts if c.code == "two-values" for span in c.spans}
    spans = {
        entry.span
        for entry in analysis.not_understood
        if _SURPLUS not in entry.reason or not _inside(entry.span, twice)
    }
    spans |= {entry.span for entry in analysis.ambiguous if entry.message not in said}
    pieces = [
        Unread(line.sentence.span, line.line, _kinds(line))
        for line in found.draft.lines
        if line.sentence.span not in excluded and _inside(line.sentence.span, spans)
    ]
    columns = [
        entry.text.removeprefix("column ")
        for entry in analysis.not_understood
        if entry.text.startswith("column ")
    ]
    told = [line.line for line in found.draft.lines if not line.sentence.is_heading]
    return Evidence(
        tuple(pieces),
        bool(columns),
        any(not _is_series(name, problem) for name in columns),
        " ; ".join(told),
        len(pieces) <= _FAMILIAR * len(told),
    )


def _is_series(column: str, problem: "Problem") -> bool:
    """Whether a column belongs to a file with time stamps, or to a table with times of the day."""
    file, _, name = column.partition("#")
    if name and file in problem.data:
        return problem.data[file].axis is not None
    tables = [t for t in problem.tables if any(column in cell.text for cell in t.header)]
    return bool(tables) and all(
        _CLOCK.match(row[0].text) is not None for t in tables for row in t.rows if row
    )


def _inside(span: Span, spans: Iterable[Span]) -> bool:
    """Whether a sentence lies in, or holds, one of the places."""
    return any(span[0] <= a < span[1] or a <= span[0] < b for a, b in spans)


def _kinds(line: Line) -> frozenset[str]:
    amounts = [a for t in line.tokens for a in (t.amount, *t.amounts) if a is not None]
    return frozenset(amount.kind for amount in amounts)


def plain(text: str) -> str:
    """Return a text in small letters with single blanks."""
    return re.sub(r"\s+", " ", text.lower()).strip()
