"""What every chart is put together from: scales, axes, legends, marks, and thinned lines."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from engiagent.report.charts import numerals
from engiagent.report.charts.markup import Element, element
from engiagent.report.charts.timeline import Floats, Tick, nice_ticks

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 760.0, 64.0, 12.0, 10.0, 34.0
END: Final = WIDTH - RIGHT
POINTS: Final = 20_000  # of one chart; each takes some twelve bytes
CHARACTER: Final = 6.6
_LEGEND_ROW, _LEGEND_GAP, _LONGEST = 18.0, 18.0, 60
_SAMPLE: Final = 24.0
_MARKS: Final = (
    "m-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0",
    "m-3 -3h6v6h-6z",
    "m0 -4l3.6 6.4h-7.2z",
    "m0 -4l4 4l-4 4l-4 -4z",
    "m-3 -3l6 6m0 -6l-6 6",
    "m-3.5 0h7m-3.5 -3.5v7",
)

Value = TypeVar("Value", float, Floats)


@dataclass(frozen=True)
class Scale:
    """From values, ``low`` below ``high``, to places on paper."""

    low: float
    high: float
    start: float
    stop: float

    def __call__(self, value: Value) -> Value:
        """Return where values lie."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.stop - self.start)


@dataclass(frozen=True)
class Key:
    """A line of a legend: the style class of its sample, how that is drawn, and its mark."""

    label: str
    style: str
    kind: Literal["line", "area", "point", "marked"] = "line"
    number: int = 0


def value_range(parts: Iterable[Floats], most: int = 4) -> tuple[float, float]:
    """Return the range of all values, widened to round ticks; zero is kept in sight when near."""
    joined = np.concatenate([np.zeros(0), *(part[np.isfinite(part)] for part in parts)])
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
    ticks = nice_ticks(0.0, high - low, most)
    step = ticks[1] if len(ticks) > 1 else high - low
    return float(np.floor(low / step + 1e-9) * step), float(np.ceil(high / step - 1e-9) * step)


def close_range(values: Floats) -> tuple[float, float]:
    """Return a range around values without drawing zero in: a front may lie far from it."""
    finite = values[np.isfinite(values)]
    if not finite.size:
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
        return value_range([finite])
    room = 0.03 * (high - low)
    return low - room, high + room


def clipped(text: str, most: int) -> str:
    """Return a text of bounded length."""
    return text if len(text) <= most else text[: most - 1] + "…"


def blank(title: str, described: str, height: float, name: str) -> Element:
    """Return an empty drawing with its title and what it shows in words."""
    return element(
        "svg",
        element("title", title, id=f"{name}-t"),
        element("desc", described, id=f"{name}-d"),
        class_="drawing",
        role="img",
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        aria_labelledby=f"{name}-t {name}-d",
    )


def value_axis(scale: Scale, title: str, most: int = 4) -> Element:
    """Return the axis of values on the left of a plot, with its grid."""
    group = element("g", class_="axis")
    # Enough digits to tell ticks apart that lie far from zero and close together.
    reach = max(abs(scale.low), abs(scale.high)) / (scale.high - scale.low)
    digits = min(max(6, int(np.log10(reach)) + 3), 15)
    for tick in nice_ticks(scale.low, scale.high, most):
        y = scale(tick)
        style = "zero" if tick == 0 else "grid"
        group.append(element("line", x1=LEFT, x2=END, y1=y, y2=y, class_=style))
        text = numerals.number(tick, digits)
        group.append(element("text", text, x=LEFT - 7, y=y + 4, text_anchor="end"))
    y = (scale.start + scale.stop) / 2
    around = f"rotate(-90 14 {y:g})"
    label = element("text", title, x=14.0, y=y, transform=around, text_anchor="middle")
    label.set("class", "unit")
    group.append(label)
    return group


def place_axis(scale: Scale, ticks: Sequence[Tick], title: str, bottom: float) -> Element:
    """Return the axis at the bottom; labels that would run into one another are left out."""
    group = element("g", class_="axis")
    group.append(
        element("line", x1=scale.start, x2=scale.stop, y1=bottom, y2=bottom, class_="base")
    )
    free = 0.0
    for place, text in ticks:
        x = scale(place)
        group.append(element("line", x1=x, x2=x, y1=bottom, y2=bottom + 4, class_="base"))
        half = max(0.5 * CHARACTER * len(text), 8.0)
        if x + half < scale.stop + RIGHT and x - half >= free:
            group.append(element("text", text, x=x, y=bottom + 16, text_anchor="middle"))
            free = x + half + 4
    end = element("text", title, x=scale.stop, y=bottom + 29, text_anchor="end", class_="unit")
    group.append(end)
    return group


def legend(keys: Sequence[Key]) -> tuple[Element, float]:
    """Return the legend and how high it is."""
    group = element("g", class_="legend")
    x, row = LEFT, 0
    for key in keys:
        label = clipped(key.label, _LONGEST)
        width = _SAMPLE + 6 + len(label) * CHARACTER
        if x + width > END and x > LEFT:
            x, row = LEFT, row + 1
        y = TOP + row * _LEGEND_ROW + 5
        if key.kind == "area":
            box = element("rect", x=x, y=y - 6, width=_SAMPLE, height=12, class_=key.style)
            group.append(box)
        elif key.kind != "point":
            path = f"M{x:g} {y:g}h{_SAMPLE:g}"
            group.append(element("path", d=path, class_=key.style, fill="none"))
        if key.kind in ("point", "marked"):
            group.append(marks([(x + _SAMPLE / 2, y)], key.number))
        group.append(element("text", label, x=x + _SAMPLE + 6, y=y + 4))
        x += width + _LEGEND_GAP
    return group, (row + 1) * _LEGEND_ROW if keys else 0.0


def marks(points: Iterable[tuple[float, float]], number: int) -> Element:
    """Return a mark at every point; each of the styles has a shape of its own."""
    shape = _MARKS[number % len(_MARKS)]
    path = "".join(f"M{x:.1f} {y:.1f}{shape}" for x, y in points)
    return element("path", d=path, class_=f"mark s{number % len(_MARKS)}", fill="none")


def thin(places: Floats, values: Floats, columns: int) -> tuple[Floats, Floats]:
    """Keep the first, least, greatest and last value of every pixel column.

    ``places`` rise, and all points are finite; a line of few points comes back as it is.
    """
    if len(places) <= 4 * columns:
        return places, values
    width = (places[-1] - places[0]) / columns or 1.0
    column = np.minimum(((places - places[0]) / width).astype(np.int64), columns - 1)
    starts = np.flatnonzero(np.diff(column, prepend=-1))
    ends = np.append(starts[1:], len(places)) - 1
    order = np.lexsort((values, column))
    keep = np.unique(np.concatenate([starts, ends, order[starts], order[ends]]))
    return places[keep], values[keep]


def stretches(
    places: Floats, seen: npt.NDArray[np.bool_], x: Scale, columns: int
) -> Iterator[tuple[npt.NDArray[np.intp], int]]:
    """Yield the points of every stretch that is seen, and in how many columns to thin it.

    In long series gaps that are narrower than a column are closed, so that there are never more
    stretches than columns.
    """
    seen = seen & np.isfinite(places)
    chosen = np.flatnonzero(seen)
    if not chosen.size:
        return
    whole = x.high - x.low
    cut = np.diff(chosen) > 1
    if places.size > 4 * columns:
        step = np.diff(places[chosen])
        cut &= (step < 0) | (step > whole / columns)
    for part in np.split(chosen, np.flatnonzero(cut) + 1):
        share = abs(places[part[-1]] - places[part[0]]) / whole
        yield part, max(int(np.ceil(columns * share)), 1)
