"""The schedule as panels of charts, as a table and as a CSV file."""

import base64
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engiagent.report import words
from engiagent.report.artefacts import Run
from engiagent.report.charts import STYLES, Curve, Panel
from engiagent.report.limits import Limit, find_limits
from engiagent.report.series import Scalar, Series, given_series, solution_series, split
from engiagent.report.timeline import Axis, Floats

MAX_PANELS = 24
MAX_ROWS = 200
_MOST_RUNS = 1500
MAX_CSV_BYTES = 700_000
_MONEY_PER_ENERGY = ("Wh", "J", "BTU", "therm")


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
    limits = find_limits(run)
    panels = [*_grouped(series, _limit_curves(run, limits, series)), *_given_panels(given)]
    panels.sort(key=lambda panel: panel.unit in ("", "1"))  # on and off after what is measured
    return Schedule(
        panels=tuple(panels[:MAX_PANELS]),
        left_out=max(len(panels) - MAX_PANELS, 0),
        tables=tuple(_tables([*series, *given])),
        scalars=tuple(scalars),
    )


# --- panels ------------------------------------------------------------------------------------


def _grouped(series: Sequence[Series], limits: dict[str, list[Curve]]) -> list[Panel]:
    """Put the series of one component and unit together, at most six to a panel."""
    groups: dict[tuple[str, str, str], list[Series]] = {}
    for item in series:
        groups.setdefault((item.owner, item.unit, item.axis.kind), []).append(item)
    panels = []
    for (owner, unit, _), members in groups.items():
        for first in range(0, len(members), STYLES):
            part = members[first : first + STYLES]
            curves = [curve(item) for item in part]
            curves += _fitting([c for item in part for c in limits.get(item.label, [])], curves)
            title = owner or ", ".join(dict.fromkeys(item.source for item in part))
            panels.append(Panel(title, unit, part[0].axis, tuple(curves)))
    return panels


def _given_panels(given: Sequence[Series]) -> list[Panel]:
    """Return panels of the given data that change, by unit, prices first."""
    telling = [item for item in given if np.nanmax(item.values) > np.nanmin(item.values)]
    ordered = sorted(telling, key=lambda item: not _is_price(item.unit))
    groups: dict[tuple[str, str], list[Series]] = {}
    for item in ordered:
        groups.setdefault((item.unit, item.axis.kind), []).append(item)
    panels = []
    for (unit, _), members in groups.items():
        for first in range(0, len(members), STYLES):
            part = members[first : first + STYLES]
            names = ", ".join(dict.fromkeys(item.source for item in part))
            title = f"Given: {names}"
            panels.append(Panel(title, unit, part[0].axis, tuple(curve(item) for item in part)))
    return panels


def _is_price(unit: str) -> bool:
    _, slash, below = unit.partition("/")
    return bool(slash) and below.endswith(_MONEY_PER_ENERGY)


def curve(item: Series) -> Curve:
    """Return a series as a curve: a line through instants, steps over periods."""
    if item.instants:
        return Curve(item.label, item.axis.places, item.values, "line")
    return Curve(item.label, item.axis.edges, item.values, "step")


def _limit_curves(
    run: Run, limits: Sequence[Limit], series: Sequence[Series]
) -> dict[str, list[Curve]]:
    """Return the limits of every series, by its label."""
    axes = {item.source: item for item in series}
    result: dict[str, list[Curve]] = {}
    for limit in limits:
        like = axes.get(limit.variable)
        if like is None or run.solution is None or limit.variable not in run.solution:
            continue
        array = run.solution[limit.variable]
        if array.shape != limit.values.shape:
            continue
        from engiagent.report.series import solution_dimensions

        label = str(array.attrs.get("quantity") or limit.variable)
        values = np.where(np.isfinite(limit.values), limit.values, np.nan)
        if limit.side == "lower":
            values[values == 0.0] = np.nan  # that nothing falls below zero needs no line
        found, _ = split(limit.variable, label, like.unit, solution_dimensions(run, array), values)
        for item in found:
            word = "most" if limit.side == "upper" else "least"
            shown = _limit_curve(item, f"{word} allowed for {item.label}")
            result.setdefault(item.label, []).append(shown)
    return result


def _limit_curve(item: Series, name: str) -> Curve:
    """Return a limit as a curve: over periods as steps, at instants only where it holds."""
    if not item.instants:
        return Curve(name, item.axis.edges, item.values, "step", "limit")
    places, values = item.axis.places, item.values
    starts = np.flatnonzero(np.append(True, np.diff(values) != 0.0))
    ends = np.append(starts[1:], values.size) - 1
    held = np.isfinite(values[starts])
    starts, ends = starts[held], ends[held]
    if starts.size > _MOST_RUNS:
        return Curve(name, places, values, "line", "limit")
    # A limit of a single instant gets a little width, to be seen at all.
    width = np.where(starts == ends, 0.2 * float(np.median(np.diff(places))), 0.0)
    corners = np.stack([places[starts] - width, places[ends] + width, places[ends] + width], 1)
    heights = np.stack([values[starts], values[ends], np.full(starts.size, np.nan)], 1)
    inside = np.clip(corners.reshape(-1), places[0], places[-1])
    return Curve(name, inside, heights.reshape(-1), "line", "limit")


def _fitting(limits: Sequence[Curve], curves: Sequence[Curve]) -> list[Curve]:
    """Leave out limits so far away that they would flatten the curves, and repeated ones."""
    joined = np.concatenate([np.zeros(0), *(c.values[np.isfinite(c.values)] for c in curves)])
    low, high = (float(joined.min()), float(joined.max())) if joined.size else (0.0, 0.0)
    reach = 1.5 * max(high - low, 0.1 * abs(high))
    kept: list[Curve] = []
    for given in limits:
        near = (given.values >= low - reach) & (given.values <= high + reach)
        if not near.any():
            continue
        limit = replace(given, values=np.where(near, given.values, np.nan))
        twin = next((k for k in kept if _same(k, limit)), None)
        if twin is not None:
            label = f"{twin.label}, {limit.label.rpartition(' ')[2]}"
            kept[kept.index(twin)] = replace(twin, label=label)
        else:
            kept.append(limit)
    return kept


def _same(a: Curve, b: Curve) -> bool:
    same_side = a.label.partition(" ")[0] == b.label.partition(" ")[0]
    return same_side and np.array_equal(a.values, b.values, equal_nan=True)


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
