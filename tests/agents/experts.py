"""What a scripted model says: an expert's blueprint in the form of answers, read once or twice."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from engiagent.agents.engines.shortform import short_text
from engiagent.io.jsontext import loads_strict
from engiagent.text import Problem
from tests.agents.messages_server import Json, Say, kind_of

EXPERT: Final = "expert"
SILENT: Final[Json] = {"blueprint": "", "objections": [], "why": "the script has no second reading"}
BOTH: Final[Json] = {"differences": []}
NOBODY: Final[Json] = {
    "agent": "none",
    "strategy": "",
    "priority": "low",
    "estimated_success": 0.0,
    "reasoning": "",
}
NOTHING: Final[Json] = {
    "why": "all is well",
    "patch": [{"op": "test", "path": "/kind", "value": '"programme"', "from": ""}],
}
"""A repair that changes nothing."""


class Plays:
    """A scripted model: answers by the kind of question, the last one of a list for ever."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {
            "second": SILENT,
            "differ": BOTH,
            "repair": NOTHING,
            "diagnose": NOBODY,
            **answers,
        }
        self.given: dict[str, int] = {}

    def __call__(self, request: Json, number: int) -> Say:
        """Return what is said to a request."""
        kind = kind_of(request)
        known = self.answers[kind]
        known = known if isinstance(known, list) else [known]
        place = self.given.get(kind, 0)
        self.given[kind] = place + 1
        answer = known[min(place, len(known) - 1)]
        return answer if isinstance(answer, Say) else Say(json.dumps(answer, ensure_ascii=False))


def blueprint_of(folder: Path) -> Json:
    """Return the expert's blueprint of a problem."""
    value = loads_strict((folder / EXPERT / "blueprint.json").read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def analysis(blueprint: Json | str | None, problem: Problem, said: str = "complete") -> Json:
    """Return the answer that gives a blueprint, or says what there is instead of one."""
    if isinstance(blueprint, dict):
        blueprint = short_text(blueprint, problem)
    return {
        "sufficiency": said,
        "missing": [],
        "contradictions": [],
        "not_understood": [],
        "blueprint": blueprint or "",
        "notes": [],
    }


def second(
    folder: Path, expert: Path | None = None, change: Callable[[Json], None] | None = None
) -> Json:
    """Return a second reading by rule: the expert's blueprint without report and remarks.

    ``expert`` is the problem whose blueprint it is, where the text is not that problem's;
    ``change`` spoils its core, for a second reader who is wrong.
    """
    problem = Problem.load(folder)
    document = blueprint_of(expert or folder)
    core = document["core_model_elements"]
    core.pop("report", None)
    for part in core.values():
        for item in part if isinstance(part, list) else ():
            if isinstance(item, dict):
                item.pop("description", None)
    if change is not None:
        change(core)
    kept = {k: v for k, v in document.items() if k != "extended_analysis_and_robustness"}
    return {"blueprint": short_text(kept, problem), "objections": [], "why": "as the text says"}
