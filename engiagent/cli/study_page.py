"""The page of a study: charts, then the table, in one HTML file that asks nobody for anything."""

from collections.abc import Sequence
from typing import Any

from engiagent.report import words
from engiagent.report.charts import draw
from engiagent.report.sections import Chart, Section, page_of_tables
from engiagent.report.studied import study_charts
from engiagent.report.tables import Cell, DataTable, csv_text, data_uri
from engiagent.study.outcome import Outcome

TITLES = {"sweep": "Sweep", "pareto": "Pareto front", "sensitivity": "Sensitivity"}


def page(outcome: Outcome, name: str) -> str:
    """Return the page of a study of ``name``."""
    figures = tuple(
        Chart(k, chart.title, draw(chart, f"chart-{k}"))
        for k, chart in enumerate(study_charts(outcome), start=1)
    )
    sections = [
        Section("Charts", charts=figures),
        Section("All points", tables=(_table(outcome.table()),), kind="values"),
    ]
    return page_of_tables(
        f"{TITLES[outcome.kind]}: {name}",
        "engiagent study",
        sections[not figures :],
        notes=outcome.notes,
    )


def _table(rows: Sequence[dict[str, Any]]) -> DataTable:
    names = list(dict.fromkeys(name for row in rows for name in row))
    cells = tuple(tuple(_cell(row.get(name)) for name in names) for row in rows)
    plain = (["" if row.get(n) is None else str(row[n]) for n in names] for row in rows)
    text, kept = csv_text(names, plain)
    note = "" if kept == len(rows) else f"The CSV file has the first {kept} of {len(rows)} rows."
    return DataTable(
        "Every point of the study", tuple(names), cells, data_uri(text), "points.csv", note
    )


def _cell(value: Any) -> Cell:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Cell(words.number(float(value), 8), is_number=True)
    return Cell("" if value is None else str(value))
