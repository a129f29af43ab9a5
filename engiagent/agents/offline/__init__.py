"""The offline engine: reads the battery and thermal families without a language model."""

from engiagent.agents.offline.engine import Understanding, analyse, understand
from engiagent.agents.offline.results import (
    Ambiguous,
    Analysis,
    Conflict,
    Implausible,
    Missing,
    NotUnderstood,
)

__all__ = [
    "Ambiguous",
    "Analysis",
    "Conflict",
    "Implausible",
    "Missing",
    "NotUnderstood",
    "Understanding",
    "analyse",
    "understand",
]
