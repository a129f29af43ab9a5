"""Panels: values over one axis, as steps, lines, stacked areas, bands and limits.

Values of periods are steps and states at instants are lines. A strip below takes what has another
unit, as the price of a dispatch.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engiagent.errors import InputError
from engiagent.report.charts import numerals
from engiagent.report.charts.markup import Element, element
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.scene import (
    BOTTOM,
    END,
    LEFT,
    POINTS,
    TOP,
    WIDTH,
    Key,
    Scale,
    blank,
    close_range,
    legend,
    marks,
    place_axis,
    stretches,
    thin,
    value_axis,
    value_range,
)
from engiagent.report.charts.timeline import Axis, Floats

Shape = Literal["step", "line"]
Role = Literal["series", "limit", "stack"]
Side = Literal["plot", "strip"]


@dataclass(frozen=True, eq=False)
class Curve:
    """One series of a chart."""

    label: str  # its name in the legend
    # places, values: for ``step``: period starts and means, with the end of the last period as an
    # extra place; for ``line``: instants and states. NaN leaves a gap.
    places: Floats
    values: Floats
    shape: Shape
    # ``series``; ``limit`` for a bound that the series must respect; ``stack`` for an area on top
    # of those before it, positive values upwards and negative ones downwards
    role: Role = "series"
    side: Side = "plot"  # whether it stands in the plot or in the strip below
    # marks, joined: whether each point has a mark of its own, and whether a line joins them
    marks: bool = False
    joined: bool = True
    # which of the styles it has, so that it looks the same on several panels; None for the next
    style: int | None = None
    is_smooth: bool = False  # whether it is drawn at full width however many points it has

    def __post_init__(self) -> None:
        _must_fit(self.label, self.places, self.values, self.shape)


@dataclass(frozen=True, eq=False)
class Band:
    """An area between two values, as a comfort band: where something should or may be."""

    label: str
    places: Floats
    low: Floats
    high: Floats
    shape: Shape

    def __post_init__(self) -> None:
        for values in (self.low, self.high):
            _must_fit(self.label, self.places, values, self.shape)


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves over one axis, all of one unit but those in the strip."""

    title: str
    unit: str
    axis: Axis
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...] = ()
    strip_unit: str = ""
    up: str = ""  # the title of the axis of values; by default the unit
    # whether the ranges end near the points, as of a front that lies far from zero
    close: bool = False

    def __post_init__(self) -> None:
        areas = [curve for curve in self.curves if curve.role == "stack"]
        for first, other in itertools.pairwise(areas):
            if not np.array_equal(first.places, other.places):
                raise InputError(
                    f"{other.label!r} cannot be stacked on {first.label!r}",
                    found="other places",
                    expected="one axis for all that is stacked",
                )


def plot(
    title: str,
    across: str,
    up: str,
    traces: Mapping[str, Sequence[tuple[float, float]]],
    *,
    joined: bool = True,
) -> Panel:
    """Return points by name over a number, as a Pareto front.

    ``across``, ``up``: what the axes are called, with their units. ``traces``: the points of each
    name; more than there are styles are left out, and the title says so. ``joined``: whether lines
    join the points of a name.
    """
    known = {label: np.array(points) for label, points in traces.items() if len(points)}
    curves = [
        Curve(label, points[:, 0], points[:, 1], "line", marks=True, joined=joined)
        for label, points in list(known.items())[:STYLES]
    ]
    rest = len(known) - len(curves)
    title = f"{title} ({rest} more are not drawn)" if rest else title
    axis = Axis(across, "value", np.zeros(0), ())
    return Panel(title, "", axis, tuple(curves), up=up, close=True)


def styled(curves: Sequence[Curve]) -> list[tuple[str, Curve]]:
    """Give each series its style, in order; limits and the strip have their own."""
    result, used = [], 0
    for curve in curves:
        plain = curve.role != "limit" and curve.side == "plot"
        number = used if curve.style is None else curve.style
        style = f"s{number % STYLES}" if plain else "limit" if curve.side == "plot" else "over"
        result.append((style, curve))
        used += plain
    return result


def describe(panel: Panel) -> str:
    """Return what a panel shows in a sentence, for those who do not see it."""
    parts = []
    for curve in panel.curves:
        finite = curve.values[np.isfinite(curve.values)]
        if len(finite) and curve.role != "limit":
            low, high = (numerals.number(float(x), 4) for x in (finite.min(), finite.max()))
            unit = numerals.unit(panel.unit if curve.side == "plot" else panel.strip_unit)
            count = f"{len(finite)} points of " if panel.close else ""
            parts.append(f"{count}{curve.label} from {low} to {high}{' ' + unit if unit else ''}")
    parts += [f"a band for {band.label}" for band in panel.bands]
    return f"{'; '.join(parts) or 'no values'}."


def stacked(curves: Sequence[Curve]) -> list[tuple[Curve, Floats, Floats]]:
    """Return the stacked curves with the lower and the upper edge of their areas.

    A curve that has values of both signs comes twice, once for each.
    """
    result = []
    for sign in (1.0, -1.0):
        base: Floats | None = None
        for curve in (c for c in curves if c.role == "stack"):
            part = np.where(np.isfinite(curve.values), np.maximum(sign * curve.values, 0.0), 0.0)
            below = np.zeros_like(part) if base is None else base
            base = below + part
            if part.any():
                result.append((curve, sign * below, sign * base))
    return result


def _must_fit(label: str, places: Floats, values: Floats, shape: Shape) -> None:
    wanted = values.size + (shape == "step")
    if places.ndim != 1 or values.ndim != 1 or places.size != wanted:
        raise InputError(
            f"the places of {label!r} do not fit its values",
            found=f"{places.size} places and {values.size} values",
            expected="one more place than values for steps, else as many of both",
        )


def corners_of(places: Floats, values: Floats, shape: Shape) -> tuple[Floats, Floats]:
    """Return the points of a line; a step has one at either end of its period."""
    if shape == "line":
        return places, values
    return np.repeat(places, 2)[1:-1], np.repeat(values, 2)


# --- drawing --------------------------------------------------------------------------------------

_PLOT, _TALL = 150.0, 240.0
_STRIP, _BETWEEN = 56.0, 14.0
_DENSE = 1500
_NAMED_LIMITS = 3
_REACH = 0.7
"""How far from the curves the edge of a band may lie to be in sight, in shares of their range."""
_BESIDE = 0.3
"""Room beside the first and the last of labels, which stand below the middle of their places."""


@dataclass(frozen=True)
class _Frame:
    """Where the plot lies, and in how many columns long series are thinned."""

    x: Scale
    plot: Scale
    strip: Scale
    columns: int

    def y(self, curve: Curve) -> Scale:
        return self.plot if curve.side == "plot" else self.strip


def panel_element(panel: Panel, name: str) -> tuple[Element, float]:
    """Return a panel as a tree, and its height; ``name`` makes its ids unique on a page."""
    listed = _keys(panel)
    keys, rows = legend(listed if len(listed) > 1 or not panel.close else [])
    top = TOP + max(rows, 8.0)
    frame = _frame(panel, top, top + (_TALL if panel.close else _PLOT))
    unit = panel.up or numerals.unit(panel.unit)
    two = any(curve.side == "strip" for curve in panel.curves)
    foot = frame.strip.start if two else frame.plot.start
    svg = blank(f"{panel.title}, {unit or 'no unit'}", describe(panel), foot + BOTTOM, name)
    svg.append(keys)
    for band in panel.bands:  # an edge out of sight lies at the edge of the plot
        low, high = (np.clip(x, frame.plot.low, frame.plot.high) for x in (band.low, band.high))
        svg.append(element("path", d=_area(band, low, high, frame), class_="band"))
    svg.append(value_axis(frame.plot, unit))
    if two:
        svg.append(value_axis(frame.strip, numerals.unit(panel.strip_unit), 3))
    ticks = panel.axis.ticks(frame.x.low, frame.x.high, int(WIDTH / 60))
    svg.append(place_axis(frame.x, ticks, panel.axis.title, foot))
    styles = styled(panel.curves)
    numbers = {id(curve): style for style, curve in styles}
    for curve, below, above in stacked(panel.curves):
        style = numbers[id(curve)]
        path = _area(curve, below, above, frame)
        svg.append(element("path", d=path, class_=f"area {style} fill{style[1:]}"))
    for style, curve in styles:
        if curve.role != "stack" and curve.joined:
            svg.append(_line(style, curve, frame))
        if curve.marks:
            seen = np.isfinite(curve.places) & np.isfinite(curve.values)
            at = frame.x(curve.places[seen]), frame.y(curve)(curve.values[seen])
            svg.append(marks(zip(*(part.tolist() for part in at), strict=True), _number(style)))
    return svg, foot + BOTTOM


def _frame(panel: Panel, top: float, bottom: float) -> _Frame:
    places = _joined([c.places for c in panel.curves] + [band.places for band in panel.bands])
    if panel.close:
        low, high = close_range(places)
    else:
        low, high = (float(places.min()), float(places.max())) if len(places) else (0.0, 1.0)
        room = _BESIDE if panel.axis.kind == "label" else 0.0 if high > low else 0.5
        low, high = low - room, high + room
    strip = [c.values for c in panel.curves if c.side == "strip"]
    parts = [c.values for c in panel.curves if c.side == "plot" and c.role != "stack"]
    parts += [edge for _, *edges in stacked(panel.curves) for edge in edges]
    parts += _near(panel.bands, _joined(parts))
    span = close_range(_joined(parts)) if panel.close else value_range(parts)
    foot = bottom + _BETWEEN + _STRIP
    paths = len(panel.curves) + 2 * len(panel.bands)
    paths += 3 * sum(curve.role == "stack" for curve in panel.curves)
    return _Frame(
        x=Scale(low, high, LEFT, END),
        plot=Scale(*span, bottom, top),
        strip=Scale(*value_range(strip), foot, foot - _STRIP),
        columns=int(min(max(POINTS // (4 * max(paths, 1)), 100), END - LEFT)),
    )


def _near(bands: Sequence[Band], values: Floats) -> list[Floats]:
    """Return the edges of bands that are near enough to be in sight without flattening a curve."""
    if not values.size:
        return [edge for band in bands for edge in (band.low, band.high)]
    low, high = float(values.min()), float(values.max())
    reach = _REACH * max(high - low, 0.1 * abs(high))
    edges = [(edge, side) for band in bands for edge, side in ((band.low, -1), (band.high, 1))]
    near = [(edge[(edge >= low - reach) & (edge <= high + reach)], side) for edge, side in edges]
    # With a little room beyond, or an edge at the end of the plot would look like none.
    return [edge + side * 0.02 * reach for edge, side in near]


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *(part[np.isfinite(part)] for part in parts)])


def _keys(panel: Panel) -> list[Key]:
    keys = [Key(band.label, "band", "area") for band in panel.bands]
    limits = sum(curve.role == "limit" for curve in panel.curves)
    if limits > _NAMED_LIMITS:
        keys.append(Key("limits of these series", "curve limit"))
    for style, curve in styled(panel.curves):
        if style == "limit" and limits > _NAMED_LIMITS:
            continue
        if curve.role == "stack":
            keys.append(Key(curve.label, f"area {style} fill{style[1:]}", "area"))
        else:
            kind: Literal["line", "marked", "point"] = "marked" if curve.marks else "line"
            kind = kind if curve.joined else "point"
            keys.append(Key(curve.label, f"curve {style}", kind, _number(style)))
    return keys


def _number(style: str) -> int:
    return int(style[1:]) if style[1:].isdigit() else 0


def _line(style: str, curve: Curve, frame: _Frame) -> Element:
    is_dense = curve.values.size > _DENSE and curve.role == "series" and not curve.is_smooth
    dense = " dense" if is_dense else ""
    places, values = corners_of(curve.places, curve.values, curve.shape)
    y, parts = frame.y(curve), []
    for part, columns in stretches(places, np.isfinite(values), frame.x, frame.columns):
        parts.append("M" + "L".join(_points(places[part], values[part], frame.x, y, columns)))
    return element("path", d="".join(parts), class_=f"curve {style}{dense}", fill="none")


def _area(item: Curve | Band, low: Floats, high: Floats, frame: _Frame) -> str:
    """Return the outline of the area between two edges; where it has no height there is none."""
    seen = np.isfinite(low) & np.isfinite(high)
    if item.shape == "step":
        seen = np.repeat(seen & (low != high), 2)
    corners, low = corners_of(item.places, low, item.shape)
    _, high = corners_of(item.places, high, item.shape)
    x, y, parts = frame.x, frame.plot, []
    for part, columns in stretches(corners, seen, x, frame.columns):
        there = _points(corners[part], high[part], x, y, columns)
        back = _points(corners[part], low[part], x, y, columns)[::-1]
        parts.append("M" + "L".join([*there, *back]) + "Z")
    return "".join(parts)


def _points(places: Floats, values: Floats, x: Scale, y: Scale, columns: int) -> list[str]:
    across, up = thin(places, values, columns)
    return [f"{a:.1f} {b:.1f}" for a, b in zip(x(across), y(up), strict=True)]
