"""Long series: a heat map of days and hours, and how long a value is reached.

A year of hours as a line is a blot; by day and hour it shows seasons and the shape of days.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

import numpy as np

from engiagent.report.charts import numerals
from engiagent.report.charts.markup import Element, element
from engiagent.report.charts.panels import Curve, Panel
from engiagent.report.charts.scene import (
    BOTTOM,
    END,
    LEFT,
    TOP,
    WIDTH,
    Scale,
    blank,
    place_axis,
    value_range,
)
from engiagent.report.charts.timeline import Axis, Floats

_DAY: Final = 86_400.0
_LONG: Final = 60.0  # days from which on a series is drawn by day and hour
_ROW, _COLUMN, _SHADES, _KEY = 6.0, 1.8, 8, 20.0


@dataclass(frozen=True, eq=False)
class HeatMap:
    """A series over time by day and time of day, dark where it is far from zero."""

    title: str
    unit: str
    axis: Axis
    values: Floats

    def grid(self, days: int = 1) -> Floats:
        """Return means, shape (times of day, columns of so many days); NaN where there is none."""
        labels = self.axis.labels
        dates = list(dict.fromkeys(label[:10] for label in labels))
        step = max(float(np.median(np.diff(self.axis.places))), 3600.0)
        rows = max(round(_DAY / step), 1)
        column = {date: number // days for number, date in enumerate(dates)}
        across = np.array([column[label[:10]] for label in labels])
        down = np.array([int(label[11:13]) * 60 + int(label[14:16]) for label in labels])
        places = down * rows // 1440, across
        known = np.isfinite(self.values)
        total, count = np.zeros((2, rows, column[dates[-1]] + 1))
        np.add.at(total, tuple(part[known] for part in places), self.values[known])
        np.add.at(count, tuple(part[known] for part in places), 1.0)
        return np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)


def is_long(axis: Axis) -> bool:
    """Whether an axis is so long that days and hours show more than a line.

    >>> year = Axis("T", "time", np.arange(8760) * 3600.0, ())
    >>> is_long(year), is_long(Axis("T", "time", np.arange(24) * 3600.0, ()))
    (True, False)
    """
    if axis.kind != "time" or axis.places.size < 2:
        return False
    days = (axis.edges[-1] - axis.edges[0]) / _DAY
    return bool(days >= _LONG and axis.places.size >= 4 * days)


def duration_curve(title: str, unit: str, curves: Sequence[Curve]) -> Panel:
    """Return for how many hours each curve is at least at a value."""
    found = []
    for curve in curves:
        if curve.role == "limit" or curve.side == "strip":
            continue
        hours = np.diff(curve.places, append=curve.places[-1:])[: curve.values.size] / 3600.0
        known = np.isfinite(curve.values)
        order = np.argsort(-curve.values[known], kind="stable")
        places = np.append(0.0, np.cumsum(hours[known][order]))
        values = curve.values[known][order]
        found.append(replace(curve, places=places, values=values, shape="step", is_smooth=True))
    axis = Axis("hours with at least this value", "value", np.zeros(0), ())
    return Panel(f"{title}: duration curve", unit, axis, tuple(found))


def daily_means(panel: Panel) -> Panel:
    """Return a panel of periods with the mean of each day in their place."""
    dates = [label[:10] for label in panel.axis.labels]
    starts = np.array([k for k, date in enumerate(dates) if k == 0 or date != dates[k - 1]])
    edges, labels = panel.axis.edges, tuple(dates[k] for k in starts)
    axis = replace(panel.axis, places=panel.axis.places[starts], labels=labels)
    places = np.append(edges[starts], edges[-1])
    curves = []
    for curve in panel.curves:
        known = np.isfinite(curve.values)
        count = np.add.reduceat(known.astype(float), starts)
        total = np.add.reduceat(np.where(known, curve.values, 0.0), starts)
        means = np.divide(total, count, out=np.full_like(total, np.nan), where=count > 0)
        curves.append(replace(curve, places=places, values=means))
    return replace(panel, title=f"{panel.title}: means of days", axis=axis, curves=tuple(curves))


def heat_element(chart: HeatMap, name: str) -> tuple[Element, float]:
    """Return a heat map as a tree, and its height."""
    start, stop = float(chart.axis.edges[0]), float(chart.axis.edges[-1])
    grid = chart.grid(max(int(np.ceil(_COLUMN * (stop - start) / _DAY / (END - LEFT))), 1))
    rows, columns = grid.shape
    top = TOP + _KEY
    bottom = top + 24 * _ROW
    svg = blank(chart.title, describe(chart), bottom + BOTTOM, name)
    low, high = _ends(grid)
    svg.append(_key(low, high, numerals.unit(chart.unit)))
    across, down = (END - LEFT) / columns, (bottom - top) / rows
    cells = element("g", transform=f"translate({LEFT:g} {top:g}) scale({across:.4f} {down:.4f})")
    # 0 for no shade, below zero for values below zero
    base, reach = (0.0, high) if low < 0 < high else (low, high - low)
    share = np.nan_to_num((grid - base) / reach)
    steps = np.minimum(np.ceil(np.abs(share) * _SHADES - 1e-9), _SHADES)
    shades = (np.sign(share) * steps).astype(np.int64)
    paths: dict[int, str] = {}
    for column in range(columns):
        row = 0
        for shade, members in groupby(shades[:, column].tolist()):
            length = len(list(members))
            paths[shade] = paths.get(shade, "") + f"M{column}.5 {row}v{length}"
            row += length
    for shade in sorted(set(paths) - {0}):
        cells.append(_shaded(paths[shade], shade, "heat"))
    svg.append(cells)
    for hour in (0, 6, 12, 18, 24):
        y = top + hour * _ROW
        text = f"{hour:02d}:00"
        svg.append(element("text", text, x=LEFT - 7, y=y + 4, text_anchor="end"))
    x = Scale(start, stop, LEFT, END)
    ticks = chart.axis.ticks(x.low, x.high, int(WIDTH / 60))
    svg.append(place_axis(x, ticks, chart.axis.title, bottom))
    return svg, bottom + BOTTOM


def describe(chart: HeatMap) -> str:
    """Return what a heat map shows in a sentence, for those who do not see it."""
    known = chart.values[np.isfinite(chart.values)]
    if not known.size:
        return "no values."
    ends = (known.min(), known.mean(), known.max())
    low, mean, high = (numerals.number(float(x), 4) for x in ends)
    unit = numerals.unit(chart.unit)
    return f"{chart.title} by day and hour, from {low} to {high}, mean {mean}{unit and ' '}{unit}."


def _ends(grid: Floats) -> tuple[float, float]:
    """Return the values of no and of full shade; on both sides of zero they are the same size."""
    known = grid[np.isfinite(grid)]
    low, high = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
    if low < 0 < high:
        return -max(-low, high), max(-low, high)
    if not low < high or 0 < low < 0.5 * high or 0.5 * low > high:
        return value_range([known])
    return low, high


def _shaded(path: str, shade: int, kind: str) -> Element:
    below = " below" if shade < 0 else ""
    opacity = f"{abs(shade) / _SHADES:.3g}"
    return element("path", d=path, class_=f"{kind}{below}", stroke_opacity=opacity)


def _key(low: float, high: float, unit: str) -> Element:
    """Return the scale of shades with the values at its ends."""
    group, y = element("g", class_="legend"), TOP + 5
    first, last = numerals.number(low, 4), f"{numerals.number(high, 4)} {unit}".strip()
    x = LEFT + 7.5 * len(first) + 9.5
    group.append(element("text", first, x=LEFT, y=y + 4))
    for level in range(-_SHADES if low < 0 < high else 1, _SHADES + 1):
        group.append(_shaded(f"M{x:g} {y - 6:g}v12", level, "heat key"))
        x += 7.0
    group.append(element("text", last, x=x + 2.5, y=y + 4))
    return group
