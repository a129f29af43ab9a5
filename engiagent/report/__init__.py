"""Self-contained HTML pages: a run, a folder of runs, runs side by side; and pictures of a run."""

from engiagent.report.batch import render_batch, write_batch
from engiagent.report.comparison import Comparison, compare_runs
from engiagent.report.comparison_page import compare
from engiagent.report.page import render_report, write_report
from engiagent.report.picture import render_picture

__all__ = [
    "Comparison",
    "compare",
    "compare_runs",
    "render_batch",
    "render_picture",
    "render_report",
    "write_batch",
    "write_report",
]
