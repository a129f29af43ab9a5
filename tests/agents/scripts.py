"""What scripted models say in tests: an expert's blueprint of one problem, whole or spoilt."""

from pathlib import Path

from engiagent.agents.bench.messages import experts
from engiagent.agents.bench.messages.experts import NOBODY, NOTHING, Plays, blueprint_of, second
from engiagent.agents.bench.messages.server import Json
from engiagent.text import Problem, corpus_root

__all__ = ["DAY", "KEY", "NOBODY", "NOTHING", "Plays", "analysis", "expert", "second"]

KEY = "sk-test-5c0ffee5c0ffee5c0ffee"
DAY = corpus_root() / "battery" / "merchant_day"


def expert(folder: Path = DAY) -> Json:
    return blueprint_of(folder)


def analysis(blueprint: Json | str | None, folder: Path = DAY, said: str = "complete") -> Json:
    return experts.analysis(blueprint, Problem.load(folder), said)
