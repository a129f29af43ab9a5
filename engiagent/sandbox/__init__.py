"""A language model's script, run where it can do no harm, and its schedule, checked like any other.

Only for problems that a blueprint cannot express, and only when a user allows it.
"""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "Layers": "engiagent.sandbox.limits",
    "Limits": "engiagent.sandbox.limits",
    "SandboxError": "engiagent.sandbox.limits",
    "ScriptResult": "engiagent.sandbox.running",
    "ScriptSolution": "engiagent.sandbox.solving",
    "layers": "engiagent.sandbox.running",
    "run_script": "engiagent.sandbox.running",
    "solve_by_script": "engiagent.sandbox.solving",
}
__all__ = list(_EXPORTS)


def __getattr__(name: str) -> Any:
    # The child imports this package too, and must stay light.
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent.sandbox' has no attribute {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)
