"""Studies: a blueprint's cases and sweeps, solved one after the other and put side by side."""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "Point": "engiagent.studies.study",
    "Study": "engiagent.studies.study",
    "Value": "engiagent.studies.study",
    "run_study": "engiagent.studies.running",
}

__all__ = ["Point", "Study", "Value", "run_study"]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent.studies' has no {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)
