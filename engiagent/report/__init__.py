"""Self-contained HTML pages: a run, a folder of runs, runs side by side."""

from engiagent.report.batch import render_batch, write_batch
from engiagent.report.page import render_report, write_report
from engiagent.report.sides import SideBySide, compare, side_by_side

__all__ = [
    "SideBySide",
    "compare",
    "render_batch",
    "render_report",
    "side_by_side",
    "write_batch",
    "write_report",
]
