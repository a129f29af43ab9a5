"""What several tools share: paths below the session's folder, and schemas of answers."""

import csv
import io
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from engiagent.errors import InputError
from engiagent.io.files import inside_parts, write_atomic
from engiagent.io.schemawords import Json, maybe
from engiagent.tools.registry import shape


def inside(root: Path, relative: str) -> Path:
    """Return a path below a folder."""
    path = below(root, relative)
    if not path.exists():
        raise InputError("there is no such file or folder", relative)
    return path


def below(root: Path, relative: str) -> Path:
    """Return a path below a folder at which something may be made."""
    path = root.joinpath(*inside_parts(relative))
    if not path.resolve().is_relative_to(root.resolve()):
        raise InputError("the path leads out of the session's folder", found=repr(relative))
    return path


@contextmanager
def new_folder(root: Path, relative: str) -> Iterator[Path]:
    """Yield a folder to be filled that becomes one below ``root`` when nothing fails."""
    target, taken = below(root, relative), "there is such a folder already"
    if target.exists():
        raise InputError(taken, relative, expected="a new one")
    target.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        yield made
        made.chmod(0o755)
        try:
            made.rename(target)
        except OSError:  # another session was faster
            raise InputError(taken, relative, expected="a new one") from None
    finally:
        shutil.rmtree(made, ignore_errors=True)


def files_below(root: Path, relative: str) -> tuple[str, ...]:
    """Return the files of a folder below ``root``, by their paths from there."""
    found = (path for path in (root / relative).rglob("*") if path.is_file())
    return tuple(sorted(path.relative_to(root).as_posix() for path in found))


def write_new(root: Path, file: str, text: str) -> str:
    """Write a new file below a folder and return its path."""
    path = below(root, file)
    if path.exists():
        raise InputError("there is such a file already", file, expected="a new one")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text)
    return path.relative_to(root).as_posix()


def write_rows(root: Path, file: str, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a new CSV file below a folder and return its path."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([head, *rows])
    return write_new(root, file, text.getvalue())


WORDS: Final[dict[str, Json]] = {
    "objective": maybe(
        shape("value?: number or null; unit?: text or null; sense?: text or null", more=True)
    ),
    "elements": shape(
        "kind: one of programme, definitions; sets parameters decision_variables: list of text; "
        "components: by name text; constraints: list of text"
    ),
}
"""What several answers hold: an objective, and the names of what a blueprint holds."""
CHANGED: Final = shape("blueprint: text; elements: elements", WORDS)
