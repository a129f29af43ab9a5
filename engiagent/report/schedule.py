"""The schedule as panels of charts, as a table and as a CSV file."""

import base64
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engiagent.charts.panels import Panel
from engiagent.charts.series import Scalar, Series, given_series, solution_series
from engiagent.charts.timeline import Axis, Floats
from engiagent.charts.views import plan_panels
from engiagent.report import words
from engiagent.report.artefacts import Run

MAX_PANELS = 24
MAX_ROWS = 200
MAX_CSV_BYTES = 700_000


@dataclass(frozen=True, eq=False)
class Table:
    """Series of one axis side by side.

    Attributes
    ----------
    rows
        The first rows as text, the label of the axis first.
    total
        How many rows there are.
    csv, csv_rows
        The file as a data URI, and how many rows it holds.
    """

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    total: int
    csv: str
    csv_rows: int


@dataclass(frozen=True, eq=False)
class Schedule:
    """All that the page shows of a solution."""

    panels: tuple[Panel, ...]
    left_out: int
    tables: tuple[Table, ...]
    scalars: tuple[Scalar, ...]


def build_schedule(run: Run) -> Schedule:
    """Return the schedule of a run; empty when the run has none."""
    series, scalars = solution_series(run)
    if not series and not scalars:
        return Schedule((), 0, (), ())
    given = given_series(run)
    panels = plan_panels(run)
    return Schedule(
        panels=panels[:MAX_PANELS],
        left_out=max(len(panels) - MAX_PANELS, 0),
        tables=tuple(_tables([*series, *given])),
        scalars=tuple(scalars),
    )


# --- tables ------------------------------------------------------------------------------------


def _tables(series: Sequence[Series]) -> list[Table]:
    groups: dict[tuple[str, str | None], list[Series]] = {}
    for item in series:
        name = item.axis.name if item.axis.kind == "number" else ""
        groups.setdefault((item.axis.kind + name, item.axis.zone), []).append(item)
    return [_table(members) for members in groups.values()]


def _table(members: Sequence[Series]) -> Table:
    """Return series of one kind of axis side by side, a row for every place of any of them."""
    places = np.unique(np.concatenate([item.axis.places for item in members]))
    columns = []
    for item in members:
        column = np.full(places.size, np.nan)
        column[np.searchsorted(places, item.axis.places)] = item.values
        columns.append(column)
    labels = _labels_of(places, [item.axis for item in members])
    axis = members[0].axis
    head = (axis.title, *(_heading(item) for item in members))
    shown = tuple(
        (labels[row], *(_cell(column[row]) for column in columns))
        for row in range(min(places.size, MAX_ROWS))
    )
    uri, count = _csv(head, labels, columns)
    return Table(f"Schedule over {axis.title}", head, shown, places.size, uri, count)


def _labels_of(places: Floats, axes: Sequence[Axis]) -> list[str]:
    names: dict[float, str] = {}
    for axis in axes:
        for place, label in zip(axis.places, axis.labels, strict=True):
            names.setdefault(float(place), label)
    return [names[float(place)] for place in places]


def _heading(item: Series) -> str:
    unit = words.unit(item.unit)
    return f"{item.label} [{unit}]" if unit else item.label


def _cell(value: float) -> str:
    return "" if np.isnan(value) else words.number(float(value))


def _csv(head: Sequence[str], labels: Sequence[str], columns: Sequence[Floats]) -> tuple[str, int]:
    """Return a CSV file of bounded size as a data URI, and how many rows it holds."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([_inert(text) for text in head])
    count = 0
    for row, label in enumerate(labels):
        if out.tell() > MAX_CSV_BYTES:
            break
        cells = ["" if np.isnan(c[row]) else f"{c[row]:.9g}" for c in columns]
        writer.writerow([_inert(label), *cells])
        count += 1
    payload = base64.b64encode(out.getvalue().encode("utf-8", "replace")).decode("ascii")
    return f"data:text/csv;charset=utf-8;base64,{payload}", count


def _inert(text: str) -> str:
    """Keep a spreadsheet from reading a name as a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
