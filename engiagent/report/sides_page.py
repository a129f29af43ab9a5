"""Runs side by side on one page: what came of each, what differs, and their series in one chart."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from engiagent.report import words
from engiagent.report.charts import Panel
from engiagent.report.charts.views import curve
from engiagent.report.sections import Chart, Section, drawn, page_of_tables
from engiagent.report.sides import Difference, Quantity, SideBySide, side_by_side
from engiagent.report.tables import Cell, DataTable, table_with_csv
from engiagent.run.listing import RunSummary

MOST_CHARTS: Final = 16
MOST_ROWS: Final = 200
GIVEN: Final = ("asked", "input", "parameter")
_FEW: Final = 12
Link = Callable[[RunSummary], str]


def compare(folders: Sequence[Path | str], link: Link | None = None) -> str:
    """Return the page that puts two to six runs side by side as HTML.

    ``link`` says where a run's own page is.
    """
    found = side_by_side(folders)
    differing = [item for item in found.quantities if item.differs]
    figures, apart = _charts(found, differing)
    sections = [Section("What came of each", tables=(_outcomes(found, link),))]
    asked = [item for item in found.differences if item.kind in GIVEN]
    models = [item for item in found.differences if item.kind not in (*GIVEN, "value")]
    values = [item for item in found.differences if item.kind == "value"]
    for title, items in (
        ("What was asked and given", asked),
        ("The models", models),
        ("Values of the plans", values),
    ):
        if items:
            tables = (_differences(found, title, items),)
            is_long = items is models and len(models) > _FEW
            sections.append(Section(title, tables=tables, kind="compared", is_folded=is_long))
    if found.quantities:
        text = "" if differing else "All series are the same."
        sections.append(Section("Series", text, tables=(_series(found),), kind="values"))
    if figures:
        text = f"{apart} more that differ are in the table only." if apart else ""
        sections.append(Section("Side by side", text, charts=figures))
    return page_of_tables(
        f"{len(found.names)} runs compared",
        "engiagent comparison",
        sections,
        lead="" if found.differences or differing else "The runs do not differ.",
    )


def _outcomes(found: SideBySide, link: Link | None) -> DataTable:
    rows = []
    for name, run in zip(found.names, found.summaries, strict=True):
        verdict = words.verdict(run.verdict, run.state)
        value = "" if run.objective is None else words.quantity(run.objective, run.unit, 9)
        rows.append(
            (
                Cell(name, href=link(run) if link is not None else ""),
                Cell(verdict.word, tone=verdict.tone, symbol=verdict.symbol),
                Cell(value, note=_than_first(found, run), is_number=True),
                Cell(words.percent(run.gap), is_number=True),
                Cell(words.duration(run.seconds), is_number=True),
            )
        )
    head = ("Run", "Verdict", "Objective", "Gap", "Took")
    return _with_csv("Outcomes", head, rows, "outcomes.csv")


def _than_first(found: SideBySide, run: RunSummary) -> str:
    """Say how a run's objective differs from that of the first."""
    first = found.summaries[0]
    if run is first or run.objective is None or first.objective is None or run.unit != first.unit:
        return ""
    apart = run.objective - first.objective
    if abs(apart) <= 1e-9 * max(1.0, abs(first.objective)):
        return "the same"
    sign = "+" if apart > 0 else ""
    return f"{sign}{words.quantity(apart, run.unit, 4)}"


def _differences(found: SideBySide, title: str, items: Sequence[Difference]) -> DataTable:
    rows = [
        (Cell(item.name, note=item.kind), *(Cell(value) for value in item.values))
        for item in items[:MOST_ROWS]
    ]
    file = f"{title.lower().replace(' ', '-')}.csv"
    return _with_csv(f"{title}: what differs", ("Name", *found.names), rows, file)


def _series(found: SideBySide) -> DataTable:
    rows = []
    for item in found.quantities[:MOST_ROWS]:
        means = (Cell("–" if m is None else words.number(m, 6), is_number=True) for m in item.means)
        apart = "over other times" if item.largest is None else words.number(item.largest, 4)
        apart = apart if item.is_shared else "in one run only"
        rows.append(
            (
                Cell(words.spoken(item.label), note=words.unit(item.unit)),
                *means,
                Cell(apart, note=item.where, is_number=True),
            )
        )
    head = ("Mean of", *found.names, "Largest difference")
    return _with_csv("Means and largest differences", head, rows, "series.csv")


def _charts(found: SideBySide, differing: Sequence[Quantity]) -> tuple[tuple[Chart, ...], int]:
    """Return a chart for each series that differs, over the axis of the first that has it."""
    shown = [item for item in differing if item.largest is not None and item.is_shared]
    figures = []
    for number, item in enumerate(shown[:MOST_CHARTS], start=1):
        pairs = [(n, s) for n, s in zip(found.names, item.series, strict=True) if s is not None]
        curves = tuple(replace(curve(series), label=name) for name, series in pairs)
        panel = Panel(words.spoken(item.label), item.unit, pairs[0][1].axis, curves)
        figures.append(drawn(f"chart-{number}", number, panel))
    return tuple(figures), len(differing) - len(figures)


def _with_csv(
    title: str, head: Sequence[str], rows: Sequence[tuple[Cell, ...]], file: str
) -> DataTable:
    plain = (
        [f"{c.text} {c.note}".strip() if k == 0 else c.text for k, c in enumerate(row)]
        for row in rows
    )
    return table_with_csv(title, head, rows, file, plain)
