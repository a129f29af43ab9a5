"""Engiagent in a notebook: problems, blueprints, plans and runs that show themselves.

What stands at the top of the package under these names comes from here. Everything has a plain
``repr`` for consoles and an HTML one without scripts, which also shows where a notebook is not
trusted.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engiagent.notebook.audits import Audit
    from engiagent.notebook.blueprint import Blueprint
    from engiagent.notebook.difference import Difference, diff
    from engiagent.notebook.figures import Figure
    from engiagent.notebook.magics import Reading, load_ipython_extension
    from engiagent.notebook.problem import Problem
    from engiagent.notebook.run import Run
    from engiagent.notebook.shown import Certificate, Explanation
    from engiagent.notebook.solution import Solution
    from engiagent.notebook.study import Study

__all__ = [
    "Audit",
    "Blueprint",
    "Certificate",
    "Difference",
    "Explanation",
    "Figure",
    "Problem",
    "Reading",
    "Run",
    "Solution",
    "Study",
    "diff",
    "load_ipython_extension",
]

_HOMES = {
    "Audit": "audits",
    "Blueprint": "blueprint",
    "Certificate": "shown",
    "Difference": "difference",
    "Explanation": "shown",
    "Figure": "figures",
    "Problem": "problem",
    "Reading": "magics",
    "Run": "run",
    "Solution": "solution",
    "Study": "study",
    "diff": "difference",
    "load_ipython_extension": "magics",
}


def __getattr__(name: str) -> Any:
    """Import a public name when somebody asks for it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
