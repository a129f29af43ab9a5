"""One self-contained HTML page for every run folder, and its charts as a picture."""

from engiagent.report.page import render_report, write_report
from engiagent.report.picture import render_picture

__all__ = ["render_picture", "render_report", "write_report"]
