"""Markdown tables: parameters, one column or one row per unit, periods of the day, time series."""

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from engiagent.agents.offline.amounts import kind_of, number_of, read_unit
from engiagent.agents.offline.draft import Json
from engiagent.agents.offline.owners import identifier
from engiagent.agents.offline.passages import Sentence
from engiagent.agents.offline.tokens import Line, Token, tokenise_cell, written

_NUMERIC: Final = re.compile(r"[-−–+]?\d[\d ,\u00a0\u202f]*(?:\.\d+)?")
_TIME_HEAD: Final = re.compile(
    r"(?i)\b(hour|time|period|interval|step|slot|clock|from|start|begin|quarter|mtu|t|h|date)\b"
)
_PERIOD_CELL: Final = re.compile(
    r"\d{1,2}:\d\d\s*(?:-|–|—|to|until)\s*\d{1,2}:\d\d"
    r"|\b(other|otherwise|rest|remaining|outside|all day)\b",
    re.I,
)
_PERIOD_LABEL: Final = re.compile(
    r"(?i)(?:from )?\d{1,2}:\d\d\s*(?:-|–|—|to|until)\s*\d{1,2}:\d\d.*|"
    r"(?:all |at )*(?:the )?(?:other|remaining) (?:times?|hours)|otherwise"
    r"|(?:the )?rest(?: of the day)?"
)
_CLOCK_CELL: Final = re.compile(r"(?:.*\D)?(\d{1,2}):(\d\d)(?::\d\d)?\s*")
_SPAN_CELL: Final = re.compile(r"(\d{1,2}):(\d\d)\s*(?:-|–|—|to|until)\s*(\d{1,2}):(\d\d)")
_COUNT_CELL: Final = re.compile(r"(?:[A-Za-z]+\s*)?(\d{1,3})\.?")
_VALUE_HEAD: Final = re.compile(r"(?i)\b(value|amount|figure|number|setting|data)s?\b")
_NOTE_HEAD: Final = re.compile(
    r"(?i)\b(unit|note|notes|remark|remarks|comment|comments|symbol|source|description|abbreviation)s?\b"
)
_COUNT_HEAD: Final = re.compile(
    r"(?i)(?:block|no|nr|#|id|index|hour|period|step|interval|slot|t|h|row)\.?"
)
_ENTITY_HEAD: Final = re.compile(
    r"(?i)(?:the )?(?:battery|batteries|storage|bess|zone|room|unit|name|device|heater|asset|space)"
)
_LABEL_UNIT: Final = re.compile(r"[(\[,]\s*(?:in\s+)?([^()\[\],]+?)\s*[)\]]?\s*$")


@dataclass(frozen=True)
class Column:
    """A column of a table or a file that holds a value for every period.

    Attributes
    ----------
    absent
        The words that stand for values that are not given.
    """

    name: str
    words: str
    unit: str
    source: Any
    numbers: tuple[float, ...] | None = None
    data: str | None = None
    count: int = 0
    absent: tuple[str, ...] = ()


@dataclass(frozen=True)
class Times:
    """What the time stamps of a table or a file say: hours from midnight, or dates."""

    origin: str
    count: int
    step_minutes: float | None
    start: str | None
    label: str
    zone: str | None = None


@dataclass(frozen=True)
class Grid:
    """What a table was read as: lines for its cells, or series with their times."""

    lines: tuple[tuple[Line, Json], ...] = ()
    columns: tuple[Column, ...] = ()
    times: Times | None = None
    owners: tuple[str, ...] = ()
    owner_kind: str = ""
    corner: str = ""
    curve: tuple[int, int] | None = None
    points: tuple[Column, ...] = ()
    counted: tuple[Any, ...] = ()


def read_table(text: str, number: int, table: Any, currency: str | None) -> Grid:
    """Return what a table says."""
    stamps = _time_column(table)
    if stamps is not None:
        return _series(number, table, *stamps, currency)
    return _cells(text, number, table, currency)


# --- time series -------------------------------------------------------------------------------


def _time_column(table: Any) -> tuple[int, Times] | None:
    """Return the column that numbers or dates the rows, when there is one."""
    if len(table.rows) < 3:
        return None
    for c, name in enumerate(table.names):
        texts = [row[c].text.strip() for row in table.rows]
        times = _times(texts, name)
        if times is not None and any(
            k != c and _absent(table, k) is not None for k in range(len(table.header))
        ):
            return c, times
    return None


def _times(texts: list[str], head: str) -> Times | None:
    ending = "ending" in head.lower() or re.search(r"\bend\b", head.lower()) is not None
    spans = [_SPAN_CELL.fullmatch(t) for t in texts]
    if all(spans):
        edges = [(int(m[1]) + int(m[2]) / 60, int(m[3]) + int(m[4]) / 60) for m in spans if m]
        lengths = {round((b - a) % 24, 6) for a, b in edges}
        joined = all(abs(a[1] % 24 - b[0] % 24) < 1e-9 for a, b in pairwise(edges))
        if len(lengths) == 1 and joined:
            return Times("table", len(texts), lengths.pop() * 60, _clock(edges[0][0]), "start")
        return None
    clocks = [_CLOCK_CELL.fullmatch(t) for t in texts]
    if all(clocks):
        hours = [int(m[1]) + int(m[2]) / 60 for m in clocks if m]
        return _from_clocks(texts, hours, ending)
    counts = [_COUNT_CELL.fullmatch(t) for t in texts]
    if all(counts) and _TIME_HEAD.search(head) is not None:
        values = [int(m[1]) for m in counts if m]
        if values == list(range(values[0], values[0] + len(values))) and values[0] in (0, 1):
            return Times("table", len(texts), None, None, "ending" if ending else "count")
    return None


def _from_clocks(texts: list[str], hours: list[float], ending: bool) -> Times | None:
    gaps = {round((b - a) % 24, 6) for a, b in pairwise(hours)}
    if len(gaps) != 1 or 0.0 in gaps:
        return None
    step = gaps.pop()
    first = hours[0] - step if ending else hours[0]
    date = re.match(r"\d{4}-\d\d-\d\d", texts[0])
    start = _clock(first % 24)
    if date is not None and not ending:
        start = f"{date[0]}T{start}"
    return Times("table", len(texts), step * 60, start, "ending" if ending else "start")


def _clock(hours: float) -> str:
    minutes = round(hours * 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}"


def _is_number(text: str) -> bool:
    return _NUMERIC.fullmatch(text.strip()) is not None


def _series(number: int, table: Any, stamp: int, times: Times, currency: str | None) -> Grid:
    columns = []
    for c, name in enumerate(table.names):
        if c == stamp or _counts(table, c) or (absent := _absent(table, c)) is None:
            continue
        cells = [row[c] for row in table.rows if _is_number(row[c].text)]
        sources = [_cell_source(number, r, name, cell) for r, cell in enumerate(cells)]
        unit = _unit_of(table, c, currency)
        columns.append(
            Column(
                name,
                f"{table.header[c].text} {table.caption}",
                unit,
                sources,
                tuple(number_of(cell.text) for cell in cells),
                count=len(table.rows),
                absent=absent,
            )
        )
    counters = [stamp, *(c for c in range(len(table.names)) if c != stamp and _counts(table, c))]
    stamps = tuple(row[c] for row in table.rows for c in counters)
    times = replace(times, origin=f"table {number}")
    return Grid(columns=tuple(columns), times=times, counted=stamps)


def _absent(table: Any, column: int) -> tuple[str, ...] | None:
    """Return the words in a column of numbers; None where it is no such column."""
    words = [t for row in table.rows if not _is_number(t := row[column].text.strip())]
    plain = all(re.fullmatch(r"[A-Za-z][A-Za-z /.-]*|[-–—?]|", word) for word in words)
    return tuple(dict.fromkeys(words)) if plain and 3 * len(words) < len(table.rows) else None


def _counts(table: Any, column: int) -> bool:
    """Whether a column only numbers the rows."""
    texts = [row[column].text.strip() for row in table.rows]
    named = _COUNT_HEAD.fullmatch(table.names[column].strip()) is not None
    return (
        named
        and all(t.isdigit() for t in texts)
        and [int(t) for t in texts] == list(range(int(texts[0]), int(texts[0]) + len(texts)))
    )


def _cell_source(number: int, row: int, column: str, cell: Any) -> Json:
    return {
        "kind": "table",
        "span": list(cell.span),
        "quote": cell.text,
        "table": number,
        "row": row,
        "column": column,
    }


def _unit_of(table: Any, column: int, currency: str | None) -> str:
    """Return the unit in a column's header, in the spelling of the unit table."""
    return clean_unit(table.unit_texts[column] or "", currency) or clean_unit(
        _bracketed(table.header[column].text), currency
    )


def _bracketed(text: str) -> str:
    match = _LABEL_UNIT.search(text.strip())
    return match[1] if match else ""


def clean_unit(text: str, currency: str | None) -> str:
    """Return a unit as the unit table spells it, empty when it is none."""
    bare = text.strip().strip("`*")
    bare = bare[1:-1] if bare[:1] + bare[-1:] in ("()", "[]") else bare
    bare = bare.strip().removeprefix("in ").strip()
    bare = re.sub(r"(?i)^(tons?) of (?:refrigeration|cooling)$", r"\1", bare)
    if not bare:
        return ""
    found = read_unit(bare, 0, currency)
    if found is not None and found[1] == len(bare):
        return found[0]
    from engiagent.blueprint.units import UnitError, parse_unit

    try:
        parse_unit(bare)
    except UnitError:
        return ""
    return bare if kind_of(bare) != "number" else ""


# --- everything else ---------------------------------------------------------------------------


def _cells(text: str, number: int, table: Any, currency: str | None) -> Grid:
    notes = [c for c, name in enumerate(table.names) if c and _NOTE_HEAD.fullmatch(name.strip())]
    unit_column = table.unit_column
    data = [c for c in range(1, len(table.header)) if c not in notes and c != unit_column]
    if not data:
        return Grid()
    if len(data) in (1, 2) and all(_is_curve(table, c) for c in data):
        return Grid(
            curve=(table.rows[0][0].span[0], table.rows[-1][data[-1]].span[1]),
            points=tuple(_points(number, table, c, currency) for c in (0, *data)),
        )
    by_rows = len(data) > 1 and _heads_are_labels(table, data, unit_column)
    single = len(data) == 1 and not by_rows
    owners: tuple[str, ...] = ()
    kinds: set[str] = set()
    lines = []
    for r, row in enumerate(table.rows):
        if _is_period_row(row):
            joined = _joined(text, number, table, r, currency)
            lines.append(joined)
            kinds |= {t.amount.kind for t in joined[0].tokens if t.amount is not None}
            continue
        row_unit = clean_unit(row[unit_column].text, currency) if unit_column is not None else ""
        label_unit = clean_unit(_bracketed(row[0].text), currency)
        for c in data:
            unit = row_unit or (_unit_of(table, c, currency) if by_rows or single else label_unit)
            unit = unit or label_unit or _unit_of(table, c, currency)
            labels = _labels(table.header[c], row[0], by_rows, single)
            owner = "" if single else identifier(row[0].text if by_rows else table.names[c])
            sentence = Sentence(row[c].span, row[c].text, -1 - number, table.caption, "", False)
            if row[c].text.strip() in ("", "-", "–", "—", "n/a"):
                continue
            line = tokenise_cell(text, labels, sentence, unit, currency)
            kinds |= {t.amount.kind for t in line.tokens if t.amount is not None}
            source = _cell_source(number, r, table.names[c], row[c])
            lines.append((line, {"owner": owner, "cells": [source]}))
            if owner and owner not in owners:
                owners += (owner,)
    if kinds & {"heat_capacity", "resistance", "conductance"}:
        owner_kind = "zone"
    else:
        owner_kind = "battery" if "energy" in kinds else ""
    corner = table.header[0].text if by_rows else ""
    return Grid(lines=tuple(lines), owners=owners, owner_kind=owner_kind, corner=corner)


def _is_curve(table: Any, column: int) -> bool:
    """Whether a table gives a power over a content, as points of a curve."""
    heads = [table.header[c].text.lower() for c in (0, column)]
    numbers = all(_is_number(row[c].text) for row in table.rows for c in (0, column))
    content = re.search(r"content|charge|soc|level|stored|energy", heads[0]) is not None
    return numbers and content and re.search(r"power|charg|kw|mw", heads[1]) is not None


def _points(number: int, table: Any, c: int, currency: str | None) -> Column:
    """Return a column of a curve: its contents, or the power at each of them."""
    cells = [row[c] for row in table.rows]
    sources = [_cell_source(number, r, table.names[c], cell) for r, cell in enumerate(cells)]
    numbers = tuple(number_of(cell.text) for cell in cells)
    head, unit = table.header[c].text, _unit_of(table, c, currency)
    return Column(table.names[c], head, unit, sources, numbers, count=len(cells))


def _is_period_row(row: Any) -> bool:
    """Whether a row says what holds at some times of the day."""
    return _PERIOD_LABEL.fullmatch(row[0].text.strip()) is not None or any(
        _PERIOD_CELL.search(cell.text) for cell in row[1:]
    )


def _joined(text: str, number: int, table: Any, r: int, currency: str | None) -> tuple[Line, Json]:
    """Return a row as one line, so that its times and its values stand together."""
    row = table.rows[r]
    tokens: list[Token] = []
    sources = []
    span = (row[0].span[0], row[-1].span[1])
    for c, cell in enumerate(row):
        sentence = Sentence(cell.span, cell.text, -1 - number, table.caption, "", False)
        times = _PERIOD_CELL.search(cell.text) or (c == 0 and not _is_number(cell.text))
        labels = () if times else (table.header[c].span,)
        if not cell.text.strip():
            continue
        tokens += tokenise_cell(
            text, labels, sentence, _unit_of(table, c, currency), currency
        ).tokens
        sources.append(_cell_source(number, r, table.names[c], cell))
    shown, starts = written(tokens)
    whole = Sentence(span, text[span[0] : span[1]], -1 - number, table.caption, "", False)
    return Line(whole, tuple(tokens), shown, starts), {"owner": "", "cells": sources}


def _labels(head: Any, label: Any, by_rows: bool, single: bool) -> tuple[Any, ...]:
    if by_rows:
        return (label.span, head.span)
    if single and _VALUE_HEAD.search(head.text):
        return (label.span,)
    return (head.span, label.span) if single else (label.span,)


def _heads_are_labels(table: Any, data: list[int], unit_column: int | None) -> bool:
    """Whether every row is a unit (headers say what is measured) and not every column."""
    if unit_column is not None:
        return False
    if _ENTITY_HEAD.fullmatch(table.names[0].strip()) is not None:
        return True
    with_units = sum(bool(table.unit_texts[c] or _bracketed(table.header[c].text)) for c in data)
    rows_with_units = sum(bool(_bracketed(row[0].text)) for row in table.rows)
    if any(_is_period_row(row) for row in table.rows):
        return True
    return with_units > 0 and with_units >= rows_with_units
