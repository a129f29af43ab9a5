"""Physics as an optimiser sees it: components to algebra, blueprints to programs and scripts."""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "Program": "engiagent.formulations.program",
    "compile_blueprint": "engiagent.formulations.compile",
    "emit_pyomo": "engiagent.formulations.pyomo_script",
    "expand": "engiagent.formulations.expansion",
}

__all__ = ["Program", "compile_blueprint", "emit_pyomo", "expand"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent.formulations' has no attribute {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)
