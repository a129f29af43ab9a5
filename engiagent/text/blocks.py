"""Sentences and tables: prose cut where sentences end, and what a pipe table means."""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from engiagent.errors import InputError
from engiagent.text.markdown import DROPPED, Block, Layout, RawTable
from engiagent.text.parts import Sentence, SentenceKind, Span, Table
from engiagent.units.headers import split_header
from engiagent.units.wordlists import listed
from engiagent.units.words import Conventions, resolve_unit

_CAPTION: Final = re.compile(r"(?i)\s*(?:table|tab\.)\s{1,5}[\dA-Z][\w.]{0,10}\s{0,3}[:.)–-]")
_UNIT_HEADERS: Final = frozenset(
    ["unit", "units", "[unit]", "(unit)", "unit of measure", "uom", "dimension", "measured in"]
)


def read_tables(
    layout: Layout, sentences: tuple[Sentence, ...], conventions: Conventions
) -> tuple[Table, ...]:
    """Return the tables of a text in order."""
    return tuple(_table(raw, sentences, conventions) for raw in layout.tables)


def _table(raw: RawTable, sentences: tuple[Sentence, ...], conventions: Conventions) -> Table:
    headers = [split_header(_bare(cell.text), conventions) for cell in raw.header]
    spans: list[Span | None] = []
    for cell, header in zip(raw.header, headers, strict=True):
        at = cell.text.find(header.unit_text) if header.unit_text and header.span else -1
        start = cell.span[0] + at
        spans.append((start, start + len(header.unit_text)) if at >= 0 else None)
    names, units = tuple(h.name for h in headers), tuple(h.unit for h in headers)
    texts, caption = tuple(h.unit_text for h in headers), _caption(raw.span, sentences)
    place = _unit_column(raw), caption, raw.span
    return Table(raw.header, raw.rows, names, units, texts, tuple(spans), *place)


def _bare(text: str) -> str:
    return text.replace("**", "").replace("`", "").strip("*_ ")


def _unit_column(raw: RawTable) -> int | None:
    """Return the column that holds units; a first column names units of a plant, as A and B."""
    for k, cell in enumerate(raw.header):
        if k == 0 or _bare(cell.text).lower() not in _UNIT_HEADERS:
            continue
        texts = (_bare(row[k].text) for row in raw.rows)
        filled = [text for text in texts if text not in ("", "-")]
        known = [t for t in filled if not t.isdigit() and (resolve_unit(t) or "ct" in t)]
        if filled and 2 * len(known) >= len(filled):
            return k
    return None


def _caption(span: Span, sentences: tuple[Sentence, ...]) -> str:
    """Return the caption line just above or below, else the nearest heading above."""
    above = [s for s in sentences if s.span[1] <= span[0]]
    below = next((s for s in sentences if s.span[0] >= span[1]), None)
    if above and _CAPTION.match(above[-1].text):
        return above[-1].text
    # "Table 2: mountings" below this table may belong to the next one, which follows at once.
    headings = [s.text for s in above if s.kind == "heading"]
    if headings:
        return headings[-1]
    return below.text if below is not None and _CAPTION.match(below.text) else ""


MAX_SENTENCES: Final = 50_000

_END: Final = re.compile(r"(?<![.!?…])[.!?…]{1,20}[\"'”\u2019)\]*_`\0]{0,4}(?=\s)")
_NEXT: Final = re.compile(r"\s+[\"'“\u2018(\[*_`\0]{0,4}(\S)")
_KEY_LINE: Final = re.compile(r"[ \t]*[A-Z][^\n.!?:=]{0,50}[:=][ \t]+\S")
_ABBREVIATIONS: Final = frozenset(listed("text", "abbreviations"))
# A sentence may end with these, so a capital letter behind them opens a new one after a number.
_UNIT_LIKE: Final = frozenset(["min", "max", "hr", "hrs", "p", "temp", "no", "sec"])


def read_sentences(layout: Layout, file: str) -> tuple[Sentence, ...]:
    """Return the sentences of all blocks but tables, in order."""
    found: list[Sentence] = []
    heading: int | None = None
    for block in layout.blocks:
        if block.kind == "table":
            continue
        for span in _pieces(block, layout.clean):
            text = " ".join(layout.clean[slice(*span)].replace(DROPPED, "").split())
            if not text:
                continue
            inner = block.kind in ("heading", "code", "item")
            kind: SentenceKind = block.kind if inner else "sentence"  # type: ignore[assignment]
            found.append(Sentence(text, span, kind, heading))
        if block.kind == "heading" and found:
            heading = len(found) - 1
        if len(found) > MAX_SENTENCES:
            raise InputError(f"more than {MAX_SENTENCES} sentences", file)
    return tuple(found)


def _pieces(block: Block, clean: str) -> Iterator[Span]:
    start, end = block.span
    if block.kind in ("heading", "code"):
        yield _trimmed(clean, start, end)
        return
    for first, last in _key_lines(block, clean) if block.kind == "paragraph" else [(start, end)]:
        position = first
        for match in _END.finditer(clean, first, last):
            if match.start() >= position and _ends(clean, position, match, last):
                yield _trimmed(clean, position, match.end())
                position = match.end()
        if clean[position:last].strip(" \t\n\0"):
            yield _trimmed(clean, position, last)


def _key_lines(block: Block, clean: str) -> list[Span]:
    """Cut a paragraph that is a list of ``Name: value`` lines at these lines."""
    start, end = block.span
    cuts, position = [], start
    for line in clean[start:end].split("\n"):
        if _KEY_LINE.match(line):
            cuts.append(position)
        position += len(line) + 1
    if len(cuts) < 2:
        return [(start, end)]
    edges = sorted({start, *cuts, end})
    return list(pairwise(edges))


def _ends(clean: str, start: int, match: re.Match[str], last: int) -> bool:
    """Whether a full stop ends a sentence: what follows opens one, and no abbreviation precedes."""
    following = _NEXT.match(clean, match.end(), last)
    if following is None or match[0][0] in "!?":
        return True
    head = following[1]
    word = re.search(
        r"([A-Za-z][A-Za-z.]{0,12})$", clean[max(start, match.start() - 14) : match.start()]
    )
    name = word[1].lower().rstrip(".") if word else ""
    if head.islower():
        return False
    if name in _ABBREVIATIONS:
        start = match.start() - len(word[1] if word else "")
        after_number = re.search(r"\d\s*$", clean[max(0, start - 4) : start])
        return name in _UNIT_LIKE and not head.isdigit() and after_number is not None
    if name in ("a.m", "p.m", "etc", "u.s"):
        return head.isupper()
    return True


def _trimmed(clean: str, start: int, end: int) -> Span:
    blank = " \t\n\0"
    while start < end and clean[start] in blank:
        start += 1
    while end > start and clean[end - 1] in blank:
        end -= 1
    return start, end
