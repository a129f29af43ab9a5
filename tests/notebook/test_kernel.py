"""A notebook in a kernel of its own: what is shown arrives there, progress in place."""

import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

SOURCES = (
    "from engiagent import Problem\nblueprint = Problem.load('merchant_day').analyse()\nblueprint",
    "from engiagent.notebook.progress import Shown\n"
    "from engiagent.solvers.result import Progress\n"
    "with Shown('day') as shown:\n"
    "    for seconds in (1.0, 2.0):\n"
    "        shown(Progress(elapsed=seconds))",
    "blueprint.solve()",
)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> list[list[Any]]:
    """Run the cells in a kernel and return what each put out."""
    from nbformat.v4 import new_code_cell, new_notebook

    make: Any = new_code_cell
    notebook: Any = new_notebook
    written = notebook(cells=[make(source) for source in SOURCES])
    folder: Path = tmp_path_factory.mktemp("kernel")
    NotebookClient(written, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    nbformat.validate(written)
    return [cell.outputs for cell in written.cells]


def test_what_a_cell_returns_is_shown_as_html_and_formulas(outputs: list[list[Any]]) -> None:
    (shown,) = [out for out in outputs[0] if out.output_type == "execute_result"]
    assert "E_max" in shown.data["text/html"]
    assert shown.data["text/latex"].startswith("$$")


def test_progress_is_one_output_that_is_rewritten(outputs: list[list[Any]]) -> None:
    (line,) = outputs[1]
    assert line.output_type == "display_data"
    assert re.sub("<[^>]*>", "", line.data["text/html"]) == ""  # taken back at the end


def test_a_plan_is_shown_with_its_charts(outputs: list[list[Any]]) -> None:
    shown = next(out for out in outputs[2] if out.output_type == "execute_result")
    assert "optimal" in shown.data["text/plain"]
    assert "data:image/svg+xml" in shown.data["text/html"]
