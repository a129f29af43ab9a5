"""Scripted answers to requests of ``engiagent ask``, by the kind in the first line of a request."""

import json
from collections.abc import Callable
from typing import Any

from tests.agents.messages_server import Say

Json = dict[str, Any]
Answerer = Callable[[Json], Any]

QUESTION = "How do cost and peak of the reference building change if its COP becomes 4.5?"


def kind_of(request: Json) -> str:
    """Return the kind of a request: the first line of its system prompt."""
    return str(request["system"][0]["text"].splitlines()[0])


def scripted(**answers: Any) -> Callable[[Json, int], Say]:
    """Return a script that answers each kind from its list, the last one again and again."""
    counts: dict[str, int] = {}

    def script(request: Json, number: int) -> Say:
        kind = kind_of(request).replace("-", "_")
        given = answers[kind] if isinstance(answers[kind], list) else [answers[kind]]
        place = min(counts.get(kind, 0), len(given) - 1)
        counts[kind] = counts.get(kind, 0) + 1
        answer = given[place]
        return answer if isinstance(answer, Say) else Say(json.dumps(answer))

    return script


def step(
    name: str, agent: str, tool: str, after: list[str] | None = None, /, **arguments: Any
) -> Json:
    """Return a step as a reply has it."""
    return {
        "id": name,
        "agent": agent,
        "task": f"call {tool}",
        "tool": tool,
        "arguments": json.dumps(arguments),
        "expected": "",
        "validation": "",
        "depends_on": after or [],
    }


STEPS = [
    step("s1", "config", "config_create", name="office"),
    step("s2", "simulation", "simulation_run", ["s1"], name="baseline"),
    step("s3", "hvac", "hvac_update", ["s2"], id="cooling", cop=4.5),
    step("s4", "simulation", "simulation_run", ["s3"], name="better"),
    step("s5", "comparison", "comparison_comprehensive", ["s4"], results=["baseline", "better"]),
]
NAMES = {
    "outline": [{name: s[name] for name in ("id", "agent", "task", "tool")} for s in STEPS],
    "similar": [],
    "hire": [],
}
PLAN = {"steps": STEPS, "unused": [], "assumptions": ["The controllers stay."], "hire": []}
GOALS = {
    "goals": [
        {"id": f"g{k}", "agent": s["agent"], "task": s["task"], "depends_on": [], "expected": ""}
        for k, s in enumerate(STEPS, 1)
    ],
    "hire": [],
}
CALLS = [
    {
        "calls": [{name: s[name] for name in ("tool", "arguments", "expected", "validation")}],
        "unused": [],
        "assumptions": [],
    }
    for s in STEPS
]


def answer(call: str = "s5", prose: str = "The cost is {cost}, a change of {change}.") -> Json:
    """Return an answer on the comparison that a call has made."""
    return {
        "findings": [
            {"label": "cost", "call": call, "path": "figures.energy_cost.values.1"},
            {"label": "change", "call": call, "path": "figures.energy_cost.percent.1"},
        ],
        "prose": prose,
        "assumptions": [],
        "not_done": [],
    }
