"""The schedule as panels of charts, as a table and as a CSV file."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.report import words
from engiagent.report.artefacts import Run
from engiagent.report.charts.panels import Panel
from engiagent.report.charts.series import (
    Scalar,
    Series,
    aligned,
    given_series,
    over_one_axis,
    solution_series,
)
from engiagent.report.charts.timeline import Floats
from engiagent.report.charts.views import plan_panels
from engiagent.report.tables import Cell, DataTable, csv_text, data_uri

MAX_PANELS = 24
MAX_ROWS = 200
_NOTHING = 1e-7
"""Share of a series' largest value that is no more than rounding."""


@dataclass(frozen=True, eq=False)
class Schedule:
    """All that the page shows of a solution.

    Attributes
    ----------
    series
        The solution's own, without what was given.
    tables
        Everything over one kind of axis side by side, the given data too.
    """

    panels: tuple[Panel, ...]
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


# --- tables ------------------------------------------------------------------------------------


def _table(members: Sequence[Series], number: int) -> DataTable:
    """Return series of one kind of axis side by side, a row for every place of any of them."""
    places, labels, columns = aligned(members)
    axis = members[0].axis
    head = (axis.title, *(_heading(item) for item in members))
    clear = [settled(column) for column in columns]
    shown = tuple(
        (Cell(labels[row]), *(Cell(_shown(column[row]), is_number=True) for column in clear))
        for row in range(min(places.size, MAX_ROWS))
    )
    exact = (
        (labels[row], *(_exact(column[row]) for column in columns)) for row in range(places.size)
    )
    text, count = csv_text(head, exact)
    return DataTable(
        title=f"All numbers over {axis.title}",
        head=head,
        rows=shown,
        csv=data_uri(text),
        file=f"schedule-{number + 1}.csv" if number else "schedule.csv",
        note=_left_out(places.size, len(shown), count),
    )


def _left_out(total: int, shown: int, kept: int) -> str:
    """Say what a table and its file leave out of all rows."""
    if shown == total:
        return ""
    file = "all of them" if kept == total else f"the first {kept}, solution.nc all of them"
    return f"The first {shown} of {total} rows; the CSV file has {file}."


def _heading(item: Series) -> str:
    unit = words.unit(item.unit)
    return f"{item.label} [{unit}]" if unit else item.label


def settled(values: Floats) -> Floats:
    """Return values with what is nothing but rounding set to zero; NaN stays."""
    known = np.abs(values[np.isfinite(values)])
    largest = float(known.max()) if known.size else 0.0
    return np.where(np.abs(values) <= _NOTHING * largest, 0.0, values)


def _shown(value: float) -> str:
    return "" if np.isnan(value) else words.number(float(value))


def _exact(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.9g}"
