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
from engiagent.solvers.exclusivity import recognise
from engiagent.text import Problem
from engiagent.text.corpus import TEXT_SUFFIXES
from engiagent.text.problem import PLANT_FILE, PLANT_MARK, PLANT_SUFFIXES

_BLOCK: Final = re.compile(r"^ {0,3}(?:`{3,}|~{3,}) *yaml engiagent", re.MULTILINE)
_MARKS: Final = dict.fromkeys(PLANT_SUFFIXES, PLANT_MARK) | dict.fromkeys(TEXT_SUFFIXES, _BLOCK)
"""By the ending of a file what says of it that it is a plant."""
_GROUPS: Final = ("sets", "parameters", "decision_variables", "expressions", "constraints")
_PATH_IN_MESSAGE: Final = re.compile(r"(?:[^:]+: )?(core_model_elements[\w.\[\]]*|[a-z_]+)[ :]")


@dataclass(frozen=True)
class Finding:
    """A diagnostic with its place in the blueprint file."""

    diagnostic: Diagnostic
    region: Region  # the value concerned, or the one character in its text that a column names
    source: str  # the line of the file on which the region begins


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
        return sum(item.diagnostic.severity == severity for item in self.findings)


def blueprint_files(names: Iterable[str]) -> tuple[Path, ...]:
    """Return the files that names of files and folders stand for, each once.

    A folder stands for all blueprints and plants below it, hidden folders left out: every
    ``.json`` file that says of itself to be one, plant files, and texts with a plant block.
    """
    found: dict[Path, None] = {}
    for path in map(Path, names):
        chosen = list(_below(path)) if path.is_dir() else [path]
        if not chosen:
            raise InputError(f"there is no blueprint or plant below {path}")
        if not path.exists():
            raise InputError(f"{path} is not there")
        found |= dict.fromkeys(chosen)
    return tuple(found)


def _below(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        paths = (Path(place) / name for name in sorted(names))
        yield from (path for path in paths if path.is_file() and _is_stated(path))


def _is_stated(path: Path) -> bool:
    """Whether a file says of itself that it is a blueprint or a plant."""
    if path.name == PLANT_FILE or says_blueprint(path):
        return True
    mark = _MARKS.get(path.suffix.lower())
    try:
        return mark is not None and bool(mark.search(path.read_text("utf-8", errors="replace")))
    except OSError:
        return False


def lint_file(path: Path) -> LintedFile:
    """Analyse one file; what makes it unreadable is part of the answer, never an exception."""
    try:
        if path.suffix.lower() in PROBLEM_SUFFIXES and not Blueprint.is_in(path):
            return _lint_plant(path)
        blueprint = Blueprint.load(path)
    except EngiagentError as error:
        return LintedFile(path, error=str(error), error_region=_region_of(error, path))
    folder = problem_folder_of(path)
    if blueprint.kind != "definitions":
        return _lint_programme(path, blueprint, folder)
    missing = tuple(p.name for p in blueprint.core.parameters if p.status == "missing")
    findings = _found(check_definitions(blueprint, folder), blueprint, blueprint, path)
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
    analysis = analyse(full, problem.folder)
    more, program = _compiled(full, problem.folder)
    # An info asks for bounds of variables, which a plant does not state.
    items = [item for item in (*more, *analysis.diagnostics) if item.severity != "info"]
    placed = tuple(_of_plant(item, lines) for item in items)
    return LintedFile(path, "programme", placed, program, analysis.variables, analysis.constraints)


def _of_plant(item: Diagnostic, lines: Sequence[str]) -> Finding:
    """Return a finding about the blueprint of a plant, where the plant names what it is about."""
    named = (n for n, text in enumerate(lines, 1) if text.lstrip().startswith(f"{item.name}:"))
    line = next(named, 1)
    return Finding(item, Region(line, 1, line, 2), lines[line - 1])


def _stated_wrong(error: InputError, path: Path, lines: Sequence[str]) -> Finding:
    """Return an error of a plant file; one of a file that it includes stands at its first line."""
    line, column, text = error.line or 1, error.column, str(error)
    if error.file in (None, path.name):
        text = str(replace(error, file=None, line=None, column=None))
    else:
        line, column = 1, None
    finding = Diagnostic("EB014", "error", f"line {line}", text, column)
    place = Region(line, column or 1, line, (column or 1) + 1)
    return Finding(finding, place, lines[line - 1] if line <= len(lines) else "")


def _lint_programme(path: Path, blueprint: Blueprint, folder: Path) -> LintedFile:
    found: Sequence[Diagnostic]
    try:
        full = expand(blueprint)
    except EngiagentError as error:
        # What a component lacks is said of the component by the one that builds it.
        place = _component_path(str(error), blueprint)
        found = (Diagnostic("EB014", "error", place, str(error)),)
        found = error.diagnostics if isinstance(error, BlueprintError) else found
        return LintedFile(path, blueprint.kind, _found(found, blueprint, blueprint, path))
    analysis = analyse(full, folder)
    found, program = analysis.diagnostics, None
    if not analysis.errors and not analysis.missing:
        more, program = _compiled(full, folder)
        found = (*more, *found)
    size = (analysis.variables, analysis.constraints, analysis.missing)
    return LintedFile(path, blueprint.kind, _found(found, full, blueprint, path), program, *size)


def _compiled(full: Blueprint, folder: Path) -> tuple[tuple[Diagnostic, ...], ProgramKind | None]:
    """Return what only rewriting finds out, as a divisor that may be zero, and the program."""
    try:
        program = compile_blueprint(full, folder)
    except BlueprintError as error:
        return error.diagnostics, None
    found = classify(program)
    structure = recognise(program).lines()
    return (), ProgramKind(found.problem_class, found.convexity, structure)


# -- where ----------------------------------------------------------------------------------------


def _region_of(error: EngiagentError, path: Path) -> Region | None:
    """Return where in a file the error is that keeps it from being read, as far as is known."""
    if isinstance(error, InputError) and error.line is not None:
        column = error.column or 1
        return Region(error.line, column, error.line, column + 1)
    match = _PATH_IN_MESSAGE.match(str(error))
    try:
        places = JsonPlaces(path.read_text(encoding="utf-8"))
        return None if match is None else places.region(path_steps(match[1]))
    except (OSError, ValueError, IndexError, KeyError):
        return None  # no JSON to look into, or another message than one of the schema


def _found(
    diagnostics: Sequence[Diagnostic], full: Blueprint, written: Blueprint, path: Path
) -> tuple[Finding, ...]:
    places, result = JsonPlaces(path.read_text(encoding="utf-8")), []
    for diagnostic in diagnostics:
        steps = _written_path(path_steps(diagnostic.path), full, written)
        region = _region(steps, diagnostic.column, places)
        result.append(Finding(diagnostic, region, places.line_text(region.line)))
    return tuple(result)


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
    labels, own = (
        [str(getattr(item, "constraint_id", None) or item.name) for item in getattr(core, group)]
        for core in (full.core, written.core)
    )
    name = labels[position]
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
