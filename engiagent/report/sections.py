"""What a page is made of: facts, charts with captions, sections of tables, and the templates.

One environment serves every page: the same shell, style and macros, everything escaped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

from markupsafe import Markup

from engiagent.report import charts, words
from engiagent.report.charts.markup import printable
from engiagent.report.tables import DataTable

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
