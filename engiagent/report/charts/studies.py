"""Charts of studies: points and lines over a number, and bars to both sides of a base."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from engiagent.report.charts import numerals
from engiagent.report.charts.canvas import (
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Key,
    Scale,
    blank,
    legend,
    marks,
    place_axis,
    value_axis,
    value_range,
)
from engiagent.report.charts.markup import Element, element
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.timeline import nice_ticks

PLOT, BOTTOM = 240.0, 44.0
_LOW, _HIGH = "bar s0 fill0 light", "bar s1 fill1"
_LABELS, _ROW, _BAR, _LONGEST = 230.0, 26.0, 8.0, 34


@dataclass(frozen=True)
class Trace:
    """Points of one name, joined by a line or not."""

    label: str
    points: tuple[tuple[float, float], ...]
    joined: bool = True


@dataclass(frozen=True)
class Plot:
    """Traces over a number, as a Pareto front; the axes are named by their titles with units."""

    title: str
    across: str
    up: str
    traces: tuple[Trace, ...]
    unit: str = ""


@dataclass(frozen=True)
class Bar:
    """What the objective is at the low and the high end of a factor; None where it was not."""

    label: str
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Tornado:
    """Bars from a base to both ends of each factor, in the order given."""

    title: str
    unit: str
    base: float
    bars: tuple[Bar, ...]


def plot_element(chart: Plot, name: str) -> tuple[Element, float]:
    """Return a plot as a tree, and its height."""
    every = [trace for trace in chart.traces if trace.points]
    traces = every[:STYLES]
    keys = [_key(trace, number) for number, trace in enumerate(traces)]
    if len(every) > STYLES:
        keys.append(Key(f"{len(every) - STYLES} more are not drawn", "", "none"))
    shown, rows = legend(keys if len(keys) > 1 else [])
    top, right = TOP + rows, WIDTH - RIGHT
    points = [np.array([p[side] for t in traces for p in t.points]) for side in (0, 1)]
    left = LEFT + 16.0
    x = Scale(*_close_range(points[0]), left, right)
    y = Scale(*_close_range(points[1]), top + PLOT, top)
    said = "; ".join(f"{t.label}: {_said(t)}" for t in traces) or "no points"
    said += f"; {len(every) - STYLES} more are not drawn" if len(every) > STYLES else ""
    height = top + PLOT + BOTTOM
    svg = blank(chart.title, said, height, name)
    svg.append(shown)
    svg.append(value_axis(y, chart.up, (left, right), most=6))
    ticks = [(value, numerals.number(value, 6)) for value in nice_ticks(x.low, x.high, 6)]
    svg.append(place_axis(x, ticks, chart.across, top + PLOT))
    for k, trace in enumerate(traces):
        places = [(x.at(a), y.at(b)) for a, b in trace.points]
        if trace.joined and len(places) > 1:
            path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places)
            svg.append(element("path", d=path, class_=f"curve s{k}", fill="none"))
        svg.append(marks(places, k))
    return svg, height


def tornado_element(chart: Tornado, name: str) -> tuple[Element, float]:
    """Return a tornado as a tree, and its height."""
    ends = [v for bar in chart.bars for v in (bar.low, bar.high) if v is not None]
    left, right = _LABELS, WIDTH - RIGHT
    x = Scale(*_close_range(np.array([chart.base, *ends])), left + 8, right)
    keys = [
        Key("low end of the factor", _LOW, "area"),
        Key("high end of the factor", _HIGH, "area"),
    ]
    shown, rows = legend(keys)
    top = TOP + rows
    bottom = top + max(len(chart.bars), 1) * _ROW
    height = bottom + BOTTOM
    svg = blank(chart.title, _spread(chart), height, name)
    svg.append(shown)
    for value in nice_ticks(x.low, x.high, 6):
        at = x.at(value)
        svg.append(element("line", x1=at, x2=at, y1=top, y2=bottom, class_="grid"))
    for k, bar in enumerate(chart.bars):
        middle = top + (k + 0.5) * _ROW
        label = bar.label if len(bar.label) <= _LONGEST else bar.label[: _LONGEST - 1] + "…"
        svg.append(element("text", label, x=left - 6, y=middle + 4, text_anchor="end"))
        svg.extend(_bars(bar, chart.base, x, middle))
    at = x.at(chart.base)
    svg.append(element("line", x1=at, x2=at, y1=top - 4, y2=bottom, class_="base"))
    ticks = [(value, numerals.number(value, 6)) for value in nice_ticks(x.low, x.high, 6)]
    unit = numerals.unit(chart.unit)
    said = f"objective, {numerals.quantity(chart.base, chart.unit, 6)} as stated"
    svg.append(place_axis(x, ticks, f"{said} [{unit}]" if unit else said, bottom))
    return svg, height


def _key(trace: Trace, number: int) -> Key:
    kind: Literal["marked", "point"] = "marked" if trace.joined else "point"
    return Key(trace.label, f"curve s{number}", kind, number=number)


def _bars(bar: Bar, base: float, x: Scale, middle: float) -> list[Element]:
    result = []
    for style, end, above in ((_LOW, bar.low, True), (_HIGH, bar.high, False)):
        if end is not None:
            start, stop = sorted((x.at(base), x.at(end)))
            y = middle - _BAR if above else middle
            size = {"width": max(stop - start, 0.5), "height": _BAR}
            result.append(element("rect", x=start, y=y, class_=style, **size))
    return result


def _close_range(values: np.typing.NDArray[np.float64]) -> tuple[float, float]:
    """Return a range around values without drawing zero in: a front may lie far from it."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        return value_range([finite])
    room = 0.03 * (high - low)
    return low - room, high + room


def _said(trace: Trace) -> str:
    (a, b), (c, d) = trace.points[0], trace.points[-1]
    first, last = (f"{numerals.number(x, 4)}, {numerals.number(y, 4)}" for x, y in ((a, b), (c, d)))
    count = len(trace.points)
    return f"one point at {first}" if count == 1 else f"{count} points from {first} to {last}"


def _spread(chart: Tornado) -> str:
    """Say how far the objective moves with the first factors."""
    parts = []
    for bar in chart.bars[:3]:
        ends = [numerals.number(v, 4) for v in (bar.low, bar.high) if v is not None]
        parts.append(f"{bar.label}: {' to '.join(ends)}")
    count = f"{len(chart.bars)} factors, the widest first"
    return f"{count}; {'; '.join(parts)}" if parts else count
