"""The same charts as figures of plotly, for those who want to zoom; an extra."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.report.charts import numerals
from engiagent.report.charts.drawing import Chart, caption
from engiagent.report.charts.lanes import Lanes
from engiagent.report.charts.palette import DASHES, LIGHT, STYLES
from engiagent.report.charts.panels import Curve, Panel, stacked, styled
from engiagent.report.charts.timeline import Axis, Floats

if TYPE_CHECKING:
    import plotly.graph_objects as go

_HATCHES: Final = ("", "/", "\\", "-", "|", "+")
_HEIGHT, _BETWEEN = 360, 90


@dataclass(frozen=True)
class _Place:
    """Where in the figure a chart goes."""

    figure: "go.Figure"
    row: int

    def add(self, trace: Any, *, right: bool = False) -> None:
        self.figure.add_trace(trace, row=self.row, col=1, secondary_y=right)

    def titles(self, across: str, up: str, right: str = "") -> None:
        self.figure.update_xaxes(title_text=across, row=self.row, col=1)
        self.figure.update_yaxes(title_text=up, row=self.row, col=1, secondary_y=False)
        if right:
            self.figure.update_yaxes(title_text=right, row=self.row, col=1, secondary_y=True)


def plotly_figure(charts: Sequence[Chart]) -> "go.Figure":
    """Return charts one above the other as a figure of plotly.

    Raises
    ------
    EngiagentError
        When plotly is not installed, or there is nothing to draw.
    """
    try:
        from plotly.subplots import make_subplots
    except ImportError:
        raise EngiagentError(
            "plotly is not installed; pip install 'engiagent[plotly]', or draw with backend='svg'"
        ) from None
    if not charts:
        raise EngiagentError("there is nothing to draw")
    figure = make_subplots(
        rows=len(charts),
        cols=1,
        subplot_titles=[caption(chart) for chart in charts],
        specs=[[{"secondary_y": True}] for _ in charts],
        vertical_spacing=_BETWEEN / (_HEIGHT * len(charts)),
    )
    for row, chart in enumerate(charts, start=1):
        place = _Place(figure, row)
        if isinstance(chart, Panel):
            _panel(chart, place)
        else:
            _lanes(chart, place)
    figure.update_layout(
        template="plotly_white",
        height=_HEIGHT * len(charts) + _BETWEEN,
        barmode="overlay",
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
    )
    return figure


def _panel(chart: Panel, place: _Place) -> None:
    import plotly.graph_objects as go

    axis = chart.axis
    for band in chart.bands:
        shape = "hv" if band.shape == "step" else "linear"
        for values, fill in ((band.low, None), (band.high, "tonexty")):
            x, y = _ends(axis, band.places, values, band.shape == "step")
            look = {"shape": shape, "width": 0}
            place.add(
                go.Scatter(
                    x=x,
                    y=y,
                    line=look,
                    fill=fill,
                    name=band.label,
                    hoverinfo="skip",
                    fillcolor="rgba(9,116,79,.16)",
                    showlegend=fill is not None,
                    mode="lines",
                )
            )
    areas = {id(curve): (below, above) for curve, below, above in stacked(chart.curves)}
    for style, curve in styled(chart.curves):
        if curve.role == "stack":
            if id(curve) in areas:
                place.add(_area(axis, style, curve))
            continue
        step = curve.shape == "step"
        x, y = _ends(axis, curve.places, curve.values, step)
        line = {**_line(style), "shape": "hv" if step else "linear"}
        mode = "lines" if not curve.marks else "lines+markers" if curve.joined else "markers"
        trace = go.Scatter(x=x, y=y, name=curve.label, line=line, mode=mode, connectgaps=False)
        place.add(trace, right=curve.side == "right")
    unit, right = numerals.unit(chart.unit), numerals.unit(chart.right_unit)
    place.titles(axis.title, chart.up or unit, right)
    if axis.kind == "label":
        ticks = {"tickvals": axis.places.tolist(), "ticktext": list(axis.labels)}
        place.figure.update_xaxes(row=place.row, col=1, **ticks)


def _area(axis: Axis, style: str, curve: Curve) -> Any:
    import plotly.graph_objects as go

    number = int(style[1:])
    values = np.nan_to_num(curve.values)
    x, y = _ends(axis, curve.places, values, curve.shape == "step")
    group = "down" if values.sum() < 0 else "up"
    colour = LIGHT[style]
    pattern = {"shape": _HATCHES[number], "fgcolor": colour, "fgopacity": 0.9}
    shape = "hv" if curve.shape == "step" else "linear"
    return go.Scatter(
        x=x,
        y=y,
        name=curve.label,
        mode="lines",
        stackgroup=group,
        fillpattern=pattern,
        line={"color": colour, "width": 0.7, "shape": shape},
    )


def _ends(axis: Axis, places: Floats, values: Floats, step: bool) -> tuple[Any, Any]:
    """Return what plotly draws over what: the last value of steps stands twice."""
    y = np.append(values, values[-1:]) if step else values
    return _across(axis, places), y


def _across(axis: Axis, places: Floats) -> Any:
    """Return places as plotly reads them: moments as local time of the axis' zone."""
    if axis.kind not in ("time", "clock"):
        return places
    moments = np.where(np.isfinite(places), places, 0).astype("datetime64[s]")
    if axis.zone is None:
        return moments
    import pandas as pd

    return pd.DatetimeIndex(moments, tz="UTC").tz_convert(axis.zone).tz_localize(None)


def _line(style: str) -> dict[str, Any]:
    if style == "over":
        return {"color": LIGHT["ink"], "width": 1.5, "dash": "10px 3px 1px 3px"}
    if style == "limit":
        return {"color": LIGHT["limit"], "width": 1.4, "dash": "dot"}
    dash = DASHES[int(style[1:])].replace(" ", "px ") + "px" if DASHES[int(style[1:])] else "solid"
    return {"color": LIGHT[style], "width": 2, "dash": dash}


def _lanes(chart: Lanes, place: _Place) -> None:
    import plotly.graph_objects as go

    end = chart.ends[1]
    for number in sorted({bar.series for bar in chart.bars}):
        bars = [bar for bar in chart.bars if bar.series == number]
        stops = [end if bar.stop is None else bar.stop for bar in bars]
        colour = LIGHT[f"s{number % STYLES}"]
        place.add(
            go.Bar(
                x=[stop - bar.start for bar, stop in zip(bars, stops, strict=True)],
                y=[bar.lane for bar in bars],
                base=[bar.start for bar in bars],
                orientation="h",
                text=[bar.text for bar in bars],
                textposition="none",
                marker={
                    "color": colour,
                    "pattern": {"shape": ["" if bar.good else "/" for bar in bars]},
                },
                opacity=0.7,
                name=chart.series[number] if chart.series else chart.title,
                showlegend=bool(chart.series),
            )
        )
    place.titles(chart.axis_title, "")
    place.figure.update_yaxes(autorange="reversed", row=place.row, col=1, secondary_y=False)
