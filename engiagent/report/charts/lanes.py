"""Lanes: a row for each name and bars, as of what is on, turns, or ends of factors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from engiagent.report.charts import numerals
from engiagent.report.charts.markup import Element, element
from engiagent.report.charts.palette import STYLES
from engiagent.report.charts.scene import (
    CHARACTER,
    END,
    TOP,
    WIDTH,
    Key,
    Scale,
    blank,
    clipped,
    close_range,
    legend,
    place_axis,
)
from engiagent.report.charts.timeline import Axis, Floats, nice_ticks

_ROW, _BAR, _BOTTOM = 26.0, 16.0, 44.0
_LONGEST, _MOST = 34, 12
_LEAST: Final = 1.5  # pixels that the shortest bar has, to be seen at all
_WAYS: Final = ("main way", "taxonomy", "memory", "diagnosis", "switched or ended")
_GOOD: Final = ("done", "certified", "accepted")


@dataclass(frozen=True)
class Bar:
    """One bar, in the unit of its chart."""

    lane: str  # whose it is
    start: float
    stop: float
    series: int = 0  # which of the chart's series it is of
    good: bool = True  # whether it ended well; one that did not is an outline
    text: str = ""  # what came of it


@dataclass(frozen=True)
class Lanes:
    """Bars over one number, the lanes in the order in which they first come."""

    title: str
    unit: str
    bars: tuple[Bar, ...]
    series: tuple[str, ...] = ()  # names for the legend; none for one kind of bar
    # where all bars begin, those of one lane below one another; None for bars with a start
    base: float | None = None
    across: str = ""  # the title of the axis; by default the unit
    # where the bars lie along time; their lanes are there also without a bar
    axis: Axis | None = None
    names: tuple[str, ...] = ()  # the lanes of such a chart

    @property
    def lanes(self) -> tuple[str, ...]:
        """The names of the lanes."""
        return self.names or tuple(dict.fromkeys(bar.lane for bar in self.bars))

    @property
    def axis_title(self) -> str:
        """What the axis shows."""
        if self.axis is not None:
            return self.axis.title
        unit = numerals.unit(self.unit)
        return f"{self.across} [{unit}]" if self.across and unit else self.across or unit


def tornado(
    title: str, unit: str, base: float, ends: Mapping[str, tuple[float | None, float | None]]
) -> Lanes:
    """Return what the objective is at the low and the high end of each factor, in the order given.

    ``ends``: by factor; None where there was no plan.
    """
    bars = [
        Bar(name, base, end, k)
        for name, pair in ends.items()
        for k, end in enumerate(pair)
        if end is not None
    ]
    across = f"objective, {numerals.quantity(base, unit, 6)} as stated"
    series = ("low end of the factor", "high end of the factor")
    return Lanes(title, unit, tuple(bars), series, base, across)


def route_chart(lines: Sequence[Mapping[str, Any]], title: str = "Turns of the agents") -> Lanes:
    """Return the turns that the lines of a ``trace.jsonl`` tell of, by what sent each of them."""
    bars: list[Bar] = []
    for line in lines:
        if line.get("event") != "route" or not isinstance(line.get("target"), str):
            continue
        outcome = line.get("outcome")
        found: Mapping[str, Any] = outcome if isinstance(outcome, Mapping) else {}
        good = found.get("status") in _GOOD and not found.get("faults")
        way = str(line.get("decided_by") or _WAYS[0])
        series = _WAYS.index(way) if way in _WAYS else len(_WAYS) - 1
        text = f"{found.get('status', 'begun')}: {found.get('summary', '')}"
        turn = len(bars)
        bars.append(Bar(line["target"], turn + 0.6, turn + 1.4, series, good, text))
    used = {bar.series for bar in bars}
    return Lanes(title, "turn", tuple(bars), _WAYS if len(used) > 1 else ())


def switch_lanes(title: str, axis: Axis, switches: Mapping[str, Floats]) -> Lanes:
    """Return when each of some switches is on: a bar from the start of its periods to their end."""
    bars = []
    for name, values in switches.items():
        on = np.diff(np.concatenate([[0], (values > 0.5).astype(int), [0]]))
        ends = zip(np.flatnonzero(on > 0), np.flatnonzero(on < 0), strict=True)
        bars += [Bar(name, axis.edges[start], axis.edges[stop]) for start, stop in ends]
    return Lanes(title, "", tuple(bars), axis=axis, names=tuple(switches))


def lanes_element(chart: Lanes, name: str) -> tuple[Element, float]:
    """Return lanes as a tree, and its height."""
    lanes = chart.lanes
    left = CHARACTER * max((len(clipped(lane, _LONGEST)) for lane in lanes), default=0) + 24.0
    used = sorted({bar.series for bar in chart.bars})
    keys, rows = legend(
        [Key(chart.series[k], _style(k, chart), "area") for k in used if chart.series]
    )
    top = TOP + rows
    bottom = top + max(len(lanes), 1) * _ROW
    x, most = Scale(*_ends(chart), left + 8, END), int(WIDTH / 120)
    svg = blank(chart.title, describe(chart), bottom + _BOTTOM, name)
    svg.append(keys)
    ticks = [(value, numerals.number(value, 6)) for value in nice_ticks(x.low, x.high, most)]
    if chart.axis is not None:
        ticks = chart.axis.ticks(x.low, x.high, int(WIDTH / 70))
    for tick, _ in ticks:
        svg.append(element("line", x1=x(tick), x2=x(tick), y1=top, y2=bottom, class_="grid"))
    for k, lane in enumerate(lanes):
        middle = top + (k + 0.5) * _ROW
        text = clipped(lane, _LONGEST)
        svg.append(element("text", text, x=left, y=middle + 4, text_anchor="end"))
        svg.extend(_bar(bar, chart, x, middle) for bar in chart.bars if bar.lane == lane)
    if chart.base is not None:
        at = x(chart.base)
        svg.append(element("line", x1=at, x2=at, y1=top - 4, y2=bottom, class_="base"))
    svg.append(place_axis(x, ticks, chart.axis_title, bottom))
    return svg, bottom + _BOTTOM


def _ends(chart: Lanes) -> tuple[float, float]:
    """Return the first and the last value."""
    if chart.axis is not None:
        return float(chart.axis.edges[0]), float(chart.axis.edges[-1])
    values = [x for bar in chart.bars for x in (bar.start, bar.stop)]
    if chart.base is None:
        return 0.0, max(values, default=1.0) or 1.0
    return close_range(np.array([chart.base, *values]))


def describe(chart: Lanes) -> str:
    """Return what the bars show, for those who do not see them."""
    parts = [_words(bar, chart) for bar in chart.bars[:_MOST]]
    more = f"; and {len(chart.bars) - _MOST} more" if len(chart.bars) > _MOST else ""
    unit = "" if chart.axis is not None else f", in {numerals.unit(chart.unit) or 'no unit'}"
    return f"{len(chart.bars)} bars: {'; '.join(parts)}{more}{unit}" if parts else "0 bars"


def _words(bar: Bar, chart: Lanes) -> str:
    text = bar.text and f": {bar.text}"
    if chart.base is not None:
        return f"{bar.lane} to {numerals.number(bar.stop, 4)}{text}"
    if chart.axis is None:
        start, stop = (numerals.number(x, 3) for x in (bar.start, bar.stop))
    else:  # the end of the last period has no label of its own
        at = (int(np.searchsorted(chart.axis.places, x)) for x in (bar.start, bar.stop))
        start, stop = ((*chart.axis.labels, "the end")[k] for k in at)
    return f"{bar.lane} from {start} to {stop}{text}"


def _style(series: int, chart: Lanes) -> str:
    light = " light" if chart.base is not None and series == 0 else ""
    return f"bar s{series % STYLES} fill{series % STYLES}{light}"


def _bar(bar: Bar, chart: Lanes, x: Scale, middle: float) -> Element:
    start, stop = sorted((x(bar.start), x(bar.stop)))
    half = chart.base is not None
    outline = {"class_": f"bar s{bar.series % STYLES}", "fill": "none"}
    return element(
        "rect",
        element("title", _words(bar, chart)),
        x=min(start, END - _LEAST),
        y=middle - _BAR / 2 + (_BAR / 2 if half and bar.series else 0.0),
        width=max(stop - start, _LEAST),
        height=_BAR / 2 if half else _BAR,
        **({"class_": _style(bar.series, chart)} if bar.good else outline),
    )
