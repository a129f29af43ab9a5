"""The running text as passages and sentences, with tables left out and headings kept as context."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from engiagent.agents.offline.amounts import Span


@dataclass(frozen=True)
class Sentence:
    """One sentence, where it stands, and the headings and lead-ins that it stands under."""

    span: Span
    text: str
    passage: int
    heading: str
    lead: str
    is_item: bool
    is_heading: bool = False


@dataclass(frozen=True)
class Passage:
    """A paragraph, a list item or a heading."""

    span: Span
    kind: str
    heading: str
    lead: str


_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?P<title>.*)")
_BOLD_HEADING = re.compile(r"\s{0,3}\*\*(?P<title>[^*.:]{1,60})\*\*:?\s*")
_ITEM = re.compile(r"\s*(?:[-*+•]|\(?\d{1,2}[.)]|\(?[a-z]\))\s+(?=\S)")
_TABLE = re.compile(r"\s*\|.*|\s*:?-{3,}:?\s*(\|\s*:?-{3,}:?\s*)+\|?\s*")
_RULE = re.compile(r"\s*(?:[-*_=]\s*){3,}\s*")
_CAPTION = re.compile(r"\s*(?:\*\*|_)?table\s+[\dA-Z]+\b\s*[:.–-]", re.I)
_FENCE = re.compile(r"\s*(```|~~~)")
_END = re.compile(r"(?<=[.!?])[\"')\]*_]*(?=\s+[\"'(*_`]*[A-Z0-9°€$-]|\s+`|\s*$)")
_ABBREVIATIONS: Final = frozenset(
    [
        "max",
        "min",
        "approx",
        "ca",
        "resp",
        "incl",
        "excl",
        "no",
        "nos",
        "fig",
        "tab",
        "eq",
        "i.e",
        "e.g",
        "etc",
        "vs",
        "st",
        "dr",
        "mr",
        "mrs",
        "ms",
        "el",
        "th",
        "nom",
        "cf",
        "vol",
        "temp",
        "avg",
        "sec",
        "hrs",
        "inc",
        "co",
        "ltd",
        "e.g.",
    ]
)


def passages(text: str, start: int, table_spans: tuple[Span, ...]) -> list[Passage]:
    """Split the body of a problem into passages; lines inside a table are left out."""
    found: list[Passage] = []
    heading, lead = "", ""
    begin: int | None = None
    kind = "paragraph"
    offset = start

    def close(end: int) -> None:
        nonlocal begin, lead, kind
        if begin is not None and text[begin:end].strip():
            found.append(Passage((begin, end), kind, heading, lead if kind == "item" else ""))
            if kind == "paragraph":
                body = text[begin:end].rstrip()
                lead = re.split(r"(?<=[.!?])\s", body)[-1] if body.endswith(":") else ""
        begin, kind = None, "paragraph"

    for line in text[start:].splitlines(keepends=True):
        title = _HEADING.fullmatch(line.rstrip()) or _BOLD_HEADING.fullmatch(line.rstrip())
        if _skipped(line, offset, table_spans):
            close(offset)
        elif title is not None:
            close(offset)
            heading, lead = title["title"], ""
            place = offset + title.start("title")
            found.append(Passage((place, offset + title.end("title")), "heading", heading, ""))
        elif (item := _ITEM.match(line)) is not None:
            close(offset)
            begin, kind = offset + item.end(), "item"
        elif begin is None:
            begin = offset
        offset += len(line)
    close(len(text))
    return found


def _skipped(line: str, offset: int, tables: tuple[Span, ...]) -> bool:
    inside = any(a <= offset < b for a, b in tables)
    return (
        inside
        or not line.strip()
        or _TABLE.fullmatch(line.rstrip("\n")) is not None
        or _RULE.fullmatch(line.strip()) is not None
        or _FENCE.match(line) is not None
        or _CAPTION.match(line) is not None
    )


def sentences(text: str, found: list[Passage]) -> list[Sentence]:
    """Split passages into sentences."""
    result = []
    for number, passage in enumerate(found):
        for span in _split(text, passage.span):
            result.append(
                Sentence(
                    span,
                    text[span[0] : span[1]],
                    number,
                    passage.heading,
                    passage.lead,
                    passage.kind == "item",
                    passage.kind == "heading",
                )
            )
    return result


def _split(text: str, span: Span) -> list[Span]:
    cuts = [span[0]]
    for match in _END.finditer(text, *span):
        word = re.search(r"([\w.]+)\.[\"')\]*_]*$", text[cuts[-1] : match.end()])
        if word is not None and word[1].lower() in _ABBREVIATIONS:
            continue
        if match.end() < span[1]:
            cuts.append(match.end())
    cuts.append(span[1])
    spans = []
    for a, b in pairwise(cuts):
        piece = text[a:b]
        left = a + len(piece) - len(piece.lstrip())
        right = left + len(piece.strip())
        if right > left:
            spans.append((left, right))
    return spans
