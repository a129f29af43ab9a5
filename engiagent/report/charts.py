"""Charts as inline SVG: steps for period means, lines for states, dashes for limits.

Every curve has a colour and a dash pattern, so that a chart reads in grey as well. Long series are
thinned to the extremes of each pixel column: no peak is lost, and no page grows with the horizon.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from markupsafe import Markup

from engiagent.report import words
from engiagent.report.markup import Element, element, render
from engiagent.report.timeline import Axis, Floats, nice_ticks

WIDTH, LEFT, RIGHT, TOP, PLOT, BOTTOM = 760.0, 64.0, 12.0, 10.0, 150.0, 34.0
_LEGEND_ROW, _LEGEND_GAP, _CHARACTER = 18.0, 18.0, 6.6
STYLES = 6
_DENSE = 1500


@dataclass(frozen=True, eq=False)
class Curve:
    """One series of a chart.

    Attributes
    ----------
    label
        Its name in the legend.
    places, values
        For ``step``: period starts and means, with the end of the last period as an extra place;
        for ``line``: instants and states.
    role
        ``series``, or ``limit`` for a bound that the series must respect.
    """

    label: str
    places: Floats
    values: Floats
    shape: Literal["step", "line"]
    role: Literal["series", "limit"] = "series"


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves of one unit over one axis."""

    title: str
    unit: str
    axis: Axis
    curves: tuple[Curve, ...]


def draw(panel: Panel, name: str) -> Markup:
    """Return a panel as an ``svg`` element; ``name`` makes its ids unique on the page."""
    return render(panel_element(panel, name)[0])


def panel_element(panel: Panel, name: str) -> tuple[Element, float]:
    """Return a panel as a tree, and its height; it is :data:`WIDTH` wide."""
    low, high = _value_range(panel.curves)
    left, right = _place_range(panel)
    legend, rows = _legend(panel.curves)
    top = TOP + rows * _LEGEND_ROW
    height = top + PLOT + BOTTOM
    frame = _Frame(left, right, low, high, top)
    svg = element(
        "svg",
        element("title", f"{panel.title}, {words.unit(panel.unit) or 'no unit'}", id=f"{name}-t"),
        element("desc", describe(panel), id=f"{name}-d"),
        role="img",
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        aria_labelledby=f"{name}-t {name}-d",
    )
    svg.extend([legend, _value_axis(frame, panel.unit), _place_axis(frame, panel.axis)])
    for style, curve in styled(panel.curves):
        path = _path(curve, frame)
        dense = " dense" if curve.values.size > _DENSE and curve.role == "series" else ""
        svg.append(element("path", d=path, class_=f"curve {style}{dense}", fill="none"))
    return svg, height


def styled(curves: Sequence[Curve]) -> list[tuple[str, Curve]]:
    """Give each series its style, in order, and every limit the style of limits."""
    result, used = [], 0
    for curve in curves:
        result.append(("limit" if curve.role == "limit" else f"s{used % STYLES}", curve))
        used += curve.role == "series"
    return result


def describe(panel: Panel) -> str:
    """Return what a panel shows in a sentence, for those who do not see it."""
    parts = []
    for curve in panel.curves:
        finite = curve.values[np.isfinite(curve.values)]
        if len(finite) and curve.role == "series":
            low, high = (words.number(float(x), 4) for x in (finite.min(), finite.max()))
            parts.append(f"{curve.label} from {low} to {high}")
    unit = words.unit(panel.unit)
    return f"{'; '.join(parts) or 'no values'}{' ' + unit if unit else ''}."


def thin(places: Floats, values: Floats, columns: int) -> tuple[Floats, Floats]:
    """Keep the first, least, greatest and last value of every pixel column.

    Parameters
    ----------
    places, values
        The points of a line, shape (n,), by increasing place, all finite.
    columns
        How many pixel columns there are; shorter lines come back as they are.
    """
    if len(places) <= 4 * columns:
        return places, values
    width = (places[-1] - places[0]) / columns
    column = np.minimum(((places - places[0]) / width).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(places)) - 1
    order = np.lexsort((values, column))
    keep = np.unique(np.concatenate([starts, ends, order[starts], order[ends]]))
    return places[keep], values[keep]


@dataclass(frozen=True)
class _Frame:
    """Where the plot lies in data and on paper."""

    left: float
    right: float
    low: float
    high: float
    top: float

    def x(self, places: Floats) -> Floats:
        scale = (WIDTH - LEFT - RIGHT) / (self.right - self.left)
        return LEFT + (places - self.left) * scale

    def y(self, values: Floats) -> Floats:
        return self.top + PLOT - (values - self.low) * PLOT / (self.high - self.low)


def _value_range(curves: Sequence[Curve]) -> tuple[float, float]:
    """Return the range of all values, widened to round ticks; zero is kept in sight when near."""
    finite = [c.values[np.isfinite(c.values)] for c in curves]
    joined = np.concatenate([np.zeros(0), *finite])
    if not len(joined):
        return 0.0, 1.0
    low, high = float(joined.min()), float(joined.max())
    if low > 0 and low < 0.5 * high:
        low = 0.0
    if high < 0 and high > 0.5 * low:
        high = 0.0
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        pad = abs(high) * 0.1 or 1.0
        low, high = low - pad, high + pad
    ticks = nice_ticks(low, high, 4)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else high - low
    return float(np.floor(low / step + 1e-9) * step), float(np.ceil(high / step - 1e-9) * step)


def _place_range(panel: Panel) -> tuple[float, float]:
    ends = [x for curve in panel.curves for x in (curve.places[:1], curve.places[-1:])]
    joined = np.concatenate([np.zeros(0), *ends])
    low, high = (float(joined.min()), float(joined.max())) if len(joined) else (0.0, 1.0)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _path(curve: Curve, frame: _Frame) -> str:
    places, values = curve.places, curve.values
    if curve.shape == "step":
        places, values = np.repeat(places, 2)[1:-1], np.repeat(values, 2)
    finite = np.isfinite(values)
    edges = np.flatnonzero(np.diff(finite.astype(np.int8), prepend=0, append=0))
    parts = []
    for start, stop in zip(edges[::2], edges[1::2], strict=True):
        x, y = thin(places[start:stop], values[start:stop], int(WIDTH - LEFT - RIGHT))
        points = zip(frame.x(x), frame.y(y), strict=True)
        parts.append("M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in points))
    return "".join(parts)


def _value_axis(frame: _Frame, unit: str) -> Element:
    group = element("g", class_="axis")
    ticks = nice_ticks(frame.low, frame.high, 4)
    # Enough digits to tell neighbours apart where values lie far from zero and close together.
    reach = max(abs(frame.low), abs(frame.high)) / (frame.high - frame.low)
    digits = min(max(6, int(np.log10(reach)) + 3), 15)
    for tick in ticks:
        y = float(frame.y(np.array(tick)))
        style = "zero" if tick == 0 else "grid"
        group.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_=style))
        text = words.number(tick, digits)
        group.append(element("text", text, x=LEFT - 7, y=y + 4, text_anchor="end"))
    middle = frame.top + PLOT / 2
    turn = f"rotate(-90 12 {middle:g})"
    label = words.unit(unit) or "–"
    group.append(
        element("text", label, x=12, y=middle, transform=turn, text_anchor="middle", class_="unit")
    )
    return group


def _place_axis(frame: _Frame, axis: Axis) -> Element:
    group = element("g", class_="axis")
    bottom = frame.top + PLOT
    ticks = axis.ticks(frame.left, frame.right, 12)
    group.append(element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=bottom, y2=bottom, class_="base"))
    for place, text in ticks:
        x = float(frame.x(np.array(place)))
        group.append(element("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="base"))
        if x < WIDTH - RIGHT - 8:
            group.append(element("text", text, x=x, y=bottom + 16, text_anchor="middle"))
    end = element("text", axis.title, x=WIDTH - RIGHT, y=bottom + 29, text_anchor="end")
    end.set("class", "unit")
    group.append(end)
    return group


def _legend(curves: Sequence[Curve]) -> tuple[Element, int]:
    """Return the legend and how many rows it takes."""
    group = element("g", class_="legend")
    x, row = LEFT, 0
    for style, curve in styled(curves):
        label = curve.label if len(curve.label) <= 60 else curve.label[:59] + "…"
        width = 30 + len(label) * _CHARACTER
        if x + width > WIDTH - RIGHT and x > LEFT:
            x, row = LEFT, row + 1
        y = TOP + row * _LEGEND_ROW + 5
        path = f"M{x:g} {y:g}h24"
        group.append(element("path", d=path, class_=f"curve {style}", fill="none"))
        group.append(element("text", label, x=x + 30, y=y + 4))
        x += width + _LEGEND_GAP
    return group, row + 1
