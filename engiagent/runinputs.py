"""What a run works from: problems found beside blueprints, and copies that make a folder whole."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.files import open_inside
from engiagent.runfolder import BLUEPRINT, PROBLEM, RunFolder, is_run_folder

if TYPE_CHECKING:
    from engiagent.problems import Problem

EXPERT = "expert"
REQUIREMENTS = f"{EXPERT}/requirements.yaml"
PROBLEM_SUFFIXES = (".md", ".txt")


def copy_problem(problem: "Problem", folder: RunFolder) -> None:
    """Copy a problem, its data and its annotated requirements, so that the folder checks alone.

    Raises
    ------
    InputError
        When a file is gone or leads out of the problem's folder.
    """
    names = [problem.path.name, *problem.data]
    if (problem.folder / REQUIREMENTS).is_file():
        names.append(REQUIREMENTS)
    for name in dict.fromkeys(names):
        folder.write(f"{PROBLEM}/{name}", open_inside(problem.folder, name))


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
    for item in (*blueprint.core.sets, *blueprint.core.parameters):
        if item.data is not None:
            yield item.data.split("#")[0]


def problem_folder_of(blueprint_path: Path) -> Path:
    """Return the folder in which the data files of a blueprint lie."""
    parent = blueprint_path.resolve().parent
    if parent.name == EXPERT:
        return parent.parent
    if blueprint_path.name == BLUEPRINT and is_run_folder(parent) and (parent / PROBLEM).is_dir():
        return parent / PROBLEM
    return parent


def problem_beside(blueprint_path: Path) -> "Problem | None":
    """Return the problem that lies in the folder of a blueprint's data, if one does."""
    file = problem_file_in(problem_folder_of(blueprint_path))
    if file is None:
        return None
    from engiagent.problems import Problem

    return Problem.load(file)


def problem_file_in(folder: Path) -> Path | None:
    """Return the problem file of a folder: ``problem.md`` or ``problem.txt``, or the only text."""
    for suffix in PROBLEM_SUFFIXES:
        if (folder / f"problem{suffix}").is_file():
            return folder / f"problem{suffix}"
    try:
        texts = [p for p in folder.iterdir() if p.suffix in PROBLEM_SUFFIXES and p.is_file()]
    except OSError as error:
        raise EngiagentError(f"cannot look into {folder}: {error.strerror}") from None
    return texts[0] if len(texts) == 1 else None
