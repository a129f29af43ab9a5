"""What a pipe table means: names and units of its columns, its unit column, its caption."""

import re
from typing import Final

from engiagent.text.markdown import Layout, RawTable
from engiagent.text.parts import Cell, Sentence, Span, Table
from engiagent.units.headers import split_header
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
    return Table(
        raw.header,
        raw.rows,
        tuple(header.name for header in headers),
        tuple(header.unit for header in headers),
        tuple(header.unit_text for header in headers),
        tuple(spans),
        _unit_column(raw),
        _caption(raw.span, sentences),
        raw.span,
    )


def _bare(text: str) -> str:
    return text.replace("**", "").replace("`", "").strip("*_ ")


def _unit_column(raw: RawTable) -> int | None:
    """Return the column that holds units; a first column names units of a plant, as A and B."""
    for k, cell in enumerate(raw.header):
        if k == 0 or _bare(cell.text).lower() not in _UNIT_HEADERS:
            continue
        filled = [text for text in (_cell(row[k]) for row in raw.rows) if text not in ("", "-")]
        known = [t for t in filled if not t.isdigit() and (resolve_unit(t) or "ct" in t)]
        if filled and 2 * len(known) >= len(filled):
            return k
    return None


def _cell(cell: Cell) -> str:
    return _bare(cell.text)


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
