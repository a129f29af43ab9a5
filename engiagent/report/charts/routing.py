"""The way of a run through its agents: a lane for each, a column for each turn."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engiagent.report.charts.canvas import LEFT, RIGHT, WIDTH, Key, blank, legend
from engiagent.report.charts.markup import Element, element

LANE, HEAD, FOOT = 30.0, 12.0, 30.0
_LANES = 96.0
_WIDEST = 90.0
_ORDER = ("analyzer", "modeler", "verifier", "solver", "evaluator")
_STYLES = {"main way": "s0", "taxonomy": "s1", "memory": "s2", "diagnosis": "s3"}
_OTHER = "s5"
_GOOD = ("done", "certified", "accepted")


@dataclass(frozen=True)
class Turn:
    """One turn of an agent.

    Attributes
    ----------
    agent
        Whose turn it was.
    by
        What sent it there, as ``main way``, ``taxonomy``, ``memory`` or ``diagnosis``.
    good
        Whether it left no fault behind.
    text
        What came of it.
    """

    agent: str
    by: str
    good: bool
    text: str


@dataclass(frozen=True)
class Routing:
    """The turns of a run."""

    title: str
    turns: tuple[Turn, ...]
    unit: str = ""


def route_chart(lines: Sequence[Mapping[str, Any]], title: str = "Turns of the agents") -> Routing:
    """Return the routing that the lines of a ``trace.jsonl`` tell of."""
    turns = []
    for line in lines:
        if line.get("event") != "route" or not isinstance(line.get("target"), str):
            continue
        outcome = line.get("outcome")
        found: Mapping[str, Any] = outcome if isinstance(outcome, Mapping) else {}
        good = found.get("status") in _GOOD and not found.get("faults")
        text = f"{found.get('status', 'begun')}: {found.get('summary', '')}"
        turns.append(Turn(line["target"], str(line.get("decided_by") or ""), good, text))
    return Routing(title, tuple(turns))


def routing_element(chart: Routing, name: str) -> tuple[Element, float]:
    """Return a routing as a tree, and its height."""
    agents = [*_ORDER, *dict.fromkeys(t.agent for t in chart.turns if t.agent not in _ORDER)]
    ways = list(dict.fromkeys(_way(turn) for turn in chart.turns[1:]))
    keys = [Key(way or "not said", f"curve {_STYLES.get(way, _OTHER)}") for way in ways]
    shown, rows = legend(keys if len(keys) > 1 else [])
    top = HEAD + rows
    height = top + LANE * len(agents) + FOOT
    svg = blank(chart.title, _said(chart), height, name)
    svg.append(shown)
    left, right = LEFT + _LANES - 40.0, WIDTH - RIGHT
    middle = {agent: top + (k + 0.5) * LANE for k, agent in enumerate(agents)}
    for agent, y in middle.items():
        svg.append(element("text", agent, x=left - 26, y=y + 4, text_anchor="end"))
        svg.append(element("line", x1=left - 18, x2=right, y1=y, y2=y, class_="grid"))
    step = min((right - left - 10) / max(len(chart.turns) - 1, 1), _WIDEST)
    places = [(left + k * step, middle[turn.agent]) for k, turn in enumerate(chart.turns)]
    for turn, (x, y), (u, v) in zip(chart.turns[1:], places, places[1:], strict=False):
        bend = 0.5 * (u - x)
        path = f"M{x:.1f} {y:.1f}C{x + bend:.1f} {y:.1f} {u - bend:.1f} {v:.1f} {u:.1f} {v:.1f}"
        svg.append(element("path", d=path, class_=f"curve {_style(turn)}", fill="none"))
    svg.extend(_node(turn, place) for turn, place in zip(chart.turns, places, strict=True))
    every = -(-len(chart.turns) // 20) or 1
    for k, (x, _) in list(enumerate(places))[::every]:
        y = top + LANE * len(agents) + 12
        svg.append(element("text", str(k + 1), x=x, y=y, text_anchor="middle", class_="unit"))
    end = element("text", "turn", x=right, y=height - 4, text_anchor="end", class_="unit")
    svg.append(end)
    return svg, height


def _node(turn: Turn, place: tuple[float, float]) -> Element:
    """Return a turn: a full dot when it went well, a cross in a ring when it did not."""
    x, y = place
    group = element("g", element("title", f"{turn.agent}, {turn.text}"))
    if turn.good:
        group.append(element("circle", cx=x, cy=y, r=5, class_="dot"))
        return group
    group.append(element("circle", cx=x, cy=y, r=6, class_="ring"))
    cross = f"M{x - 3:.1f} {y - 3:.1f}l6 6m0 -6l-6 6"
    group.append(element("path", d=cross, class_="cross", fill="none"))
    return group


def _way(turn: Turn) -> str:
    return turn.by if turn.by in _STYLES else "switched or ended" if turn.by else ""


def _style(turn: Turn) -> str:
    return _STYLES.get(turn.by, _OTHER)


def _said(chart: Routing) -> str:
    if not chart.turns:
        return "no turns"
    parts = [f"{k}. {turn.agent}, {turn.text}" for k, turn in enumerate(chart.turns[:12], 1)]
    more = f"; and {len(chart.turns) - 12} more" if len(chart.turns) > 12 else ""
    return f"{len(chart.turns)} turns: {'; '.join(parts)}{more}"
