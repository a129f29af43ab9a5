"""The schedule as charts and tables, and what to set and when: a row for every change.

Periods that follow each other with the same settings are one row, so that an operator reads when
something has to be done and not 96 times that nothing has.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

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
from engiagent.report.charts.timeline import time_label
from engiagent.report.charts.views import plan_panels
from engiagent.report.sections import Cell, DataTable, csv_text, data_uri, table_with_csv
from engiagent.solvers.solution import stored_arrays

MAX_PANELS: Final = 24
MAX_ROWS: Final = 200
MAX_SETTINGS: Final = 10
MAX_CHANGES: Final = 60
DIGITS: Final = 4


@dataclass(frozen=True, eq=False)
class Schedule:
    """All that the page shows of a solution: its own series, and tables with the given data."""

    panels: tuple[Chart, ...] = ()
    left_out: int = 0
    series: tuple[Series, ...] = ()
    tables: tuple[DataTable, ...] = ()
    scalars: tuple[Scalar, ...] = ()


def build_schedule(run: Run) -> Schedule:
    """Return the schedule of a run; empty when the run has none."""
    series, scalars = solution_series(run)
    if not series and not scalars:
        return Schedule()
    panels = plan_panels(run)
    groups = over_one_axis([*series, *given_series(run)])
    return Schedule(
        panels=panels[:MAX_PANELS],
        left_out=max(len(panels) - MAX_PANELS, 0),
        series=tuple(series),
        tables=tuple(_table(members, number) for number, members in enumerate(groups)),
        scalars=tuple(scalars),
    )


def _table(members: Sequence[Series], number: int) -> DataTable:
    """Return series of one kind of axis side by side, a row for every place of any of them."""
    places, labels, columns = aligned(members)
    scale = largest_by_unit(members)
    clear = [settled(c, scale[item.unit]) for c, item in zip(columns, members, strict=True)]
    axis = members[0].axis
    head = (axis.title, *(_headed(item.label, item.unit) for item in members))
    shown = tuple(
        (Cell(labels[row]), *(Cell(_shown(column[row], 6, ""), is_number=True) for column in clear))
        for row in range(min(places.size, MAX_ROWS))
    )
    exact = (
        (labels[row], *("" if np.isnan(c[row]) else f"{c[row]:.9g}" for c in columns))
        for row in range(places.size)
    )
    text, count = csv_text(head, exact)
    note = ""
    if len(shown) < places.size:  # what the table and its file leave out of all rows
        first = f"the first {count}, solution.nc all of them"
        file = "all of them" if count == places.size else first
        note = f"The first {len(shown)} of {places.size} rows; the CSV file has {file}."
    file = f"schedule-{number + 1}.csv" if number else "schedule.csv"
    return DataTable(f"All numbers over {axis.title}", head, shown, data_uri(text), file, note)


def _headed(name: str, unit: str) -> str:
    return f"{name} [{words.unit(unit)}]" if words.unit(unit) else name


def _shown(value: float, digits: int, nothing: str) -> str:
    return words.number(float(value), digits) if np.isfinite(value) else nothing


@dataclass(frozen=True)
class Instructions:
    """What to set, and what the table of it leaves out.

    Of ``total`` rows it shows the first, its CSV file all. ``used`` says how long each setting is
    not zero, ``never`` which always are; ``elsewhere`` counts settings beyond those shown.
    """

    table: DataTable
    total: int
    used: tuple[str, ...]
    never: tuple[str, ...]
    elsewhere: int


def instructions(run: Run, series: Sequence[Series]) -> Instructions | None:
    """Return what a schedule asks for over time; None where it decides nothing over time."""
    chosen = _decisions(run, series)
    scale = largest_by_unit(chosen)
    chosen = [replace(item, values=settled(item.values, scale[item.unit])) for item in chosen]
    used = [item for item in chosen if np.nansum(np.abs(item.values))]
    shown = used[:MAX_SETTINGS]
    if not shown:
        return None
    variables = run.blueprint.core.decision_variables if run.blueprint is not None else ()
    binary = {item.name for item in variables if item.type == "binary"}
    switches = {item.label for item in shown if item.source in binary}
    columns = [
        ["on" if x > 0.5 else "–" for x in item.values]
        if item.label in switches
        else [_shown(x, DIGITS, "–") for x in item.values]
        for item in shown
    ]
    settings = list(zip(*columns, strict=True))
    starts = [k for k, row in enumerate(settings) if k == 0 or row != settings[k - 1]]
    title, spans = _spans(shown[0], [*starts, len(settings)])
    heads = (
        _headed(words.spoken(item.label), "" if item.label in switches else item.unit)
        for item in shown
    )
    rows = [(span, *settings[first]) for span, first in zip(spans, starts, strict=True)]
    cells = tuple(
        (Cell(row[0]), *(Cell(text, is_number=True) for text in row[1:]))
        for row in rows[:MAX_CHANGES]
    )
    caption = f"Settings, a row for every change, to {DIGITS} digits"
    return Instructions(
        table=table_with_csv(caption, (title, *heads), cells, "instructions.csv", rows),
        total=len(rows),
        used=tuple(_usage(item, item.label in switches) for item in shown),
        never=tuple(words.spoken(item.label) for item in chosen if item not in used),
        elsewhere=len(used) - len(shown),
    )


def _decisions(run: Run, series: Sequence[Series]) -> list[Series]:
    """Return the series that are set, all over the axis that most of them have."""
    arrays = stored_arrays(run.solution) if run.solution is not None else ()
    roles = {name: array.attrs.get("role") or None for name, array in arrays}
    candidates = [item for item in series if not item.instants and item.axis.places.size > 1]
    wanted = [item for item in candidates if roles.get(item.source) == "decision"]
    if not wanted:  # no roles: whatever is no state and no expression
        wanted = [item for item in candidates if roles.get(item.source, "") is None]
    groups: dict[tuple[str, int], list[Series]] = {}
    for item in wanted:
        groups.setdefault((item.axis.name, item.axis.places.size), []).append(item)
    return max(groups.values(), key=len, default=[])


def _usage(item: Series, is_switch: bool) -> str:
    """Return how long a setting differs from zero, and how far it goes."""
    values = item.values
    is_used = (values != 0.0) & np.isfinite(values)
    text = f"{int(is_used.sum())} of {is_used.size} periods"
    if item.axis.kind in ("time", "clock"):
        hours = np.diff(item.axis.edges) / 3600
        total, whole = (words.number(float(x.sum()), 4) for x in (hours[is_used], hours))
        text = f"{total} of {whole} hours"
    name = words.spoken(item.label)
    if is_switch:
        return f"{name}: on in {text}"
    low, high = (words.number(float(x), DIGITS) for x in (np.nanmin(values), np.nanmax(values)))
    reach = f"up to {high}" if np.nanmin(values) >= 0 else f"{low} to {high}"
    return f"{name}: in use in {text}, {reach}\u00a0{words.unit(item.unit)}".rstrip()


def _spans(item: Series, starts: Sequence[int]) -> tuple[str, list[str]]:
    """Return the heading and the spans between periods; what all of them share is left out."""
    axis = item.axis
    if axis.kind == "number":
        pairs = ((axis.labels[a], axis.labels[b - 1]) for a, b in pairwise(starts))
        return axis.name, [a if a == b else f"{a} – {b}" for a, b in pairs]
    seconds = [float(axis.edges[k]) for k in starts]
    if axis.kind == "clock":
        clocks = [f"{int(s) // 3600:02d}:{int(s) // 60 % 60:02d}" for s in seconds]
        return "Time of day", [f"{a} – {b}" for a, b in pairwise(clocks)]
    is_even = len({label[16:] for label in axis.labels}) == 1  # no change of the clocks
    texts = [time_label(s, axis.zone)[: 16 if is_even else None] for s in seconds]
    zone = f" ({axis.zone})" if axis.zone else ""
    days = {label[:10] for label in axis.labels}
    if len(days) == 1:
        (day,) = days
        texts = [t[11:] if t[:10] == day else f"24:00{t[16:]}" for t in texts]
        return f"{day}{zone}", [f"{a} – {b}" for a, b in pairwise(texts)]
    spans = [f"{a} – {b[11:] if a[:10] == b[:10] else b}" for a, b in pairwise(texts)]
    return f"From, to{zone}", spans
