"""Corpus problems that faults are put into, with what is out of a run's reach kept apart."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from engiagent.agents.bench.corpus import judge
from engiagent.agents.bench.faults.elements import Json
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.io.jsontext import loads_strict
from engiagent.run.certify import certify
from engiagent.text import Problem, find_problems

EXPERT: Final = "expert"
DECIDED: Final = ("certified", "proven infeasible")


@dataclass(frozen=True)
class Subject:
    """A problem as runs see it, and the expert's material, which they do not.

    Attributes
    ----------
    problem
        A copy of text and data without the expert's folder.
    annotated
        The problem with its annotations, for judging afterwards.
    known
        What was found out about blueprints of this problem, so that nothing is solved twice.
    """

    name: str
    problem: Problem
    annotated: Problem
    document: Json
    answer: Json
    known: dict[Any, Any] = field(default_factory=dict)

    @property
    def domain(self) -> str:
        """The first folder of its place in the corpus."""
        return self.name.split("/", 1)[0]

    def right(self, solution: Any, blueprint: Blueprint) -> tuple[bool, str | None]:
        """Hold a result against the expert's annotations and answer.

        Returns
        -------
        Whether it is right, and the verdict of the check with annotations.
        """
        try:
            found = certify(
                self.annotated, solution, blueprint, folder=self.annotated.folder, name=self.name
            )
        except EngiagentError:
            return False, None
        said, _ = judge(found.verdict, found.objective or {}, found.missing, self.answer)
        return said == "right", found.verdict


def subjects(root: Path, scratch: Path, most: int) -> Iterator[Subject]:
    """Yield the problems with the smallest blueprints, the domains in turn.

    Raises
    ------
    InputError
        When no problem has an expert's blueprint, requirements and a decided answer.
    """
    places: dict[str, list[tuple[int, str, Path]]] = {}
    for place in find_problems(root):
        folder = place if place.is_dir() else place.parent
        if _usable(folder):
            name = folder.relative_to(root).as_posix() if folder != root else folder.name
            size = (folder / EXPERT / "blueprint.json").stat().st_size
            places.setdefault(name.split("/", 1)[0], []).append((size, name, folder))
    if not places:
        raise InputError("no problem here has an expert's blueprint and requirements", str(root))
    queues = [sorted(found) for _, found in sorted(places.items())]
    turns = [item for turn in range(max(map(len, queues))) for item in _nth(queues, turn)]
    for number, (_, name, folder) in enumerate(turns[:most]):
        yield _subject(name, folder, scratch / str(number))


def _nth(queues: list[list[tuple[int, str, Path]]], turn: int) -> list[tuple[int, str, Path]]:
    return [queue[turn] for queue in queues if turn < len(queue)]


def _usable(folder: Path) -> bool:
    expert = folder / EXPERT
    if not all((expert / n).is_file() for n in ("blueprint.json", "requirements.yaml")):
        return False
    answer = expert / "answer.json"
    if not answer.is_file():
        return False
    known = json.loads(answer.read_text(encoding="utf-8"))
    kind = json.loads((expert / "blueprint.json").read_text(encoding="utf-8")).get("kind")
    return known.get("verdict") in DECIDED and kind == "programme"


def _subject(name: str, folder: Path, copied: Path) -> Subject:
    # A name that says nothing; without the expert's folder nothing of the answer is in reach.
    shutil.copytree(folder, copied, ignore=shutil.ignore_patterns(EXPERT, ".*"))
    expert = folder / EXPERT
    document = loads_strict((expert / "blueprint.json").read_text(encoding="utf-8"))
    answer = json.loads((expert / "answer.json").read_text(encoding="utf-8"))
    return Subject(name, Problem.load(copied), Problem.load(folder), document, answer)
