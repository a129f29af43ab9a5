"""When things happened and how long they took: a lane for each name, a bar for each time."""

from dataclasses import dataclass

from engiagent.report.charts import numerals
from engiagent.report.charts.canvas import LEFT, RIGHT, WIDTH, Scale, blank
from engiagent.report.charts.markup import Element, element
from engiagent.report.charts.timeline import nice_ticks

LANE, BAR, HEAD, FOOT = 24.0, 14.0, 8.0, 34.0
_LANES = 96.0
_LEAST = 2.0
"""Pixels that the shortest bar has, to be seen at all."""


@dataclass(frozen=True)
class Span:
    """One bar.

    Attributes
    ----------
    lane
        Whose it is.
    start, length
        In the unit of the axis; a length of None goes on.
    good
        Whether it ended well.
    text
        What came of it.
    """

    lane: str
    start: float
    length: float | None
    good: bool = True
    text: str = ""


@dataclass(frozen=True)
class Spans:
    """Bars over one axis, the lanes in the order in which they first come."""

    title: str
    spans: tuple[Span, ...]
    unit: str = "s"

    @property
    def lanes(self) -> tuple[str, ...]:
        """The names of the lanes."""
        return tuple(dict.fromkeys(span.lane for span in self.spans))

    @property
    def end(self) -> float:
        """Where the last bar that ends, or begins, does so."""
        return max((s.start + (s.length or 0.0) for s in self.spans), default=0.0)


def spans_element(chart: Spans, name: str) -> tuple[Element, float]:
    """Return a chart of spans as a tree, and its height."""
    lanes = chart.lanes
    bottom = HEAD + LANE * len(lanes)
    height = bottom + FOOT
    svg = blank(chart.title, _said(chart), height, name)
    left, right = LEFT + _LANES - 40.0, WIDTH - RIGHT
    scale = Scale(0.0, chart.end or 1.0, left, right)
    for tick in nice_ticks(scale.low, scale.high, 8):
        x = scale.at(tick)
        svg.append(element("line", x1=x, x2=x, y1=HEAD, y2=bottom, class_="grid"))
        text = numerals.number(tick)
        svg.append(element("text", text, x=x, y=bottom + 16, text_anchor="middle"))
    for k, lane in enumerate(lanes):
        y = HEAD + (k + 0.5) * LANE
        svg.append(element("text", lane, x=left - 10, y=y + 4, text_anchor="end"))
        svg.extend(_bar(span, scale, y) for span in chart.spans if span.lane == lane)
    svg.append(element("line", x1=left, x2=right, y1=bottom, y2=bottom, class_="base"))
    unit = numerals.unit(chart.unit)
    svg.append(element("text", unit, x=right, y=bottom + 30, text_anchor="end", class_="unit"))
    return svg, height


def _bar(span: Span, scale: Scale, y: float) -> Element:
    """Return a bar: full where it ended well, an outline where it did not or goes on."""
    x = scale.at(span.start)
    stop = scale.stop if span.length is None else scale.at(span.start + span.length)
    style = "bar s0 fill0" if span.good and span.length is not None else "bar s1"
    fill = {} if span.good and span.length is not None else {"fill": "none"}
    shape = element(
        "rect",
        element("title", f"{span.lane}, {_took(span)}{span.text and f': {span.text}'}"),
        x=min(x, scale.stop - _LEAST),
        y=y - BAR / 2,
        width=max(stop - x, _LEAST),
        height=BAR,
        class_=style,
        **fill,
    )
    return shape


def _took(span: Span) -> str:
    if span.length is None:
        return f"since {numerals.number(span.start, 3)}"
    return f"{numerals.number(span.length, 3)} from {numerals.number(span.start, 3)}"


def _said(chart: Spans) -> str:
    parts = [f"{span.lane} {_took(span)}" for span in chart.spans[:20]]
    more = f"; and {len(chart.spans) - 20} more" if len(chart.spans) > 20 else ""
    return f"{'; '.join(parts) or 'nothing'}{more}, in {numerals.unit(chart.unit) or 'no unit'}"
