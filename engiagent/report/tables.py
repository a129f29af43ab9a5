"""Tables of a page, each with the same numbers as a CSV file inside the page."""

import base64
import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

MAX_CSV_BYTES: Final = 700_000


@dataclass(frozen=True)
class Cell:
    """A cell: its text and what the page does with it."""

    text: str
    # tone, symbol: the style class of a status, ``good``, ``bad`` or ``open``, and a mark that does
    # not rest on colour
    tone: str = ""
    symbol: str = ""
    href: str = ""  # where it leads, relative to the page
    note: str = ""  # small print below
    # is_number, is_quote: whether it stands to the right, and whether it is somebody's words; the
    # note of a quote is a formula
    is_number: bool = False
    is_quote: bool = False


@dataclass(frozen=True)
class DataTable:
    """Rows below a head; the first cell of a row names it."""

    title: str  # what the table shows, its caption
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    # csv, file: the whole table as a data URI, empty where there is none, and the name to save it
    # under
    csv: str = ""
    file: str = "table.csv"
    note: str = ""  # what the page leaves out of it


def table_with_csv(
    title: str,
    head: Sequence[str],
    rows: Iterable[tuple[Cell, ...]],
    file: str,
    plain: Iterable[Sequence[str]] | None = None,
    more: Sequence[str] = (),
) -> DataTable:
    """Return a table with the same as a CSV file; ``plain`` and ``more`` heads if it says more."""
    shown = tuple(rows)
    own = ([f"{row[0].text} {row[0].note}".strip(), *(c.text for c in row[1:])] for row in shown)
    content = own if plain is None else plain
    text, _ = csv_text([*head, *more], content)
    return DataTable(title, tuple(head), shown, data_uri(text), file)


def csv_text(head: Sequence[str], rows: Iterable[Sequence[str]]) -> tuple[str, int]:
    """Return a CSV file of bounded size and how many rows it holds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([inert(text) for text in head])
    count = 0
    for row in rows:
        if out.tell() > MAX_CSV_BYTES:
            break
        writer.writerow([inert(text) for text in row])
        count += 1
    return out.getvalue(), count


def data_uri(text: str) -> str:
    """Return a CSV file as an address that holds it."""
    payload = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    return f"data:text/csv;charset=utf-8;base64,{payload}"


def inert(text: str) -> str:
    """Keep a spreadsheet from reading a text as a formula; a number stays a number.

    >>> inert("=1+1"), inert("-1.5e-3"), inert("@home")
    ("'=1+1", '-1.5e-3', "'@home")
    """
    if text[:1] not in ("=", "+", "-", "@", "\t", "\r"):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
