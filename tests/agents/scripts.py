"""What scripted models say: experts' blueprints as answers, and what goes wrong with answers."""

import json
from pathlib import Path
from typing import Any

from engiagent.agents.engines.shortform import short_text
from engiagent.problems import Problem, corpus_root
from tests.agents.server import Json, Say, kind_of

KEY = "sk-test-5c0ffee5c0ffee5c0ffee"
DAY = corpus_root() / "battery" / "merchant_day"


def expert(folder: Path = DAY) -> Json:
    value = json.loads((folder / "expert/blueprint.json").read_text())
    assert isinstance(value, dict)
    return value


def analysis(blueprint: Json | str | None, folder: Path = DAY, said: str = "complete") -> Json:
    if isinstance(blueprint, dict):
        blueprint = short_text(blueprint, Problem.load(folder))
    return {
        "sufficiency": said, "missing": [], "contradictions": [], "not_understood": [],
        "blueprint": blueprint or "", "notes": [],
    }  # fmt: skip


FAITHFUL: Json = {"verdict": "faithful", "findings": []}
NOTHING: Json = {"why": "all is well", "patch": [
    {"op": "test", "path": "/kind", "value": '"programme"', "from": ""},
]}  # fmt: skip
NOBODY: Json = {
    "agent": "none", "strategy": "", "priority": "low", "estimated_success": 0.0, "reasoning": "",
}  # fmt: skip


class Plays:
    """A scripted model: answers by the kind of question, the last one for ever."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {"judge": FAITHFUL, **answers}
        self.given: dict[str, int] = {}

    def __call__(self, request: Json, number: int) -> Say:
        kind = kind_of(request)
        known = self.answers[kind]
        known = known if isinstance(known, list) else [known]
        place = self.given.get(kind, 0)
        self.given[kind] = place + 1
        answer = known[min(place, len(known) - 1)]
        return answer if isinstance(answer, Say) else Say(json.dumps(answer, ensure_ascii=False))
