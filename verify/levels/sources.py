"""What a source reference says: its pieces, its places in the text, its numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

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
    return Source(
        str(reference.get("kind", "untraced")),
        None if span is None else (int(span[0]), int(span[1])),
        reference.get("quote"),
        reference,
        of + spans,
    )


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
