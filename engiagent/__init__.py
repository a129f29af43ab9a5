"""engiagent: engineering problems as text in, certified schedules out.

The names below are loaded on first use, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "Blueprint": "engiagent.blueprint",
    "Problem": "engiagent.problems",
    "check": "engiagent.verify",
    "compile_blueprint": "engiagent.formulations",
    "solve": "engiagent.solvers",
}

__all__ = ["Blueprint", "Problem", "__version__", "check", "compile_blueprint", "solve"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent' has no attribute {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)
