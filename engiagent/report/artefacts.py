"""What a run left in its folder, read as far as it can be read.

A run may have been interrupted, or its problem may have no schedule. So every artefact is optional;
one that is damaged is named in :attr:`Run.trouble` and the others are still shown.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.environment.running import as_solution
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.expansion import expand
from engiagent.io.jsontext import loads_strict
from engiagent.run.folder import (
    BLUEPRINT,
    CERTIFICATE,
    CONTROLLED,
    PROBLEM,
    RECORD,
    SIMULATED,
    SOLUTION,
)
from engiagent.run.keyfigures import KeyFigures, key_figures
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.solution import load_arrays
from engiagent.text.corpus import TEXT_SUFFIXES
from engiagent.text.problem import PLANT_SUFFIXES

MAX_TEXT = 60_000
RECORDS = (SIMULATED, CONTROLLED)
"""What a plant showed stands before what a plan meant it to do."""
_OF_A_RUN = (RECORD, CERTIFICATE, BLUEPRINT, SOLUTION)
Content = TypeVar("Content")


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder's artefacts; None or empty for what is not there.

    The blueprint has the fragments of its components written out; ``trouble`` is a sentence for
    each artefact that could not be read.
    """

    folder: Path
    record: Mapping[str, Any]
    certificate: Mapping[str, Any]
    blueprint: Blueprint | None
    elaboration: Elaboration | None
    solution: SolutionArrays | None
    problem_name: str | None
    problem_text: str | None
    trouble: tuple[str, ...]

    def part(self, *keys: str) -> Mapping[str, Any]:
        """Return an object inside the certificate; an empty one where there is none."""
        found = self.certificate
        for key in keys:
            found = mapping(found.get(key))
        return found

    @cached_property
    def figures(self) -> KeyFigures:
        """The key figures of the plan; none without one, or where it is of another blueprint."""
        if self.elaboration is None or self.solution is None:
            return KeyFigures()
        try:
            return key_figures(self.elaboration, self.solution)
        except EngiagentError:
            return KeyFigures()


def mapping(value: Any) -> Mapping[str, Any]:
    """Return an object of a stored document; an empty one where it is none."""
    return value if isinstance(value, Mapping) else {}


def sequence(value: Any) -> Sequence[Any]:
    """Return a list of a stored document; an empty one where it is none."""
    return value if isinstance(value, list | tuple) else ()


def finite(value: Any) -> float | None:
    """Return a number of a stored document; None where it is none."""
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if known and math.isfinite(value) else None


def holds_run(folder: Path) -> bool:
    """Whether a folder holds any of the files by which a run is known."""
    return any((folder / name).is_file() for name in _OF_A_RUN)


def load_run(
    folder: Path, *, blueprint: Blueprint | None = None, solution: SolutionArrays | None = None
) -> Run:
    """Read a run folder; without one, or without any of a run's files, it is an InputError.

    ``blueprint`` and ``solution`` are what whoever wrote these files still has; with thousands of
    variables reading them back takes longer than solving.
    """
    if not folder.is_dir():
        raise InputError("no such run folder", str(folder))
    if not holds_run(folder):
        raise InputError(
            "this is no run folder", str(folder), expected=f"one of {', '.join(_OF_A_RUN)}"
        )
    trouble: list[str] = []

    def attempt(what: str, work: Callable[[], Content]) -> Content | None:
        try:
            return work()
        except (EngiagentError, OSError, UnicodeDecodeError) as error:
            trouble.append(f"{what}: {error}")
            return None

    def read(name: str, load: Callable[[Path], Content]) -> Content | None:
        path = folder / name
        return attempt(f"{name} cannot be read", lambda: load(path)) if path.is_file() else None

    blueprint, elaboration = blueprint or read(BLUEPRINT, Blueprint.load), None
    if (written := blueprint) is not None:
        problem = f"the components of {BLUEPRINT} cannot be written out"
        blueprint = full = attempt(problem, lambda: expand(written)) or written
        problem = f"the names in {BLUEPRINT} do not fit together"
        elaboration = attempt(problem, lambda: _elaborated(full, folder / PROBLEM))
    if (names := elaboration) is not None:
        for record in RECORDS:
            solution = solution or read(record, lambda path: as_solution(names, load_arrays(path)))
    file = _problem_file(folder / PROBLEM)
    return Run(
        folder=folder,
        record=read(RECORD, _object) or {},
        certificate=read(CERTIFICATE, _object) or {},
        blueprint=blueprint,
        elaboration=elaboration,
        solution=solution or read(SOLUTION, load_arrays),
        problem_name=file.name if file else None,
        problem_text=attempt("the problem", lambda: _text(file)) if file else None,
        trouble=tuple(trouble),
    )


def _object(path: Path) -> Mapping[str, Any]:
    value = loads_strict(path.read_text("utf-8"), path.name)
    if not isinstance(value, dict):
        raise InputError("it holds no object")
    return value


def _elaborated(blueprint: Blueprint, folder: Path) -> Elaboration:
    elaboration = Elaboration(blueprint.core, folder if folder.is_dir() else None)
    _ = elaboration.symbols
    return elaboration


def _problem_file(folder: Path) -> Path | None:
    if not folder.is_dir():
        return None
    files = sorted(path for path in folder.iterdir() if path.is_file())
    for known, name in ((TEXT_SUFFIXES, "problem"), (PLANT_SUFFIXES, "plant")):
        found = [path for path in files if path.suffix.lower() in known]
        if found:
            return next((path for path in found if path.stem == name), found[0])
    return None


def _text(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as stream:
        text = stream.read(MAX_TEXT + 1)
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "\n… (cut off here)"
