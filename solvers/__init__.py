"""Solvers: one adapter file each, solving in a child process, one status vocabulary.

Sees programs (plain arrays), never blueprints or physics. The names below are loaded on first
use, so that the child process starts quickly.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engiagent.solvers.goals import frontier, goal_values
    from engiagent.solvers.result import Progress, SolveOptions, SolverResult, Status
    from engiagent.solvers.selection import Choice, explain, select
    from engiagent.solvers.solution import load_solution, save_solution, to_arrays, to_dataset
    from engiagent.solvers.solving import solve

_EXPORTS = {
    "Choice": "selection",
    "Progress": "result",
    "SolveOptions": "result",
    "SolverResult": "result",
    "Status": "result",
    "explain": "selection",
    "frontier": "goals",
    "goal_values": "goals",
    "load_solution": "solution",
    "save_solution": "solution",
    "select": "selection",
    "solve": "solving",
    "to_arrays": "solution",
    "to_dataset": "solution",
}

__all__ = [
    "Choice",
    "Progress",
    "SolveOptions",
    "SolverResult",
    "Status",
    "explain",
    "frontier",
    "goal_values",
    "load_solution",
    "save_solution",
    "select",
    "solve",
    "to_arrays",
    "to_dataset",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent.solvers' has no attribute {name!r}")
    return getattr(import_module(f"engiagent.solvers.{_EXPORTS[name]}"), name)
