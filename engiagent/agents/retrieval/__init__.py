"""Worked problems that resemble a new one, as many as stand out, for a model's prompt."""

from engiagent.agents.retrieval.archive import Exemplar, archive
from engiagent.agents.retrieval.cutoff import cutoff
from engiagent.agents.retrieval.select import exemplars

__all__ = ["Exemplar", "archive", "cutoff", "exemplars"]
