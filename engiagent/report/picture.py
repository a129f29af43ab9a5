"""A schedule as one SVG picture that stands alone, for a README or a slide."""

from importlib.resources import files
from pathlib import Path

from engiagent.report import charts, words
from engiagent.report.artefacts import load_run
from engiagent.report.markup import append_text, element, render
from engiagent.report.schedule import build_schedule

_TITLE = 30.0


def render_picture(run_folder: str | Path, panels: int = 3) -> str:
    """Return the first panels of a run's schedule, one above the other, as an SVG document.

    Raises
    ------
    InputError
        When the folder holds nothing of a run.
    """
    chosen = build_schedule(load_run(Path(run_folder))).panels[:panels]
    style = (
        files("engiagent.report").joinpath("templates").joinpath("report.css").read_text("utf-8")
    )
    root = element("svg", xmlns="http://www.w3.org/2000/svg", role="img", aria_label="Schedule")
    root.set("style", "font-family: system-ui, sans-serif")
    root.append(element("style", style))
    height = 0.0
    parts = []
    for number, panel in enumerate(chosen, start=1):
        part, size = charts.panel_element(panel, f"panel-{number}")
        unit = words.unit(panel.unit)
        title = element("text", x=charts.LEFT, y=height + 20, font_weight="bold")
        append_text(title, f"{panel.title}, in {unit}" if unit else panel.title)
        part.set("y", f"{height + _TITLE:g}")
        part.set("width", f"{charts.WIDTH:g}")
        part.set("height", f"{size:g}")
        parts += [title, part]
        height += _TITLE + size
    root.set("viewBox", f"0 0 {charts.WIDTH:g} {height:g}")
    root.append(element("rect", width=charts.WIDTH, height=height, fill="var(--paper)"))
    root.extend(parts)
    return str(render(root)) + "\n"
