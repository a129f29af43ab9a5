"""What a scripted model says: an expert's blueprint and requirements in the form of answers."""

import json
from pathlib import Path
from typing import Any, Final

from engiagent.agents.bench.messages.server import Json, Say, kind_of
from engiagent.agents.engines.shortform import short_text
from engiagent.io.jsontext import loads_strict
from engiagent.text import Problem

EXPERT: Final = "expert"
FAITHFUL: Final[Json] = {"verdict": "faithful", "findings": []}
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
        self.answers = {"judge": FAITHFUL, "repair": NOTHING, "diagnose": NOBODY, **answers}
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


def demands(folder: Path, *without: str) -> Json:
    """Return the expert's requirements as an answer, but for some of them."""
    from ruamel.yaml import YAML

    text = (folder / EXPERT / "requirements.yaml").read_text(encoding="utf-8")
    document = YAML(typ="safe", pure=True).load(text)
    kept = [r for r in document["requirements"] if r["id"] not in without]
    told = json.dumps({**document, "requirements": kept}, ensure_ascii=False, default=str)
    return {"requirements": told, "not_expressible": []}
