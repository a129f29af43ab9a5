"""The tools that agents, programs and servers call, their rules, and the graph of what was done."""

from engiagent.tools.registry import Tool, tools
from engiagent.tools.supervision import Graph, Observation, Session, graph_schema, replay

__all__ = ["Graph", "Observation", "Session", "Tool", "graph_schema", "replay", "tools"]
