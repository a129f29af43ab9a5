"""engiagent: engineering problems as text in, certified schedules out.

The names below are loaded on first use, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_EXPORTS = {
    "Blueprint": "engiagent.notebook",
    "Problem": "engiagent.notebook",
    "Run": "engiagent.notebook",
    "check": "engiagent.verify",
    "compile_blueprint": "engiagent.formulations",
    "diff": "engiagent.notebook",
    "load_ipython_extension": "engiagent.notebook",
    "solve": "engiagent.solvers",
}

__all__ = [
    "Blueprint",
    "Problem",
    "Run",
    "__version__",
    "check",
    "compile_blueprint",
    "diff",
    "load_ipython_extension",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent' has no attribute {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)
