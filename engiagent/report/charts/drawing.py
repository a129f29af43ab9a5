"""Charts as SVG, inline or as documents, and as figures of plotly for those who want to zoom."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from engiagent.errors import EngiagentError
from engiagent.report.charts import numerals
from engiagent.report.charts.heatmap import HeatMap, heat_element
from engiagent.report.charts.lanes import Lanes, lanes_element
from engiagent.report.charts.markup import Element, append_text, element, render
from engiagent.report.charts.palette import DARK, LIGHT, STYLES, Theme, style
from engiagent.report.charts.panels import Panel, panel_element, stacked, styled
from engiagent.report.charts.scene import LEFT, WIDTH
from engiagent.report.charts.timeline import Axis

if TYPE_CHECKING:
    import plotly.graph_objects as go

Chart = Panel | Lanes | HeatMap
"""Everything that can be drawn."""

_TITLE = 30.0
_HEIGHT, _BETWEEN = 360, 90


def _element(chart: Chart, name: str) -> tuple[Element, float]:
    if isinstance(chart, Panel):
        return panel_element(chart, name)
    return lanes_element(chart, name) if isinstance(chart, Lanes) else heat_element(chart, name)


def draw(chart: Chart, name: str) -> Markup:
    """Return a chart as ``svg``, its ids from ``name``, for a page that carries :func:`style`."""
    return render(_element(chart, name)[0])


def caption(chart: Chart) -> str:
    """Return the title of a chart with its unit, as ``battery, in kW``."""
    unit = "" if isinstance(chart, Lanes) and chart.base is None else numerals.unit(chart.unit)
    return f"{chart.title}, in {unit}" if unit else chart.title


def document(charts: Sequence[Chart], title: str = "Charts", theme: Theme = "auto") -> str:
    """Return charts one above the other as an SVG document that stands alone.

    ``title``: what the whole picture is called, for those who do not see it. ``theme``: ``auto``
    follows the reader's choice; ``light`` and ``dark`` are fixed, and plain enough for programs
    that know no CSS variables.
    """
    root = element("svg", xmlns="http://www.w3.org/2000/svg", role="img", aria_label=title)
    root.set("font-family", "system-ui, 'Segoe UI', Roboto, 'Noto Sans', sans-serif")
    root.append(element("style", _page_style(theme) + style(theme)))
    paper = element("rect", class_="paper")
    root.append(paper)
    height = 0.0
    for number, chart in enumerate(charts, start=1):
        part, size = _element(chart, f"chart-{number}")
        head = element("text", x=LEFT, y=height + 20, font_weight="bold", font_size="14px")
        append_text(head, caption(chart))
        part.attrib |= {"y": f"{height + _TITLE:g}", "width": f"{WIDTH:g}", "height": f"{size:g}"}
        root.extend([head, part])
        height += _TITLE + size
    size_of = {"width": f"{WIDTH:g}", "height": f"{height:g}"}
    paper.attrib |= size_of
    root.attrib |= {"viewBox": f"0 0 {WIDTH:g} {height:g}", **size_of}
    return str(render(root)) + "\n"


def _page_style(theme: Theme) -> str:
    """Return the colours of paper and text of a document."""

    def of(palette: Mapping[str, str]) -> str:
        ink, paper = palette["ink"], palette["paper"]
        return f"svg {{ color: {ink}; }} .paper {{ fill: {paper}; }} text {{ fill: {ink}; }}"

    if theme != "auto":
        return of(LIGHT if theme == "light" else DARK) + "\n"
    return f"{of(LIGHT)}\n@media (prefers-color-scheme: dark) {{ {of(DARK)} }}\n"


# --- plotly, an extra -----------------------------------------------------------------------------


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
        if isinstance(chart, Panel):
            traces, strip = _lines(chart), numerals.unit(chart.strip_unit)
            axis, up = chart.axis, chart.up or numerals.unit(chart.unit)
            ticks = {"tickvals": axis.places.tolist(), "ticktext": list(axis.labels)}
            figure.update_xaxes(title_text=axis.title, row=row, col=1)
            figure.update_xaxes(**(ticks if axis.kind == "label" else {}), row=row, col=1)
            figure.update_yaxes(title_text=up, row=row, col=1, secondary_y=False)
            figure.update_yaxes(title_text=strip, row=row, col=1, secondary_y=True)
        else:
            traces = _bars(chart) if isinstance(chart, Lanes) else _cells(chart)
            figure.update_yaxes(autorange="reversed", row=row, col=1, secondary_y=False)
        for trace, right in traces:
            figure.add_trace(trace, row=row, col=1, secondary_y=right)
    figure.update_layout(
        template="plotly_white",
        height=_HEIGHT * len(charts) + _BETWEEN,
        barmode="overlay",
        legend={"orientation": "h", "yref": "container", "y": 0, "yanchor": "bottom"},
    )
    return figure


def _lines(chart: Panel) -> Iterator[tuple[Any, bool]]:
    """Yield what is drawn of a panel, and whether it stands in the strip."""
    import plotly.graph_objects as go

    areas = {id(curve) for curve, *_ in stacked(chart.curves)}
    for band in chart.bands:
        for values, fill in ((band.low, None), (band.high, "tonexty")):
            look = {"width": 0, "shape": "hv" if band.shape == "step" else "linear"}
            y = np.append(values, values[-1:]) if band.shape == "step" else values
            more = {"fill": fill, "fillcolor": "rgba(9,116,79,.16)", "showlegend": fill is not None}
            x = _moments(chart.axis, band.places)
            yield go.Scatter(x=x, y=y, name=band.label, mode="lines", line=look, **more), False
    for style_of, curve in styled(chart.curves):
        step = curve.shape == "step"
        name = {"over": "ink"}.get(style_of, style_of)
        look = {"color": LIGHT[name], "shape": "hv" if step else "linear"}
        look |= {"dash": "dot"} if style_of == "limit" else {}
        mode = "lines" if not curve.marks else "lines+markers" if curve.joined else "markers"
        values, more = curve.values, {}
        if id(curve) in areas:
            values = np.nan_to_num(values)
            more = {"stackgroup": "down" if values.sum() < 0 else "up"}
        y = np.append(values, values[-1:]) if step else values
        x = _moments(chart.axis, curve.places)
        trace = go.Scatter(x=x, y=y, name=curve.label, mode=mode, line=look, **more)
        yield trace, curve.side == "strip"


def _moments(axis: Axis, places: Any) -> Any:
    """Return places as plotly reads them: moments as local time of the axis' zone."""
    if axis.kind not in ("time", "clock"):
        return places
    moments = np.where(np.isfinite(places), places, 0).astype("datetime64[s]")
    if axis.zone is None:
        return moments
    import pandas as pd

    return pd.DatetimeIndex(moments, tz="UTC").tz_convert(axis.zone).tz_localize(None)


def _cells(chart: HeatMap) -> Iterator[tuple[Any, bool]]:
    """Yield a heat map: a column for every day, a row for every hour."""
    import plotly.graph_objects as go

    days, grid = list(dict.fromkeys(label[:10] for label in chart.axis.labels)), chart.grid()
    hours = np.arange(len(grid)) * 24 / len(grid)
    yield go.Heatmap(x=days, y=hours, z=grid, name=chart.title, colorscale="Blues"), False


def _bars(chart: Lanes) -> Iterator[tuple[Any, bool]]:
    import plotly.graph_objects as go

    for number in sorted({bar.series for bar in chart.bars}):
        bars = [bar for bar in chart.bars if bar.series == number]
        trace = go.Bar(
            x=[bar.stop - bar.start for bar in bars],
            y=[bar.lane for bar in bars],
            base=[bar.start for bar in bars],
            orientation="h",
            marker={"color": LIGHT[f"s{number % STYLES}"]},
            name=chart.series[number] if chart.series else chart.title,
        )
        yield trace, False
