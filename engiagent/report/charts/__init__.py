"""Charts as light SVG: the one place that draws for reports, studies and notebooks.

A chart is data: a :class:`Panel` of values over an axis, :class:`Lanes` of bars, or a
:class:`HeatMap` of days and hours. :func:`draw` makes it an element for a page that carries
:func:`style`, :func:`document` a picture that stands alone. Nothing drawn here has a script or
refers to anything outside itself.
"""

from engiagent.report.charts.drawing import Chart, caption, document, draw
from engiagent.report.charts.heatmap import HeatMap
from engiagent.report.charts.lanes import Bar, Lanes, route_chart, tornado
from engiagent.report.charts.palette import style
from engiagent.report.charts.panels import Band, Curve, Panel, plot
from engiagent.report.charts.series import Plan
from engiagent.report.charts.timeline import Axis
from engiagent.report.charts.views import plan_panels

__all__ = [
    "Axis",
    "Band",
    "Bar",
    "Chart",
    "Curve",
    "HeatMap",
    "Lanes",
    "Panel",
    "Plan",
    "caption",
    "document",
    "draw",
    "plan_panels",
    "plot",
    "route_chart",
    "style",
    "tornado",
]
