"""One self-contained HTML page for every run folder."""

from engiagent.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
