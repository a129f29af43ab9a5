"""A folder of runs in the browser: a list with filters, each run as it goes, some side by side."""

from engiagent.report.view.server import View, open_view

__all__ = ["View", "open_view"]
