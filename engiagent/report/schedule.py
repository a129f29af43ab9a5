"""The schedule as panels of charts, as a table and as a CSV file."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.report import words
from engiagent.report.artefacts import Run
from engiagent.report.charts.drawing import Chart
from engiagent.report.charts.series import (
    Scalar,
    Series,
    aligned,
    given_series,
    largest_by_unit,
    over_one_axis,
    settled,
    solution_series,
)
from engiagent.report.charts.views import plan_panels
from engiagent.report.tables import Cell, DataTable, csv_text, data_uri

MAX_PANELS = 24
MAX_ROWS = 200


@dataclass(frozen=True, eq=False)
class Schedule:
    """All that the page shows of a solution: its own series, and tables with the given data."""

    panels: tuple[Chart, ...]
    left_out: int
    series: tuple[Series, ...]
    tables: tuple[DataTable, ...]
    scalars: tuple[Scalar, ...]


def build_schedule(run: Run) -> Schedule:
    """Return the schedule of a run; empty when the run has none."""
    series, scalars = solution_series(run)
    if not series and not scalars:
        return Schedule((), 0, (), (), ())
    given = given_series(run)
    panels = plan_panels(run)
    return Schedule(
        panels=panels[:MAX_PANELS],
        left_out=max(len(panels) - MAX_PANELS, 0),
        series=tuple(series),
        tables=tuple(
            _table(members, number)
            for number, members in enumerate(over_one_axis([*series, *given]))
        ),
        scalars=tuple(scalars),
    )


def _table(members: Sequence[Series], number: int) -> DataTable:
    """Return series of one kind of axis side by side, a row for every place of any of them."""
    places, labels, columns = aligned(members)
    scale = largest_by_unit(members)
    clear = [settled(c, scale[item.unit]) for c, item in zip(columns, members, strict=True)]
    axis = members[0].axis
    units = [words.unit(item.unit) for item in members]
    names = (f"{s.label} [{u}]" if u else s.label for s, u in zip(members, units, strict=True))
    head = (axis.title, *names)
    shown = tuple(
        (Cell(labels[row]), *(Cell(_shown(column[row]), is_number=True) for column in clear))
        for row in range(min(places.size, MAX_ROWS))
    )
    exact = (
        (
            labels[row],
            *("" if np.isnan(column[row]) else f"{column[row]:.9g}" for column in columns),
        )
        for row in range(places.size)
    )
    text, count = csv_text(head, exact)
    note = ""
    if len(shown) < places.size:  # what the table and its file leave out of all rows
        kept = f"the first {count}, solution.nc all of them"
        file = "all of them" if count == places.size else kept
        note = f"The first {len(shown)} of {places.size} rows; the CSV file has {file}."
    file = f"schedule-{number + 1}.csv" if number else "schedule.csv"
    return DataTable(f"All numbers over {axis.title}", head, shown, data_uri(text), file, note)


def _shown(value: float) -> str:
    return "" if np.isnan(value) else words.number(float(value))
