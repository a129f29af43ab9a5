"""A panel as a drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engiagent.report.charts import numerals
from engiagent.report.charts.canvas import (
    BOTTOM,
    LEFT,
    POINTS,
    RIGHT,
    TOP,
    WIDTH,
    Key,
    Scale,
    blank,
    close_range,
    hatches,
    legend,
    marks,
    place_axis,
    value_axis,
    value_range,
)
from engiagent.report.charts.markup import Element, element
from engiagent.report.charts.panels import (
    Band,
    Curve,
    Panel,
    Shape,
    corners_of,
    describe,
    stacked,
    styled,
)
from engiagent.report.charts.thinning import columns_for, stretches, thin
from engiagent.report.charts.timeline import Floats

PLOT, TALL = 150.0, 240.0
_RIGHT_AXIS = 64.0
_DENSE = 1500
_NAMED_LIMITS = 3
_BESIDE = 0.3
"""Room beside the first and the last of labels, which stand below the middle of their places."""


@dataclass(frozen=True)
class _Frame:
    """Where the plot lies, and in how many columns long series are thinned."""

    x: Scale
    left: Scale
    right: Scale
    columns: int

    def y(self, curve: Curve) -> Scale:
        return self.left if curve.side == "left" else self.right


def panel_element(panel: Panel, name: str, points: int = POINTS) -> tuple[Element, float]:
    """Return a panel as a tree, and its height; it is :data:`WIDTH` wide.

    Parameters
    ----------
    name
        Makes the ids unique on a page.
    points
        About how many points the drawing may have.
    """
    two = any(curve.side == "right" for curve in panel.curves)
    right = WIDTH - (_RIGHT_AXIS if two else RIGHT)
    said = _keys(panel, name)
    keys, rows = legend(said if len(said) > 1 or not panel.close else [], right)
    top = TOP + max(rows, 8.0)
    bottom = top + (TALL if panel.close else PLOT)
    frame = _frame(panel, (LEFT, right), (top, bottom), points)
    unit = panel.up or numerals.unit(panel.unit)
    height = bottom + BOTTOM
    svg = blank(f"{panel.title}, {unit or 'no unit'}", describe(panel), height, name)
    if any(curve.role == "stack" for curve in panel.curves):
        svg.append(hatches(name))
    svg.append(keys)
    svg.extend(_band(band, frame) for band in panel.bands)
    svg.append(value_axis(frame.left, unit or "–", (LEFT, right)))
    if two:
        over = numerals.unit(panel.right_unit) or "–"
        svg.append(value_axis(frame.right, over, (LEFT, right), side="right"))
    ticks = panel.axis.ticks(frame.x.low, frame.x.high, 12)
    svg.append(place_axis(frame.x, ticks, panel.axis.title, bottom))
    svg.extend(_areas(panel.curves, frame, name))
    for style, curve in styled(panel.curves):
        if curve.role != "stack" and curve.joined:
            svg.append(_line(style, curve, frame))
        if curve.marks:
            seen = np.isfinite(curve.places) & np.isfinite(curve.values)
            at = frame.x(curve.places[seen]), frame.y(curve)(curve.values[seen])
            svg.append(marks(zip(*(part.tolist() for part in at), strict=True), _number(style)))
    return svg, height


def _frame(
    panel: Panel, ends: tuple[float, float], heights: tuple[float, float], points: int
) -> _Frame:
    top, bottom = heights
    x = Scale(*_place_range(panel), *ends)
    over = [c.values for c in panel.curves if c.side == "right"]
    parts = [c.values for c in panel.curves if c.side == "left" and c.role != "stack"]
    parts += [edge for _, *edges in stacked(panel.curves) for edge in edges]
    parts += [edge for band in panel.bands for edge in (band.low, band.high)]
    left, right = (
        Scale(*(close_range(_joined(v)) if panel.close else value_range(v)), bottom, top)
        for v in (parts, over)
    )
    paths = len(panel.curves) + 2 * len(panel.bands)
    paths += 3 * sum(curve.role == "stack" for curve in panel.curves)
    return _Frame(x, left, right, columns_for(paths, points, ends[1] - ends[0]))


def _place_range(panel: Panel) -> tuple[float, float]:
    drawn = [c.places for c in panel.curves] + [band.places for band in panel.bands]
    joined = _joined(drawn)
    if panel.close:
        return close_range(joined)
    low, high = (float(joined.min()), float(joined.max())) if len(joined) else (0.0, 1.0)
    if panel.axis.kind == "label":
        low, high = low - _BESIDE, high + _BESIDE
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _joined(parts: Sequence[Floats]) -> Floats:
    return np.concatenate([np.zeros(0), *(part[np.isfinite(part)] for part in parts)])


def _keys(panel: Panel, name: str) -> list[Key]:
    keys = [Key(band.label, "band", "area") for band in panel.bands]
    limits = sum(curve.role == "limit" for curve in panel.curves)
    if limits > _NAMED_LIMITS:
        keys.append(Key("limits of these series", "curve limit"))
    for style, curve in styled(panel.curves):
        label = curve.label
        if style == "limit" and limits > _NAMED_LIMITS:
            continue
        if curve.side == "right":
            unit = numerals.unit(panel.right_unit)
            label = f"{label} [{unit}], right" if unit else f"{label}, right"
        if curve.role == "stack":
            keys.append(Key(label, f"area {style}", "area", f"url(#{name}-{style})"))
        else:
            kind: Literal["line", "marked", "point"] = "marked" if curve.marks else "line"
            kind = kind if curve.joined else "point"
            keys.append(Key(label, f"curve {style}", kind, number=_number(style)))
    if panel.left_out:
        keys.append(Key(f"{panel.left_out} more are not drawn", "", "none"))
    return keys


def _number(style: str) -> int:
    return int(style[1:]) if style[1:].isdigit() else 0


def _line(style: str, curve: Curve, frame: _Frame) -> Element:
    dense = " dense" if curve.values.size > _DENSE and curve.role == "series" else ""
    places, values = curve.corners()
    y, parts = frame.y(curve), []
    for part, columns in stretches(places, np.isfinite(values), frame.x, frame.columns):
        parts.append("M" + "L".join(_points(places[part], values[part], frame.x, y, columns)))
    return element("path", d="".join(parts), class_=f"curve {style}{dense}", fill="none")


def _areas(curves: Sequence[Curve], frame: _Frame, name: str) -> list[Element]:
    """Return the stacked areas, each from the edge below it to its own."""
    styles = {id(curve): style for style, curve in styled(curves)}
    result = []
    for curve, below, above in stacked(curves):
        style = styles[id(curve)]
        path = _area(curve.places, below, above, curve.shape, frame)
        fill = f"url(#{name}-{style})"
        result.append(element("path", d=path, class_=f"area {style}", fill=fill))
    return result


def _band(band: Band, frame: _Frame) -> Element:
    path = _area(band.places, band.low, band.high, band.shape, frame)
    return element("path", d=path, class_="band")


def _area(places: Floats, low: Floats, high: Floats, shape: Shape, frame: _Frame) -> str:
    """Return the outline of the area between two edges; where it has no height there is none."""
    seen = np.isfinite(low) & np.isfinite(high)
    if shape == "step":
        seen = np.repeat(seen & (low != high), 2)
    corners, low = corners_of(places, low, shape)
    _, high = corners_of(places, high, shape)
    x, y, parts = frame.x, frame.left, []
    for part, columns in stretches(corners, seen, x, frame.columns):
        there = _points(corners[part], high[part], x, y, columns)
        back = _points(corners[part], low[part], x, y, columns)[::-1]
        parts.append("M" + "L".join([*there, *back]) + "Z")
    return "".join(parts)


def _points(places: Floats, values: Floats, x: Scale, y: Scale, columns: int) -> list[str]:
    across, up = thin(places, values, columns)
    return [f"{a:.1f} {b:.1f}" for a, b in zip(x(across), y(up), strict=True)]
