"""Panels: values over one axis, as steps, lines, stacked areas, bands and limits.

Values of periods are steps and states at instants are lines. A second axis on the right takes what
has another unit, as a price over a dispatch.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from engiagent.errors import InputError
from engiagent.report.charts import numerals
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.timeline import Axis, Floats

Shape = Literal["step", "line"]
Role = Literal["series", "limit", "stack"]
Side = Literal["left", "right"]


@dataclass(frozen=True, eq=False)
class Curve:
    """One series of a chart.

    Attributes
    ----------
    label
        Its name in the legend.
    places, values
        For ``step``: period starts and means, with the end of the last period as an extra place;
        for ``line``: instants and states. NaN leaves a gap.
    role
        ``series``; ``limit`` for a bound that the series must respect; ``stack`` for an area on
        top of those before it, positive values upwards and negative ones downwards.
    side
        Which axis it is read from.
    marks, joined
        Whether each point has a mark of its own, and whether a line joins them.
    style
        Which of the styles it has, so that it looks the same on several panels; None for the next.
    """

    label: str
    places: Floats
    values: Floats
    shape: Shape
    role: Role = "series"
    side: Side = "left"
    marks: bool = False
    joined: bool = True
    style: int | None = None

    def __post_init__(self) -> None:
        _must_fit(self.label, self.places, self.values, self.shape)

    def corners(self) -> tuple[Floats, Floats]:
        """Return the points of the drawn line."""
        return corners_of(self.places, self.values, self.shape)


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
    """Curves over one axis, all of one unit but those on the right.

    Attributes
    ----------
    up
        The title of the axis of values; by default the unit.
    close
        Whether the ranges end near the points, as of a front that lies far from zero.
    left_out
        How many curves there are beyond those drawn.
    """

    title: str
    unit: str
    axis: Axis
    curves: tuple[Curve, ...]
    bands: tuple[Band, ...] = ()
    right_unit: str = ""
    up: str = ""
    close: bool = False
    left_out: int = 0

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

    Parameters
    ----------
    across, up
        What the axes are called, with their units.
    traces
        The points of each name; more than there are styles are left out, and the drawing says so.
    joined
        Whether lines join the points of a name.
    """
    known = {label: np.array(points) for label, points in traces.items() if len(points)}
    curves = [
        Curve(label, points[:, 0], points[:, 1], "line", marks=True, joined=joined)
        for label, points in list(known.items())[:STYLES]
    ]
    axis = Axis(across, "value", np.zeros(0), ())
    rest = len(known) - len(curves)
    return Panel(title, "", axis, tuple(curves), up=up, close=True, left_out=rest)


def styled(curves: Sequence[Curve]) -> list[tuple[str, Curve]]:
    """Give each series its style, in order; limits and what is read on the right have their own."""
    result, used = [], 0
    for curve in curves:
        plain = curve.role != "limit" and curve.side == "left"
        number = used if curve.style is None else curve.style
        style = f"s{number % STYLES}" if plain else "limit" if curve.side == "left" else "over"
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
            unit = numerals.unit(panel.unit if curve.side == "left" else panel.right_unit)
            count = f"{len(finite)} points of " if panel.close else ""
            parts.append(f"{count}{curve.label} from {low} to {high}{' ' + unit if unit else ''}")
    parts += [f"a band for {band.label}" for band in panel.bands]
    parts += [f"{panel.left_out} more are not drawn"] if panel.left_out else []
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
