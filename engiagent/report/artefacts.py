"""What a run left in its folder, read as far as it can be read.

A run may have been interrupted, or its problem may have no schedule. So every artefact is optional;
one that is damaged is named in :attr:`Run.trouble` and the others are still shown.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engiagent.blueprint.document import Blueprint
from engiagent.blueprint.elaborate import Elaboration
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.expansion import expand
from engiagent.io.jsontext import loads_strict
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.solution import load_arrays

MAX_TEXT = 60_000
_OF_A_RUN = ("run.json", "certificate.json", "blueprint.json", "solution.nc")


@dataclass(frozen=True, eq=False)
class Run:
    """A run folder's artefacts; None or empty for what is not there.

    Attributes
    ----------
    record, certificate
        ``run.json`` and ``certificate.json``.
    blueprint
        With the fragments of its components written out.
    elaboration
        The blueprint's sets and data.
    problem_name, problem_text
        The copy of the problem file.
    trouble
        One sentence for each artefact that could not be read.
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


def load_run(folder: Path) -> Run:
    """Read a run folder.

    Raises
    ------
    InputError
        When there is no such folder, or it holds none of a run's files.
    """
    if not folder.is_dir():
        raise InputError("no such run folder", str(folder))
    if not holds_run(folder):
        raise InputError(
            "this is no run folder", str(folder), expected=f"one of {', '.join(_OF_A_RUN)}"
        )
    trouble: list[str] = []
    blueprint = _blueprint(folder, trouble)
    problem = _problem_file(folder / "problem")
    return Run(
        folder=folder,
        record=_json(folder / "run.json", trouble),
        certificate=_json(folder / "certificate.json", trouble),
        blueprint=blueprint,
        elaboration=_elaboration(blueprint, folder / "problem", trouble),
        solution=_solution(folder / "solution.nc", trouble),
        problem_name=problem.name if problem else None,
        problem_text=_text(problem),
        trouble=tuple(trouble),
    )


def _json(path: Path, trouble: list[str]) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        value = loads_strict(path.read_text("utf-8"), path.name)
    except (EngiagentError, OSError, UnicodeDecodeError) as error:
        trouble.append(f"{path.name} cannot be read: {error}")
        return {}
    if not isinstance(value, dict):
        trouble.append(f"{path.name} holds no object")
        return {}
    return value


def _blueprint(folder: Path, trouble: list[str]) -> Blueprint | None:
    path = folder / "blueprint.json"
    if not path.is_file():
        return None
    try:
        blueprint = Blueprint.load(path)
    except EngiagentError as error:
        trouble.append(f"blueprint.json cannot be read: {error}")
        return None
    try:
        return expand(blueprint)
    except EngiagentError as error:
        trouble.append(f"the components of blueprint.json cannot be written out: {error}")
        return blueprint


def _elaboration(
    blueprint: Blueprint | None, folder: Path, trouble: list[str]
) -> Elaboration | None:
    if blueprint is None:
        return None
    try:
        elaboration = Elaboration(blueprint.core, folder if folder.is_dir() else None)
        _ = elaboration.symbols
    except EngiagentError as error:
        trouble.append(f"the names in blueprint.json do not fit together: {error}")
        return None
    return elaboration


def _solution(path: Path, trouble: list[str]) -> SolutionArrays | None:
    if not path.is_file():
        return None
    try:
        return load_arrays(path)
    except EngiagentError as error:
        trouble.append(f"solution.nc cannot be read: {error}")
        return None


def _problem_file(folder: Path) -> Path | None:
    if not folder.is_dir():
        return None
    found = sorted(p for p in folder.iterdir() if p.suffix in (".md", ".txt") and p.is_file())
    return next((p for p in found if p.stem == "problem"), found[0] if found else None)


def _text(path: Path | None) -> str | None:
    if path is None:
        return None
    try:
        with path.open(encoding="utf-8", errors="replace") as stream:
            text = stream.read(MAX_TEXT + 1)
    except OSError:
        return None
    return text if len(text) <= MAX_TEXT else text[:MAX_TEXT] + "\n… (cut off here)"
