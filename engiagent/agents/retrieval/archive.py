"""The archive: problems with an expert's blueprint, as words and as structure."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from engiagent.blueprint import Blueprint
from engiagent.blueprint.grammar import Call, GrammarError, Reduce, parse, walk
from engiagent.errors import EngiagentError
from engiagent.plant.source import find_source
from engiagent.text import Problem, find_problems

BLUEPRINT: Final = Path("expert") / "blueprint.json"
SHINGLE: Final = 5
"""Words of a shingle."""
_LEFT_OUT: Final = (
    "schema",
    "param_id",
    "source_reference",
    "description",
    "extended_analysis_and_robustness",
    "unused",
)
"""Fields of a blueprint that an exemplar does without."""
_WORD: Final = re.compile(r"[a-zäöüß]+(?:-[a-z]+)*", re.IGNORECASE)
_ANY: Final = re.compile(r"\w+")


@dataclass(frozen=True)
class Exemplar:
    """A worked problem, with its words and structure for ranking; copies are known by shingles."""

    name: str
    text: str
    blueprint: Blueprint
    words: tuple[str, ...]
    structure: tuple[str, ...]
    shingles: frozenset[str]


def archive(root: Path) -> tuple[Exemplar, ...]:
    """Return every problem below a folder that has an expert's blueprint, by name.

    A problem that cannot be read is left out: an exemplar is help, and nothing hangs on it. So is
    one that a plant block states, whose blueprint shows no reading of prose. What was read is kept
    for as long as no file of these problems changes.
    """
    found = []
    for place in find_problems(root):
        folder = place if place.is_dir() else place.parent
        if (folder / BLUEPRINT).is_file():
            name = place.relative_to(root).as_posix() if place != root else place.name
            exemplar = _exemplar(name, place, folder / BLUEPRINT, _state(folder))
            found += [] if exemplar is None else [exemplar]
    return tuple(sorted(found, key=lambda exemplar: exemplar.name))


def _state(folder: Path) -> tuple[tuple[str, int, int], ...]:
    """Return names, sizes and times of the files that an exemplar is made of."""
    files = (p for p in (*folder.iterdir(), folder / BLUEPRINT) if p.is_file())
    stats = ((p.name, p.stat()) for p in sorted(files))
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats)


@lru_cache(maxsize=512)
def _exemplar(name: str, place: Path, blueprint_file: Path, state: object) -> Exemplar | None:
    try:
        problem, blueprint = Problem.load(place), Blueprint.load(blueprint_file)
        if find_source(problem) is not None:
            return None
    except EngiagentError:
        return None
    text = body(problem)
    return Exemplar(name, text, blueprint, words(text), structure(blueprint), shingles(text))


def body(problem: Problem) -> str:
    """Return the text without its front matter."""
    return problem.text[problem.body_start :].strip()


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text in small letters, numbers left out."""
    return tuple(word.lower() for word in _WORD.findall(text) if len(word) > 2)


def shingles(text: str) -> frozenset[str]:
    """Return all runs of :data:`SHINGLE` words; numbers count alike, whatever their value.

    A copy with other figures is still a copy.
    """
    tokens = ["#" if t[0].isdigit() else t.lower() for t in _ANY.findall(text)]
    size = min(SHINGLE, max(1, len(tokens)))
    return frozenset(" ".join(tokens[k : k + size]) for k in range(len(tokens) - size + 1))


def likeness(one: frozenset[str], two: frozenset[str]) -> float:
    """Return how much of the smaller set of shingles the other one has, from 0 to 1."""
    smaller = min(len(one), len(two))
    return len(one & two) / smaller if smaller else 0.0


def structure(blueprint: Blueprint) -> tuple[str, ...]:
    """Return what a blueprint is made of: units, kinds of sets and variables, functions."""
    core = blueprint.core
    found = Counter(f"model:{c.model}" for c in core.components)
    found.update(f"set:{s.kind}" for s in core.sets)
    found.update(f"variable:{v.type}" for v in core.decision_variables)
    found.update(
        f"series:{v.quantity.rsplit('.', 1)[-1]}" for v in core.decision_variables if v.quantity
    )
    found.update(f"category:{c.category}" for c in core.constraints if c.category)
    for constraint in core.constraints:
        found.update(f"function:{name}" for name in _functions(constraint.expression))
    goal = core.objective_function
    if goal is not None:
        found[f"sense:{goal.sense}"] += 1
    found[f"kind:{blueprint.kind}"] += 1
    return tuple(sorted(found))


def _functions(expression: str) -> set[str]:
    try:
        nodes = tuple(walk(parse(expression)))
    except GrammarError:
        return set()
    return {node.function for node in nodes if isinstance(node, Call | Reduce)}


def compact(blueprint: Blueprint) -> str:
    """Return a blueprint as one line in the form that is asked for, without its sources."""
    document: Any = json.loads(blueprint.to_json())
    if document["kind"] == "programme":
        del document["kind"]
    core = document["core_model_elements"]
    for entry in core.get("constraints", ()):
        entry.pop("name", None)
        if entry.get("hard") is True:
            del entry["hard"]
    return json.dumps(_without(document), ensure_ascii=False, separators=(",", ":"))


def _without(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {k: _without(v) for k, v in value.items() if k not in _LEFT_OUT}
    if isinstance(value, list):
        return [_without(item) for item in value]
    return value
