"""The offline engine: reads the battery and thermal families without a language model."""

from engiagent.agents.offline.engine import analyse
from engiagent.agents.offline.results import Ambiguous, Analysis, Missing, NotUnderstood

__all__ = ["Ambiguous", "Analysis", "Missing", "NotUnderstood", "analyse"]
