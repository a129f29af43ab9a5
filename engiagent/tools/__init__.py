"""The tools that agents, programs and servers call, their rules, and the graph of what was done."""

from engiagent.tools.graph import Graph, Node, Replay, graph_schema, replay
from engiagent.tools.registry import Argument, Outcome, State, Tool, tools
from engiagent.tools.supervision import Observation, Session

__all__ = [
    "Argument",
    "Graph",
    "Node",
    "Observation",
    "Outcome",
    "Replay",
    "Session",
    "State",
    "Tool",
    "graph_schema",
    "replay",
    "tools",
]
