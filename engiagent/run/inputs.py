"""What a run works from: problems found beside blueprints, and copies that make a folder whole."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from engiagent.blueprint import Blueprint
from engiagent.io.files import open_inside
from engiagent.run.folder import BLUEPRINT, PROBLEM, RunFolder, is_run_folder, read_record
from engiagent.text import Problem
from engiagent.text.problem import PLANT_FILE, PLANT_SUFFIXES

EXPERT = "expert"
REQUIREMENTS = "requirements.yaml"
READING = "reading.json"
PROBLEM_SUFFIXES = (".md", ".txt", *PLANT_SUFFIXES)


def copy_problem(problem: Problem, folder: RunFolder) -> None:
    """Copy a problem, its data and its annotated requirements, so that the folder checks alone.

    Raises
    ------
    InputError
        When a file is gone or leads out of the problem's folder.
    """
    readings = (PLANT_FILE, READING, f"{problem.path.stem}.{READING}")
    beside = [name for name in readings if (problem.folder / name).is_file()]
    for name in dict.fromkeys([problem.path.name, *beside, *problem.data]):
        folder.write(f"{PROBLEM}/{name}", open_inside(problem.folder, name))
    if problem.expert is not None:
        # The reading says to which text the requirements belong, and is read again by rule.
        for name in (REQUIREMENTS, READING, BLUEPRINT):
            if (problem.expert / name).is_file():
                content = open_inside(problem.expert, name)
                folder.write(f"{PROBLEM}/{EXPERT}/{name}", content)


def copy_data(blueprint: Blueprint, source: Path, folder: RunFolder) -> None:
    """Copy the data files that a blueprint names and that are not there yet.

    Raises
    ------
    InputError
        When a file is absent or leads out of ``source``.
    """
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
