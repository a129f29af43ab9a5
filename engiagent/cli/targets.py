"""What there is to check below a folder: runs, problems, plants, blueprints and schedules."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from engiagent.blueprint.document import Blueprint
from engiagent.run.folder import BLUEPRINT, CERTIFICATE, LOOP, is_run_folder
from engiagent.run.inputs import EXPERT
from engiagent.text.corpus import MAX_DEPTH, folders_in, texts_in
from engiagent.text.problem import PLANT_FILE, PLANT_MARK, PLANT_SUFFIXES

SCHEDULES: Final = (".csv", ".tsv", ".json", ".nc", ".parquet", ".xlsx")
_PROBLEMS: Final = ("problem.md", "problem.txt", PLANT_FILE)
_STARTS: Final = ("---\n", "---\r\n", "\ufeff---")
_BLOCK: Final = "yaml engiagent"
_MARK: Final = re.compile(r'"schema"\s*:\s*"engiagent-blueprint/')

Kind = Literal["run", "loop", "problem", "blueprint", "schedule", "page"]


@dataclass(frozen=True)
class Target:
    """One thing to check; ``schedule`` is what somebody planned for it.

    A ``schedule`` alone has nothing beside it to be held against, and a ``page`` is a text that
    poses no problem.
    """

    path: Path
    kind: Kind
    schedule: Path | None = None


def targets_below(folder: Path) -> list[Target]:
    """Return all that a folder holds, in the order of the paths; hidden folders are left out."""
    return sorted(_walk(folder, 0), key=lambda t: (t.path, str(t.schedule or "")))


def targets_of(folder: Path) -> list[Target] | None:
    """Return what one problem's folder asks for; None when it is no problem's."""
    if not any((folder / name).is_file() for name in _PROBLEMS):
        return None
    planned = [Target(folder, "problem", schedule) for schedule in _schedules(folder)]
    whole = [] if planned and not (folder / EXPERT).is_dir() else [Target(folder, "problem")]
    return [*whole, *planned]


def _walk(folder: Path, depth: int) -> Iterator[Target]:
    if is_run_folder(folder):
        yield Target(folder, "run")
        return
    if is_certified_loop(folder):
        yield Target(folder, "loop")
        return
    own, plants = targets_of(folder), plants_in(folder)
    yield from own if own is not None else _loose(folder, plants)
    yield from (Target(plant, "problem") for plant in plants)
    for inner in folders_in(folder) if depth < MAX_DEPTH else ():
        yield from _walk(inner, depth + 1)


def is_certified_loop(folder: Path) -> bool:
    """Whether a folder holds a closed loop with the certificate of its plans."""
    return all((folder / name).is_file() for name in (LOOP, CERTIFICATE))


def plants_in(folder: Path) -> list[Path]:
    """Return the plant files of a folder that bear names of their own, as ``bakery.yaml``."""
    found = (p for p in sorted(folder.iterdir()) if p.suffix.lower() in PLANT_SUFFIXES)
    named = [p for p in found if p.name != PLANT_FILE and p.is_file()]
    return [p for p in named if PLANT_MARK.search(p.read_text("utf-8", errors="replace"))]


def _loose(folder: Path, plants: Sequence[Path]) -> Iterator[Target]:
    """Yield texts that stand alone, and a blueprint with the schedules beside it."""
    texts = texts_in(folder)
    posed = [text for text in texts if _poses(text)]
    yield from (Target(text, "problem" if text in posed else "page") for text in texts)
    blueprints = [path for path in sorted(folder.iterdir()) if says_blueprint(path)]
    named = [path for path in blueprints if path.stem == Path(BLUEPRINT).stem]
    stated = named[:1] or [*blueprints, *posed, *plants]
    owner = stated[0] if len(stated) == 1 else None
    schedules = _schedules(folder)
    for schedule in schedules:
        if owner is None:
            yield Target(schedule, "schedule")
        else:
            yield Target(owner, "blueprint" if owner in blueprints else "problem", schedule)
    alone = (path for path in blueprints if path != owner or not schedules)
    yield from (Target(path, "blueprint") for path in alone)


def says_blueprint(path: Path) -> bool:
    """Whether a file says of itself, by its name or its schema, that it is a blueprint."""
    if not (path.is_file() and Blueprint.is_in(path)):
        return False
    if path.suffix.lower() != ".json" or f".{path.name}".endswith(".blueprint.json"):
        return True
    with path.open(encoding="utf-8", errors="replace") as stream:
        return _MARK.search(stream.read(4096)) is not None


def _schedules(folder: Path) -> list[Path]:
    return [f for f in sorted(folder.glob("schedule*")) if f.is_file() and f.suffix in SCHEDULES]


def _poses(text: Path) -> bool:
    """Whether a text says of itself that it is a problem: by front matter or a plant block."""
    content = text.read_text("utf-8", errors="replace")
    return content.startswith(_STARTS) or _BLOCK in content
