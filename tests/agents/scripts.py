"""What scripted models say in tests: an expert's blueprint of one problem, whole or spoilt."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from engiagent.text import Problem, corpus_root
from tests.agents import experts
from tests.agents.experts import NOBODY, NOTHING, Plays, blueprint_of, second
from tests.agents.messages_server import Json

__all__ = ["DAY", "KEY", "NOBODY", "NOTHING", "Plays", "analysis", "expert", "second"]

KEY = "sk-test-5c0ffee5c0ffee5c0ffee"
DAY = corpus_root() / "battery" / "merchant_day"


def expert(folder: Path = DAY) -> Json:
    return blueprint_of(folder)


def analysis(blueprint: Json | str | None, folder: Path = DAY, said: str = "complete") -> Json:
    return experts.analysis(blueprint, Problem.load(folder), said)


def spoilt(change: Callable[[Json], None]) -> Json:
    """Return the expert's blueprint with a core that was changed."""
    blueprint = expert()
    change(blueprint["core_model_elements"])
    return blueprint


def obedient() -> Json:
    """Return the blueprint of who leaves the demand out and excuses its figure."""
    blueprint = spoilt(lambda core: core["constraints"].clear())
    core = blueprint["core_model_elements"]
    end = next(p for p in core["parameters"] if p["name"] == "E_end")
    core["parameters"].remove(end)
    unused = {**end["source_reference"], "reason": "the demand is void"}
    del unused["kind"]
    blueprint["extended_analysis_and_robustness"]["unused"].append(unused)
    return blueprint


def bare(tmp_path: Path, more: str = "", source: Path = DAY) -> Path:
    """Return a problem as a user has one: no annotations, and somebody's further words."""
    folder = tmp_path / "own"
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("expert"))
    with open(folder / "problem.md", "a") as file:
        file.write(more)
    return folder


def routes(folder: Path) -> list[Json]:
    """Return the routing records of a run."""
    lines = [json.loads(line) for line in (folder / "trace.jsonl").read_text().splitlines()]
    return [line for line in lines if line.get("event") == "route"]


def assert_no_key(folder: Path) -> None:
    """Search every file of a run for the key."""
    for path in folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
