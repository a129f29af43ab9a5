"""Charts as light SVG: the one place that draws for reports, studies and notebooks.

A chart is data: a :class:`Panel`, :class:`Plot`, :class:`Tornado`, :class:`Routing` or
:class:`Spans`. :func:`draw` makes it an element for a page that carries :func:`style`,
:func:`document` a picture that stands alone, :func:`plotly_figure` a figure of plotly where that is
installed. Nothing drawn here has a script or refers to anything outside itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engiagent.charts.drawing import Chart, caption, document, draw
    from engiagent.charts.interactive import plotly_figure
    from engiagent.charts.palette import style
    from engiagent.charts.panels import Band, Curve, Panel
    from engiagent.charts.plan import Plan
    from engiagent.charts.routing import Routing, Turn, route_chart
    from engiagent.charts.spans import Span, Spans
    from engiagent.charts.studies import Bar, Plot, Tornado, Trace
    from engiagent.charts.timeline import Axis
    from engiagent.charts.views import plan_panels

__all__ = [
    "Axis",
    "Band",
    "Bar",
    "Chart",
    "Curve",
    "Panel",
    "Plan",
    "Plot",
    "Routing",
    "Span",
    "Spans",
    "Tornado",
    "Trace",
    "Turn",
    "caption",
    "document",
    "draw",
    "plan_panels",
    "plotly_figure",
    "route_chart",
    "style",
]

_HOMES = {
    "Axis": "timeline",
    "Band": "panels",
    "Bar": "studies",
    "Chart": "drawing",
    "Curve": "panels",
    "Panel": "panels",
    "Plan": "plan",
    "Plot": "studies",
    "Routing": "routing",
    "Span": "spans",
    "Spans": "spans",
    "Tornado": "studies",
    "Trace": "studies",
    "Turn": "routing",
    "caption": "drawing",
    "document": "drawing",
    "draw": "drawing",
    "plan_panels": "views",
    "plotly_figure": "interactive",
    "route_chart": "routing",
    "style": "palette",
}


def __getattr__(name: str) -> Any:
    """Import a public name when somebody asks for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
