"""Charts of studies as inline SVG: lines and points over a number, and bars to both sides."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from engiagent.report import words
from engiagent.report.markup import Element, element, render
from engiagent.report.timeline import nice_ticks

WIDTH, LEFT, RIGHT, TOP, PLOT, BOTTOM = 760.0, 84.0, 16.0, 12.0, 240.0, 44.0
STYLES = 6
LABELS = 230.0
BAR = 24.0
_PER_ROW, _ROW = 2, 18.0


@dataclass(frozen=True)
class Trace:
    """Points of one name, joined by a line or not."""

    label: str
    points: tuple[tuple[float, float], ...]
    joined: bool = True


@dataclass(frozen=True)
class Bar:
    """What the objective is at the low and the high end of a factor."""

    label: str
    low: float | None
    high: float | None


def plot(title: str, axes: tuple[str, str], traces: Sequence[Trace], name: str) -> Markup:
    """Return traces over a horizontal axis; ``axes`` are the titles of both."""
    traces = [trace for trace in traces if trace.points][:STYLES]
    rows = -(-len(traces) // _PER_ROW) if len(traces) > 1 else 0
    top = TOP + rows * _ROW
    x = _Scale([p[0] for t in traces for p in t.points], LEFT, WIDTH - RIGHT)
    y = _Scale([p[1] for t in traces for p in t.points], top + PLOT, top)
    said = "; ".join(f"{t.label}: {len(t.points)} points" for t in traces) or "no points"
    svg = _canvas(title, said, top + PLOT + BOTTOM, name)
    for value in y.ticks:
        svg.append(
            element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(value), y2=y(value), class_="grid")
        )
        svg.append(
            element("text", words.number(value, 6), x=LEFT - 8, y=y(value) + 4, text_anchor="end")
        )
    for value in x.ticks:
        svg.append(
            element(
                "line", x1=x(value), x2=x(value), y1=top + PLOT, y2=top + PLOT + 4, class_="base"
            )
        )
        svg.append(
            element(
                "text", words.number(value, 6), x=x(value), y=top + PLOT + 18, text_anchor="middle"
            )
        )
    svg.append(
        element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=top + PLOT, y2=top + PLOT, class_="base")
    )
    svg.append(
        element(
            "text", axes[0], x=WIDTH - RIGHT, y=top + PLOT + 36, text_anchor="end", class_="unit"
        )
    )
    turn = f"rotate(-90 14 {top + PLOT / 2:g})"
    svg.append(
        element(
            "text",
            axes[1],
            x=14,
            y=top + PLOT / 2,
            transform=turn,
            text_anchor="middle",
            class_="unit",
        )
    )
    for k, trace in enumerate(traces):
        places = [(x(a), y(b)) for a, b in trace.points]
        if trace.joined and len(places) > 1:
            path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in places)
            svg.append(element("path", d=path, class_=f"curve s{k}", fill="none"))
        for a, b in places:
            svg.append(element("circle", cx=a, cy=b, r=2.5, class_=f"curve s{k}", fill="none"))
        if rows:
            at = LEFT + (k % _PER_ROW) * (WIDTH - LEFT) / _PER_ROW
            line = TOP + (k // _PER_ROW) * _ROW
            svg.append(element("path", d=f"M{at:g} {line:g}h24", class_=f"curve s{k}", fill="none"))
            svg.append(element("text", trace.label[:48], x=at + 30, y=line + 4))
    return render(svg)


def tornado(title: str, base: float, bars: Sequence[Bar], unit: str, name: str) -> Markup:
    """Return bars from the base to both ends of each factor, in the order given."""
    ends = [v for bar in bars for v in (bar.low, bar.high) if v is not None]
    x = _Scale([base, *ends], LABELS, WIDTH - RIGHT)
    height = TOP + len(bars) * BAR
    svg = _canvas(title, f"{len(bars)} factors, the widest first", height + BOTTOM, name)
    for value in x.ticks:
        svg.append(element("line", x1=x(value), x2=x(value), y1=TOP, y2=height, class_="grid"))
        svg.append(
            element("text", words.number(value, 6), x=x(value), y=height + 16, text_anchor="middle")
        )
    for k, bar in enumerate(bars):
        middle = TOP + (k + 0.5) * BAR
        svg.append(element("text", bar.label[:34], x=LABELS - 10, y=middle + 4, text_anchor="end"))
        for style, end in (("s0", bar.low), ("s1", bar.high)):
            if end is not None:
                path = f"M{x(base):.1f} {middle + (-3 if style == 's0' else 3):g}H{x(end):.1f}"
                svg.append(element("path", d=path, class_=f"curve {style}", fill="none"))
    svg.append(element("line", x1=x(base), x2=x(base), y1=TOP, y2=height, class_="base"))
    said = f"objective [{unit}]; solid: low end, dashed: high end"
    place = {"x": WIDTH - RIGHT, "y": height + 36}
    svg.append(element("text", said, text_anchor="end", class_="unit", **place))
    return render(svg)


class _Scale:
    """From values to places on paper, between round ticks."""

    def __init__(self, values: Sequence[float], start: float, stop: float) -> None:
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        if high - low <= 1e-9 * max(abs(low), abs(high), 1e-9):
            pad = 0.1 * abs(high) or 1.0
            low, high = low - pad, high + pad
        self._low, self._high, self._start, self._stop = low, high, start, stop
        self.ticks = nice_ticks(low, high, 6)

    def __call__(self, value: float) -> float:
        share = (value - self._low) / (self._high - self._low)
        return self._start + share * (self._stop - self._start)


def _canvas(title: str, said: str, height: float, name: str) -> Element:
    return element(
        "svg",
        element("title", title, id=f"{name}-t"),
        element("desc", said, id=f"{name}-d"),
        role="img",
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        aria_labelledby=f"{name}-t {name}-d",
    )
