"""A schedule as one SVG picture that stands alone, for a README or a slide."""

from pathlib import Path

from engiagent.report.artefacts import load_run
from engiagent.report.charts import document, plan_panels


def render_picture(run_folder: str | Path, panels: int = 3) -> str:
    """Return the first panels of a run's schedule, one above the other, as an SVG document.

    Raises
    ------
    InputError
        When the folder holds nothing of a run.
    """
    return document(plan_panels(load_run(Path(run_folder)))[:panels], "Schedule")
