"""Engines and agents: from the text of a problem to a blueprint."""

from typing import Any

__all__ = ["Analysis", "analyse"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'engiagent.agents' has no attribute {name!r}")
    from engiagent.agents import offline

    return getattr(offline, name)
