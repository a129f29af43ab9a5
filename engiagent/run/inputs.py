"""What a run works from: problems beside blueprints, copies of them, and stored answers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from engiagent.blueprint import Blueprint
from engiagent.io.files import open_inside
from engiagent.run.folder import BLUEPRINT, PROBLEM, RunFolder, is_run_folder, read_record
from engiagent.text import Problem
from engiagent.text.problem import PLANT_FILE, PLANT_SUFFIXES
from engiagent.units.unit import convert, parse_unit

EXPERT = "expert"
REQUIREMENTS = "requirements.yaml"
READING = "reading.json"
PROBLEM_SUFFIXES = (".md", ".txt", *PLANT_SUFFIXES)


def copy_problem(problem: Problem, folder: RunFolder) -> None:
    """Copy a problem, its data and its annotated requirements, so that the folder checks alone."""
    readings = [READING, f"{problem.path.stem}.{READING}"]
    if problem.path.suffix.lower() not in PLANT_SUFFIXES:  # another plant is another problem
        readings.append(PLANT_FILE)
    beside = [name for name in readings if (problem.folder / name).is_file()]
    for name in dict.fromkeys([problem.path.name, *beside, *problem.sha256]):
        folder.write(f"{PROBLEM}/{name}", open_inside(problem.folder, name))
    if problem.expert is not None:
        # The reading says to which text the requirements belong, and is read again by rule.
        for name in (REQUIREMENTS, READING, BLUEPRINT):
            if (problem.expert / name).is_file():
                content = open_inside(problem.expert, name)
                folder.write(f"{PROBLEM}/{EXPERT}/{name}", content)


def copy_data(blueprint: Blueprint, source: Path, folder: RunFolder) -> None:
    """Copy the data files that a blueprint names and that are not there yet."""
    for name in dict.fromkeys(data_files(blueprint)):
        if not (folder.path / PROBLEM / name).exists():
            folder.write(f"{PROBLEM}/{name}", open_inside(source, name))


def data_files(blueprint: Blueprint) -> Iterator[str]:
    """Yield the names of the files that the sets and parameters of a blueprint are read from."""
    core = blueprint.core
    named = [*(item.data for item in core.sets), *(item.data for item in core.parameters)]
    yield from (name.split("#")[0] for name in named if name is not None)


def name_of(path: Path) -> str:
    """Return what to call a blueprint without a problem; bytes that are no UTF-8 become ``?``."""
    return path.stem.encode("utf-8", errors="replace").decode()


def problem_folder_of(blueprint_path: Path) -> Path:
    """Return the folder in which the data files of a blueprint lie."""
    parent = blueprint_path.resolve().parent
    if parent.name == EXPERT:
        return parent.parent
    if blueprint_path.name == BLUEPRINT and is_run_folder(parent) and (parent / PROBLEM).is_dir():
        return parent / PROBLEM
    return parent


def problem_beside(blueprint_path: Path) -> Problem | None:
    """Return the problem that a blueprint belongs to, if one lies there."""
    folder = problem_folder_of(blueprint_path)
    run = blueprint_path.resolve().parent
    if folder == run / PROBLEM:
        return stored_problem(run)
    texts = any((folder / f"problem{suffix}").is_file() for suffix in PROBLEM_SUFFIXES)
    if blueprint_path.resolve().parent.name != EXPERT and not texts:
        return None
    return Problem.load(folder)


def stored_problem(run: Path) -> Problem | None:
    """Return a run's copy of its problem under the problem's own id; None without one."""
    folder = run / PROBLEM
    texts = [path for path in folder.glob("*") if path.suffix.lower() in PROBLEM_SUFFIXES]
    if not texts:
        return None
    return replace(Problem.load(folder), id=str(read_record(run)["problem"]))


def slots_of(blueprint: Blueprint, names: Iterable[str]) -> Iterator[str]:
    """Yield ``battery.charge_efficiency`` for a parameter that fills that slot, else its name."""
    for name in names:
        slots = [
            f"{component.name}.{slot}"
            for component in blueprint.core.components
            for slot, value in component.parameters.items()
            if value == name
        ]
        yield from slots or [name]


DEFAULT_TOLERANCE = 1e-6


def against_answer(
    verdict: str | None, objective: Mapping[str, Any], missing: Iterable[str], answer: Any
) -> Iterator[str]:
    """Yield a sentence for everything in which a result differs from the stored answer."""
    if not isinstance(answer, dict):
        yield "the answer is no JSON object"
        return
    if verdict != answer.get("verdict"):
        yield f"the verdict is {verdict}, the answer says {answer.get('verdict')}"
    expected = answer.get("objective") or {}
    if expected.get("value") is not None:
        yield from objectives(objective, expected, answer.get("relative_tolerance"))
    names = {str(item) for item in answer.get("missing") or ()}
    given = set(missing)
    if names != given:
        yield f"missing is {sorted(given)}, the answer says {sorted(names)}"


def objectives(
    found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float | None
) -> Iterator[str]:
    """Yield a sentence for everything in which an objective differs from the stored one."""
    value = found.get("value")
    if value is None:
        yield f"there is no objective, the answer says {expected['value']}"
        return
    unit, wanted = str(found.get("unit") or "1"), str(expected.get("unit") or "1")
    value = convert(float(value), parse_unit(unit), parse_unit(wanted))
    allowed = (tolerance or DEFAULT_TOLERANCE) * max(1.0, abs(expected["value"]))
    if not abs(value - expected["value"]) <= allowed:
        yield f"the objective is {value:.10g} {wanted}, the answer says {expected['value']:.10g}"
    if found.get("sense") != expected.get("sense"):
        yield f"the sense is {found.get('sense')}, the answer says {expected.get('sense')}"
