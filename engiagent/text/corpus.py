"""Where problems are found: folders with ``problem.md``, and single files in plain folders."""

from collections.abc import Iterator
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Final

from engiagent.errors import InputError

TEXT_SUFFIXES: Final = (".md", ".txt")
MAX_DEPTH: Final = 12
_NO_PROBLEMS: Final = ("readme", "changelog", "license", "licence", "contributing", "authors")
_SKIPPED: Final = ("expert", "__pycache__", "node_modules")


def corpus_root() -> Path:
    """Return the folder of the problems that come with the package."""
    return Path(str(files("engiagent.problems"))).resolve()


def locate(name: str) -> Path:
    """Return where a problem of the corpus is, by its place in it or by its id.

    >>> locate("battery/merchant_day") == locate("merchant_day")
    True
    """
    root = corpus_root()
    places = {place.relative_to(root).as_posix(): place for place in find_problems(root)}
    ids = {place.name: place for place in places.values()}
    found = places.get(name) or ids.get(name)
    if found is not None:
        return found
    close = get_close_matches(name, [*places, *ids], n=3, cutoff=0.4)
    hint = f"; did you mean {' or '.join(close)}?" if close else ""
    raise InputError(f"there is no problem {name!r}{hint}")


def find_problems(root: Path) -> list[Path]:
    """Return the problems at and below a path, sorted.

    A folder that holds ``problem.md`` is one problem, and nothing below it is looked at; elsewhere
    every ``.md`` and ``.txt`` file is one, but readmes, licences and the like.
    """
    if root.is_file():
        return [root]
    if not root.is_dir():
        raise InputError("no such file or folder", str(root))
    return sorted(_walk(root, 0))


def _walk(folder: Path, depth: int) -> Iterator[Path]:
    if (folder / "problem.md").is_file():
        yield folder
        return
    for inner in folders_in(folder) if depth < MAX_DEPTH else ():
        yield from _walk(inner, depth + 1)
    yield from texts_in(folder)


def folders_in(folder: Path) -> list[Path]:
    """Return the folders in a folder that are looked into, sorted; no hidden ones, no links."""
    return [p for p in _entries(folder) if p.is_dir() and p.name not in _SKIPPED]


def texts_in(folder: Path) -> list[Path]:
    """Return the texts in a folder that can be a problem by their names, sorted."""
    texts = (p for p in _entries(folder) if p.suffix.lower() in TEXT_SUFFIXES and p.is_file())
    return [p for p in texts if not p.stem.lower().startswith(_NO_PROBLEMS)]


def _entries(folder: Path) -> list[Path]:
    found = sorted(folder.iterdir())
    return [p for p in found if not (p.name.startswith((".", "_")) or p.is_symlink())]
