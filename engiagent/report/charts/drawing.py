"""Charts as SVG: inline for a page that carries the style sheet, or as documents of their own."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup

from engiagent.report.charts import numerals
from engiagent.report.charts.heatmap import HeatMap, heat_element
from engiagent.report.charts.lanes import Lanes, lanes_element
from engiagent.report.charts.markup import Element, append_text, element, render
from engiagent.report.charts.palette import DARK, LIGHT, Theme, style
from engiagent.report.charts.panels import Panel, panel_element
from engiagent.report.charts.scene import LEFT, WIDTH

Chart = Panel | Lanes | HeatMap
"""Everything that can be drawn."""

_TITLE = 30.0


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
