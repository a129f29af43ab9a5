"""Places with line, column and words, and findings; from spans, sources and rows of files."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import EngiagentError
from engiagent.text import Problem

Span = tuple[int, int]
Severity = Literal["suspicious", "missing", "contradictory"]
LONGEST: Final = 160
MOST_CELLS: Final = 6
"""How many cells of one column are shown."""


@dataclass(frozen=True, order=True)
class Place:
    """Where something stands."""

    file: str  # the file's name as the user knows it
    # line, column: counted from 1; None where a file has no lines or the place is the whole file
    line: int | None
    column: int | None
    quote: str  # the words or the cell, white space collapsed

    def __str__(self) -> str:
        where = ":".join(str(p) for p in (self.file, self.line, self.column) if p is not None)
        return f"{where}: {self.quote!r}" if self.quote else where


@dataclass(frozen=True)
class Part:
    """One member of a set of statements that clash."""

    text: str  # what it says, in words
    expression: str  # the same as the blueprint has it
    # at which elements it takes part, as ``07:00–09:00 on 11 Nov``; empty for all, or for a scalar
    where: str
    places: tuple[Place, ...]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that is missing, clashes or looks like a slip."""

    code: str  # a stable name, as ``missing-value`` or ``infeasible``
    severity: Severity
    # component, quantity: of what; ``time`` and ``objective`` count as components
    component: str
    quantity: str
    explanation: str
    suggestion: str
    # where the text or the data speaks of it; empty where nothing does
    places: tuple[Place, ...] = ()
    parts: tuple[Part, ...] = ()  # the members of a set that clashes
    # how it is known that they clash: ``method``, ``checked`` (whether the checker, or an
    # evaluation of multipliers here, confirmed it), ``margin``
    proof: Mapping[str, Any] | None = None

    @property
    def subject(self) -> str:
        """The quantity with its component, as ``battery.energy_capacity``."""
        return f"{self.component}.{self.quantity}" if self.quantity else self.component

    @property
    def proven(self) -> bool:
        """Whether a proof was checked."""
        return self.proof is not None and bool(self.proof.get("checked"))


@dataclass(frozen=True)
class Text:
    """What places are found in: a problem with its data, or a blueprint's folder alone."""

    problem: Problem | None
    folder: Path | None = None

    def at(self, span: Span) -> Place:
        """Return the place of a span of the problem's text."""
        assert self.problem is not None
        line, column = self.problem.place(span[0])
        words = " ".join(self.problem.text[span[0] : span[1]].split())
        return Place(self.problem.path.name, line, column, _short(words))

    def spans(self, spans: Iterable[Span]) -> tuple[Place, ...]:
        """Return the places of several spans, each once, in the order of the text."""
        if self.problem is None:
            return ()
        return tuple(self.at(span) for span in sorted(set(spans)) if span[1] > span[0])

    def of(self, reference: Any, rows: Sequence[int] = ()) -> tuple[Place, ...]:
        """Return the places that a source reference leads to.

        ``rows`` are rows of a data column, counted from 0, whose cells are wanted.
        """
        return tuple(dict.fromkeys(self._leaves(reference, rows)))

    def _leaves(self, reference: Any, rows: Sequence[int]) -> Iterator[Place]:
        if isinstance(reference, list | tuple):
            for part in reference:
                yield from self._leaves(part, rows)
            return
        if not hasattr(reference, "get"):
            return
        yield from self._leaves(reference.get("of"), rows)
        yield from self._leaves([{**s, "kind": "text"} for s in reference.get("spans") or ()], ())
        kind, span = reference.get("kind"), reference.get("span")
        if kind in ("text", "table") and span is not None and self.problem is not None:
            if 0 <= int(span[0]) < int(span[1]) <= len(self.problem.text):
                yield self.at((int(span[0]), int(span[1])))
        elif kind in ("text", "table") and reference.get("quote"):
            yield from self._quoted(str(reference["quote"]))
        elif kind == "file":
            yield from self.cells(str(reference.get("file")), reference.get("column"), rows)
        elif kind == "user":
            yield Place("the user", None, None, str(reference.get("note", "")))

    def _quoted(self, quote: str) -> Iterator[Place]:
        if self.problem is None:
            # The blueprint came without its text, but it says which words it rests on.
            yield Place("text", None, None, _short(" ".join(quote.split())))
            return
        start = self.problem.text.find(quote)
        if start >= 0:
            yield self.at((start, start + len(quote)))

    def cells(self, file: str, column: Any, rows: Sequence[int]) -> Iterator[Place]:
        """Yield the cells of a column; the column itself where no rows are asked for."""
        data = self.problem.data.get(file) if self.problem is not None else None
        if data is None or column is None:
            yield Place(file, None, None, str(column or ""))
            return
        try:
            found = data.column(str(column))
        except EngiagentError:
            yield Place(file, None, None, str(column))
            return
        wanted = [row for row in rows if 0 <= row < len(found)]
        if not wanted:
            yield Place(file, 1, None, str(column))
        for row in wanted[:MOST_CELLS]:
            yield Place(file, found.source.line(row), None, f"{column} = {found.values[row]}")


def as_json(value: Any) -> Any:
    """Return dataclasses, mappings and sequences as JSON has them."""
    if is_dataclass(value):
        return {field.name: as_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [as_json(item) for item in value]
    return value


def _short(words: str) -> str:
    return words if len(words) <= LONGEST else words[: LONGEST - 2].rstrip() + " …"
