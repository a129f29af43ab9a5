"""The same charts as figures of plotly, for those who want to zoom; an extra."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from engiagent.errors import EngiagentError
from engiagent.report.charts import numerals
from engiagent.report.charts.drawing import Chart, caption
from engiagent.report.charts.heatmap import HeatMap
from engiagent.report.charts.lanes import Lanes
from engiagent.report.charts.palette import DASHES, LIGHT, STYLES
from engiagent.report.charts.panels import Band, Curve, Panel, stacked, styled
from engiagent.report.charts.timeline import Axis, Floats

if TYPE_CHECKING:
    import plotly.graph_objects as go

_HATCHES: Final = ("", "/", "\\", "-", "|", "+")
_HEIGHT, _BETWEEN = 360, 90


def plotly_figure(charts: Sequence[Chart]) -> "go.Figure":
    """Return charts one above the other as a figure of plotly.

    Raises EngiagentError when plotly is not installed, or there is nothing to draw.
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
        place: dict[str, Any] = {"row": row, "col": 1}
        if isinstance(chart, Panel):
            for trace, right in _traces(chart):
                figure.add_trace(trace, **place, secondary_y=right)
            axis, up = chart.axis, chart.up or numerals.unit(chart.unit)
            ticks = {"tickvals": axis.places.tolist(), "ticktext": list(axis.labels)}
            figure.update_xaxes(title_text=axis.title, **place)
            figure.update_xaxes(**place, **(ticks if axis.kind == "label" else {}))
            figure.update_yaxes(title_text=up, **place, secondary_y=False)
            if strip_unit := numerals.unit(chart.strip_unit):
                figure.update_yaxes(title_text=strip_unit, **place, secondary_y=True)
        elif isinstance(chart, HeatMap):
            figure.add_trace(_cells(chart), **place, secondary_y=False)
            figure.update_yaxes(title_text="hour", autorange="reversed", **place, secondary_y=False)
        else:
            for trace in _bars(chart):
                figure.add_trace(trace, **place, secondary_y=False)
            figure.update_xaxes(title_text=chart.axis_title, **place)
            figure.update_yaxes(autorange="reversed", **place, secondary_y=False)
    figure.update_layout(
        template="plotly_white",
        height=_HEIGHT * len(charts) + _BETWEEN,
        barmode="overlay",
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
    )
    return figure


def _traces(chart: Panel) -> Iterator[tuple[Any, bool]]:
    """Yield what is drawn of a panel, and whether it stands in the strip."""
    for band in chart.bands:
        for values, fill in ((band.low, None), (band.high, "tonexty")):
            look: dict[str, Any] = {"width": 0}
            more: dict[str, Any] = {"fillcolor": "rgba(9,116,79,.16)", "hoverinfo": "skip"}
            more |= {"fill": fill, "showlegend": fill is not None}
            yield _scatter(chart.axis, band, values, look, **more), False
    areas = {id(curve) for curve, *_ in stacked(chart.curves)}
    for style, curve in styled(chart.curves):
        if curve.role != "stack":
            mode = "lines" if not curve.marks else "lines+markers" if curve.joined else "markers"
            trace = _scatter(chart.axis, curve, curve.values, _look(style), mode=mode)
            yield trace, curve.side == "strip"
        elif id(curve) in areas:
            values, colour = np.nan_to_num(curve.values), LIGHT[style]
            pattern = {"shape": _HATCHES[int(style[1:])], "fgcolor": colour, "fgopacity": 0.9}
            group = "down" if values.sum() < 0 else "up"
            look = {"color": colour, "width": 0.7}
            more = {"stackgroup": group, "fillpattern": pattern}
            yield _scatter(chart.axis, curve, values, look, **more), False


def _scatter(axis: Axis, item: Curve | Band, values: Floats, look: Any, **more: Any) -> Any:
    """Return values over their places; the last value of steps stands twice."""
    import plotly.graph_objects as go

    x: Any = item.places
    if axis.kind in ("time", "clock"):  # plotly reads moments as local time of the axis' zone
        x = np.where(np.isfinite(x), x, 0).astype("datetime64[s]")
        if axis.zone is not None:
            import pandas as pd

            x = pd.DatetimeIndex(x, tz="UTC").tz_convert(axis.zone).tz_localize(None)
    step = item.shape == "step"
    return go.Scatter(
        x=x,
        y=np.append(values, values[-1:]) if step else values,
        name=item.label,
        line={**look, "shape": "hv" if step else "linear"},
        **{"mode": "lines", **more},
    )


def _look(style: str) -> dict[str, Any]:
    if style == "over":
        return {"color": LIGHT["ink"], "width": 1.5, "dash": "10px 3px 1px 3px"}
    if style == "limit":
        return {"color": LIGHT["limit"], "width": 1.4, "dash": "dot"}
    dash = DASHES[int(style[1:])]
    dash = dash.replace(" ", "px ") + "px" if dash else "solid"
    return {"color": LIGHT[style], "width": 2, "dash": dash}


def _cells(chart: HeatMap) -> Any:
    """Return a heat map: a column for every day, a row for every hour."""
    import plotly.graph_objects as go

    days = list(dict.fromkeys(label[:10] for label in chart.axis.labels))
    grid = chart.grid()
    hours = np.arange(len(grid)) * 24 / len(grid)
    return go.Heatmap(x=days, y=hours, z=grid, name=chart.title, colorscale="Blues")


def _bars(chart: Lanes) -> Iterator[Any]:
    import plotly.graph_objects as go

    for number in sorted({bar.series for bar in chart.bars}):
        bars = [bar for bar in chart.bars if bar.series == number]
        stops = [chart.ends[1] if bar.stop is None else bar.stop for bar in bars]
        hatches = ["" if bar.good else "/" for bar in bars]
        yield go.Bar(
            x=[stop - bar.start for bar, stop in zip(bars, stops, strict=True)],
            y=[bar.lane for bar in bars],
            base=[bar.start for bar in bars],
            orientation="h",
            text=[bar.text for bar in bars],
            textposition="none",
            marker={"color": LIGHT[f"s{number % STYLES}"], "pattern": {"shape": hatches}},
            opacity=0.7,
            name=chart.series[number] if chart.series else chart.title,
            showlegend=bool(chart.series),
        )
