"""Control over a receding horizon: plan, apply the first step, measure, plan again."""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "ClosedLoop": "engiagent.control.closedloop",
    "Control": "engiagent.control.outcome",
    "ControlError": "engiagent.control.horizon",
    "RecedingHorizon": "engiagent.control.runner",
    "Relaxation": "engiagent.control.elastic",
    "battery_plant": "engiagent.control.plants",
    "thermal_plant": "engiagent.control.plants",
}

__all__ = [
    "ClosedLoop",
    "Control",
    "ControlError",
    "RecedingHorizon",
    "Relaxation",
    "battery_plant",
    "thermal_plant",
]


def __getattr__(name: str) -> Any:
    if name not in _EXPORTS:
        raise AttributeError(f"module 'engiagent.control' has no attribute {name!r}")
    return getattr(import_module(_EXPORTS[name]), name)
