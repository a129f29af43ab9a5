"""What a page of tables is made of: facts, charts with captions, and sections of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from engiagent.report import charts
from engiagent.report.tables import DataTable
from engiagent.report.templating import render_page


@dataclass(frozen=True)
class Fact:
    """A number with its name and, small, what is to be said about it."""

    name: str
    value: str
    note: str = ""
    is_lead: bool = False
    tone: str = ""
    symbol: str = ""


@dataclass(frozen=True)
class Chart:
    """A drawn panel with its number on the page and its caption."""

    number: int
    caption: str
    svg: Markup


@dataclass(frozen=True)
class Section:
    """A part of a page under one heading.

    Attributes
    ----------
    kind
        The style class of its tables: ``values`` for numbers that are read down a column.
    is_folded
        Whether its tables are out of sight until a reader asks for them.
    """

    title: str
    text: str = ""
    tables: tuple[DataTable, ...] = ()
    charts: tuple[Chart, ...] = ()
    kind: str = ""
    is_folded: bool = False


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
