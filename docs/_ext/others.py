"""Pages that the index does not name stand at the end of it, so that none is ever left out."""

from typing import Any

from sphinx.application import Sphinx


def others(index: str, pages: set[str]) -> list[str]:
    r"""Return the pages that no line of the index names, but for itself and the decisions.

    >>> others("studies\n", {"index", "studies", "charts", "decisions/0001-a"})
    ['charts']
    """
    named = {"index", *(line.strip() for line in index.splitlines())}
    return sorted(name for name in pages - named if not name.startswith("decisions/0"))


def add(app: Sphinx, docname: str, source: list[str]) -> None:
    """Name what is left at the end of the index."""
    if docname == "index" and (left := others(source[0], set(app.env.found_docs))):
        source[0] += "\n".join(("", "```{toctree}", ":caption: More", "", *left, "```", ""))


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at the index when it is read."""
    app.connect("source-read", add)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
