"""Whole runs over real HTTP, against a scripted Messages server; no language model is asked."""

from engiagent.agents.bench.messages.server import Messages, Say, Script, serving

__all__ = ["Messages", "Say", "Script", "serving"]
