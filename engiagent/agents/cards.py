"""The agents' cards (``cards/<agent>.yaml``): who an agent is, and which model answers for it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from engiagent.agents.protocol import AGENTS
from engiagent.io.files import packaged_yaml

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
NAMES: Final = (*AGENTS, "coordinator")


@dataclass(frozen=True)
class Card:
    """What an agent is: its role, what it can be asked for, and what it must never do.

    ``model``, ``effort`` and ``max_tokens`` say who answers for it, how thoroughly, and at what
    length at most; ``tools`` name what its code may do.
    """

    role: str
    capabilities: tuple[str, ...]
    tools: tuple[str, ...]
    model: str
    effort: str
    max_tokens: int
    constraints: tuple[str, ...]


@cache
def cards() -> Mapping[str, Card]:
    """Return every agent's card by its name."""
    found = {}
    for name in NAMES:
        entry = packaged_yaml("engiagent.agents", f"cards/{name}.yaml")
        values: dict[str, Any] = {
            key: value.strip() if isinstance(value, str) else value for key, value in entry.items()
        }
        lists = {key: tuple(value) for key, value in entry.items() if isinstance(value, list)}
        found[name] = Card(**{**values, **lists})
    return found
