"""What a page is made of: facts, charts with captions, sections of tables, and the templates.

One environment serves every page: the same shell, style and macros, everything escaped.
"""

import base64
import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from engiagent.report import charts, words
from engiagent.report.charts.markup import printable

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


if TYPE_CHECKING:
    import jinja2

POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""What a page that stands alone may load: nothing; its style is its own."""
FOLDED: Final = 30
"""A table of more rows is folded, but where it is what the page is for."""


@dataclass(frozen=True)
class Fact:
    """A number with its name and, small, a note."""

    name: str
    value: str
    note: str = ""
    is_lead: bool = False
    tone: str = ""
    symbol: str = ""


@dataclass(frozen=True)
class Chart:
    """A drawn chart with its number on the page and its caption."""

    number: int
    caption: str
    svg: Markup


@dataclass(frozen=True)
class Section:
    """A part of a page under one heading.

    ``kind`` is the style class of its tables, as ``values`` for numbers that are read down a
    column; folded tables are out of sight until a reader asks for them.
    """

    title: str
    text: str = ""
    tables: tuple[DataTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    kind: str = ""
    is_folded: bool | None = None  # None for a table of more rows than are seen at once


def drawn(name: str, number: int, chart: charts.Chart) -> Chart:
    """Return a drawn chart with its number and caption; ``name`` makes its ids unique."""
    return Chart(number, charts.caption(chart), charts.draw(chart, name))


def page_of_tables(
    title: str,
    kicker: str,
    sections: Sequence[Section],
    *,
    lead: str = "",
    numbers: Sequence[Fact] = (),
    notes: Sequence[str] = (),
) -> str:
    """Return a page that stands alone: a sentence, facts, and sections of tables and charts."""
    return render_page(
        "tables.html.j2",
        {
            "title": title,
            "kicker": kicker,
            "lead": lead,
            "numbers": numbers,
            "notes": notes,
            "sections": sections,
        },
    )


def render_page(template: str, context: Mapping[str, Any]) -> str:
    """Return a page from a template."""
    return printable(_environment().get_template(template).render(context))


@lru_cache(maxsize=1)
def _environment() -> "jinja2.Environment":
    import jinja2

    templates = files("engiagent.report").joinpath("templates")
    sources = {item.name: item.read_text("utf-8") for item in templates.iterdir()}
    environment = jinja2.Environment(
        loader=jinja2.DictLoader(sources),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "style": Markup(sources["report.css"] + charts.style()),
        "folded": FOLDED,
        "policy": POLICY,
        "quantity": words.quantity,
    }
    return environment
