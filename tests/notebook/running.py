"""Notebooks as scripts in percent format: their cells, run in a shell as Jupyter runs them."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from IPython.core.interactiveshell import InteractiveShell


def cells(path: Path) -> list[str]:
    """Return the code cells of a script in percent format."""
    parts = path.read_text("utf-8").split("\n# %%")[1:]
    return [part.partition("\n")[2] for part in parts if not part.startswith(" [markdown]")]


class Displayed:
    """What the cells of a notebook show, as a front end gets it."""

    def __init__(self) -> None:
        self.bundles: list[dict[str, Any]] = []

    def __call__(self, shell: InteractiveShell, value: Any) -> None:
        formatter: Any = shell.display_formatter
        self.bundles.append(formatter.format(value)[0])


def run_notebook(path: Path) -> tuple[list[dict[str, Any]], str, dict[str, Any]]:
    """Run a notebook and return what its cells show, what they print, and its names."""
    shell: Any = InteractiveShell.instance()
    shell.reset(new_session=True)
    displayed, printed = Displayed(), io.StringIO()
    try:
        for source in cells(path):
            with redirect_stdout(printed):
                done = shell.run_cell(source, store_history=False)
            assert done.success, (path.name, source, done.error_in_exec or done.error_before_exec)
            if done.result is not None:
                displayed(shell, done.result)
        return displayed.bundles, printed.getvalue(), dict(shell.user_ns)
    finally:
        InteractiveShell.clear_instance()
