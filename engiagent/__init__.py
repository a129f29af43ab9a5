"""engiagent: engineering problems as text in, certified schedules out.

The names of :mod:`engiagent.api` are loaded on first use, so that importing the package costs
nothing: a command then starts in a tenth of a second.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # for who reads types; at run time the names below come when they are asked for
    from engiagent.api import (
        Blueprint,
        Problem,
        RecedingHorizon,
        Run,
        Site,
        Size,
        SolveOptions,
        check,
        compile_blueprint,
        diff,
        solve,
    )

__version__ = "0.1.0"

__all__ = [
    "Blueprint",
    "Problem",
    "RecedingHorizon",
    "Run",
    "Site",
    "Size",
    "SolveOptions",
    "__version__",
    "check",
    "compile_blueprint",
    "diff",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'engiagent' has no attribute {name!r}")
    return getattr(import_module("engiagent.api"), name)
