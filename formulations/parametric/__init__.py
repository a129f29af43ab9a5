"""Programs whose numbers follow parameters in place, compiled once and updated in microseconds."""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "ParametricProgram": "engiagent.formulations.parametric.program",
    "StructureError": "engiagent.formulations.parametric.guard",
    "compile_parametric": "engiagent.formulations.parametric.program",
}

__all__ = ["ParametricProgram", "StructureError", "compile_parametric"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent.formulations.parametric' has no {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)
