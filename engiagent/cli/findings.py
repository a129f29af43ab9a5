"""Blueprint files under static analysis: which files, what was found, and where in the file."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.definitions import check_definitions
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.document import Blueprint
from engiagent.cli.targets import says_blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.io.jsonplaces import JsonPlaces, Region, Step, path_steps
from engiagent.plant import PlantError, read_plant
from engiagent.run.inputs import PROBLEM_SUFFIXES, problem_folder_of
from engiagent.solvers.structure.recognition import recognise
from engiagent.text import Problem
from engiagent.text.corpus import TEXT_SUFFIXES
from engiagent.text.problem import PLANT_FILE, PLANT_MARK, PLANT_SUFFIXES

_BLOCK: Final = re.compile(r"^ {0,3}(?:`{3,}|~{3,}) *yaml engiagent", re.MULTILINE)
_GROUPS: Final = ("sets", "parameters", "decision_variables", "expressions", "constraints")
_DATA_PLACE: Final = re.compile(
    r"([^:\n]+\.(?:csv|xlsx|parquet|nc)):(\d+)(?::(\d+))?: ", re.IGNORECASE
)
_PATH_IN_MESSAGE: Final = re.compile(r"(?:[^:]+: )?(core_model_elements[\w.\[\]]*|[a-z_]+)[ :]")


@dataclass(frozen=True)
class Finding:
    """A diagnostic with its place in the blueprint file."""

    diagnostic: Diagnostic
    region: Region  # the value concerned, or the one character in its text that a column names
    source: str  # the line of the file on which the region begins
    related: tuple[Path, Region] | None = None  # the data file and place that the message names


@dataclass(frozen=True)
class ProgramKind:
    """What a blueprint becomes: its class, whether it is convex, and structure found in it."""

    problem_class: str
    convexity: str
    structure: tuple[str, ...]

    def __str__(self) -> str:
        return ", ".join([self.problem_class, self.convexity, *self.structure])


@dataclass(frozen=True)
class LintedFile:
    """What static analysis says of one file."""

    path: Path
    kind: str | None = None  # programme or definitions; None when the file cannot be read
    findings: tuple[Finding, ...] = ()
    program: ProgramKind | None = None  # what the compiler makes of it; None where errors are
    variables: int = 0
    constraints: int = 0
    missing: tuple[str, ...] = ()
    error: str | None = None  # why the file is no blueprint that can be read
    error_region: Region | None = None

    def count(self, severity: str) -> int:
        """Return how many findings have a severity."""
        return sum(1 for item in self.findings if item.diagnostic.severity == severity)


def blueprint_files(names: Iterable[str]) -> tuple[Path, ...]:
    """Return the files that names of files and folders stand for, each once.

    A folder stands for all blueprints and plants below it, hidden folders left out: every
    ``.json`` file that says of itself to be one, plant files, and texts with a plant block.
    """
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        if path.is_dir():
            chosen = list(_below(path))
            if not chosen:
                raise InputError(f"there is no blueprint or plant below {name}")
        elif path.exists():
            chosen = [path]
        else:
            raise InputError(f"{name} is not there")
        found |= dict.fromkeys(chosen)
    return tuple(found)


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(place) / name
            if path.is_file() and _is_stated(path):
                yield path


def _is_stated(path: Path) -> bool:
    """Whether a file says of itself that it is a blueprint or a plant."""
    if path.name == PLANT_FILE or says_blueprint(path):
        return True
    marks = dict.fromkeys(PLANT_SUFFIXES, PLANT_MARK) | dict.fromkeys(TEXT_SUFFIXES, _BLOCK)
    mark = marks.get(path.suffix.lower())
    try:
        return mark is not None and bool(mark.search(path.read_text("utf-8", errors="replace")))
    except OSError:
        return False


def lint_file(path: Path) -> LintedFile:
    """Analyse one file; what makes it unreadable is part of the answer, never an exception."""
    if path.suffix.lower() in PROBLEM_SUFFIXES and not Blueprint.is_in(path):
        return _lint_plant(path)
    try:
        blueprint = Blueprint.load(path)
    except EngiagentError as error:
        return _unreadable(path, error)
    folder = problem_folder_of(path)
    if blueprint.kind != "definitions":
        return _lint_programme(path, blueprint, folder)
    missing = tuple(p.name for p in blueprint.core.parameters if p.status == "missing")
    findings = _found(check_definitions(blueprint, folder), blueprint, blueprint, path, folder)
    return LintedFile(path, blueprint.kind, findings, missing=missing)


def _lint_plant(path: Path) -> LintedFile:
    """Analyse a plant file or the plant block of a text; every error in it is a finding."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    try:
        problem = Problem.load(path)
        reading = read_plant(problem)
        if reading is None or reading.blueprint is None:
            raise InputError("there is no plant block in this text", str(path))
        full = expand(reading.blueprint)
    except PlantError as error:
        found = tuple(_stated_wrong(one, path, lines) for one in error.errors)
        return LintedFile(path, "programme", found)
    except EngiagentError as error:
        return _unreadable(path, error)
    analysis = analyse(full, problem.folder)
    program = _compiled(full, problem.folder)[1]
    return LintedFile(path, "programme", (), program, analysis.variables, analysis.constraints)


def _stated_wrong(error: InputError, path: Path, lines: Sequence[str]) -> Finding:
    """Return an error of a plant file; of a file that it includes, that is what is related."""
    line, column = error.line or 1, error.column or 1
    place = Region(line, column, line, column + 1)
    if error.file not in (None, path.name):
        finding = Diagnostic("EB014", "error", "line 1", str(error))
        return Finding(
            finding, Region(1, 1, 1, 2), lines[0], (path.parent / str(error.file), place)
        )
    text = replace(error, file=None, line=None, column=None)
    finding = Diagnostic("EB014", "error", f"line {line}", str(text), error.column)
    return Finding(finding, place, lines[line - 1] if line <= len(lines) else "")


def _lint_programme(path: Path, blueprint: Blueprint, folder: Path) -> LintedFile:
    try:
        full = expand(blueprint)
    except BlueprintError as error:
        found = error.diagnostics
        return LintedFile(path, blueprint.kind, _found(found, blueprint, blueprint, path, folder))
    except EngiagentError as error:
        # What a component lacks is said of the component by the one that builds it.
        place = _component_path(str(error), blueprint)
        found = (Diagnostic("EB014", "error", place, str(error)),)
        return LintedFile(path, blueprint.kind, _found(found, blueprint, blueprint, path, folder))
    analysis = analyse(full, folder)
    found, program = analysis.diagnostics, None
    if not analysis.errors and not analysis.missing:
        more, program = _compiled(full, folder)
        found = (*more, *found)
    return LintedFile(
        path,
        blueprint.kind,
        _found(found, full, blueprint, path, folder),
        program,
        analysis.variables,
        analysis.constraints,
        analysis.missing,
    )


def _compiled(full: Blueprint, folder: Path) -> tuple[tuple[Diagnostic, ...], ProgramKind | None]:
    """Return what only rewriting finds out, as a divisor that may be zero, and the program."""
    try:
        program = compile_blueprint(full, folder)
    except BlueprintError as error:
        return error.diagnostics, None
    found = classify(program)
    structure = recognise(program).lines()
    return (), ProgramKind(found.problem_class, found.convexity, structure)


def _unreadable(path: Path, error: EngiagentError) -> LintedFile:
    region = None
    if isinstance(error, InputError) and error.line is not None:
        column = error.column or 1
        region = Region(error.line, column, error.line, column + 1)
    elif match := _PATH_IN_MESSAGE.match(str(error)):
        try:
            places = JsonPlaces(path.read_text(encoding="utf-8"))
            region = places.region(path_steps(match[1]))
        except (OSError, ValueError, IndexError, KeyError):
            region = None  # no JSON to look into, or another message than one of the schema
    return LintedFile(path, error=str(error), error_region=region)


def _found(
    diagnostics: Sequence[Diagnostic], full: Blueprint, written: Blueprint, path: Path, folder: Path
) -> tuple[Finding, ...]:
    places, result = JsonPlaces(path.read_text(encoding="utf-8")), []
    for diagnostic in diagnostics:
        steps = _written_path(path_steps(diagnostic.path), full, written)
        region = _region(steps, diagnostic.column, places)
        source, related = places.line_text(region.line), _related(diagnostic.message, folder)
        result.append(Finding(diagnostic, region, source, related))
    return tuple(result)


def _related(message: str, folder: Path) -> tuple[Path, Region] | None:
    """Return the place in a data file with which a message of its reader begins."""
    match = _DATA_PLACE.match(message)
    if match is None:
        return None
    line, column = int(match[2]), int(match[3] or 1)
    return folder / match[1], Region(line, column, line, column + 1)


def _region(steps: tuple[Step, ...], column: int | None, places: JsonPlaces) -> Region:
    """Return the place of a value; of an object that of the name in it, which says more."""
    for key in ("constraint_id", "name"):
        named = (*steps, key)
        if named in places.spans and column is None:
            return places.region(named)
    return places.region(steps, column)


def _written_path(steps: tuple[Step, ...], full: Blueprint, written: Blueprint) -> tuple[Step, ...]:
    """Return the path in the file of what stands at a path of the expanded blueprint.

    Expansion moves what was written and adds to it; what a component has brought in stands where
    the component does.
    """
    if full is written or len(steps) < 3 or steps[1] not in _GROUPS:
        return steps
    group, position = str(steps[1]), int(steps[2])
    labels = (
        [str(getattr(item, "constraint_id", None) or item.name) for item in getattr(core, group)]
        for core in (full.core, written.core)
    )
    name, own = next(labels)[position], next(labels)
    if name in own:
        return (steps[0], group, own.index(name), *steps[3:])
    owners = [
        (len(component.name), place)
        for place, component in enumerate(written.core.components)
        if name.startswith(f"{component.name}_")
    ]
    return (steps[0], "components", max(owners)[1]) if owners else (steps[0], "components")


def _component_path(message: str, blueprint: Blueprint) -> str:
    found = (
        f"core_model_elements.components[{position}]"
        for position, component in enumerate(blueprint.core.components)
        if f"component {component.name} (" in message
    )
    return next(found, "core_model_elements.components")
