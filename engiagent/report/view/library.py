"""What the folder of runs holds, and the way from a name in an address to a file in it."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final

from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import inside_parts, open_inside
from engiagent.run.folder import ARTEFACTS, CERTIFICATE, EXCHANGES, PROBLEM, RECORD
from engiagent.run.listing import MAX_RUNS, RunSummary, run_folders, summarise

MAX_FILE: Final = 60_000_000
MAX_LISTED: Final = 500
_FOLDERS: Final = (PROBLEM, EXCHANGES)
_FILES: Final = (RECORD, *(name for name in ARTEFACTS if name not in _FOLDERS))
_Stamp = tuple[tuple[int, int] | None, ...]


@dataclass
class Library:
    """The runs below a folder; a record is read again only when it has changed."""

    root: Path
    _known: dict[Path, tuple[_Stamp, RunSummary]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def runs(self) -> tuple[RunSummary, ...]:
        """Return every run, the latest first."""
        found: dict[Path, tuple[_Stamp, RunSummary]] = {}
        with self._lock:
            for folder in run_folders(self.root):
                found[folder] = self._summary(folder)
                if len(found) >= MAX_RUNS:
                    break
            self._known = found
        runs = (summary for _, summary in found.values())
        return tuple(sorted(runs, key=lambda run: (run.started or "", run.name), reverse=True))

    def _summary(self, folder: Path) -> tuple[_Stamp, RunSummary]:
        stamp = tuple(_stamp(folder / name) for name in (RECORD, CERTIFICATE))
        known = self._known.get(folder)
        # Whether a process is still there is in no file.
        if known is not None and known[0] == stamp and known[1].state != "running":
            return known
        return stamp, summarise(folder, self.root)

    def run(self, name: str) -> RunSummary:
        """Return the run of a name in the list."""
        inner = "" if name in ("", ".") else f"{name}/"
        try:
            open_inside(self.root, f"{inner}{RECORD}")
        except EngiagentError:
            raise InputError("there is no such run", found=repr(name[:80])) from None
        folder = self.root.joinpath(*inside_parts(name)) if inner else self.root
        return summarise(folder, self.root)

    def files(self, run: RunSummary) -> tuple[str, ...]:
        """Return the paths of what a run left, as :meth:`read` takes them."""
        single = [name for name in _FILES if _is_plain(run.folder / name)]
        return (*single, *(name for top in _FOLDERS for name in _below(run.folder, top)))

    def read(self, run: RunSummary, path: str) -> bytes:
        """Return the content of one of a run's own files."""
        parts = inside_parts(path)
        if not (path in _FILES or (len(parts) > 1 and parts[0] in _FOLDERS)):
            raise InputError("a run has no such file", found=repr(path[:80]))
        return open_inside(run.folder, path, max_bytes=MAX_FILE)


def _below(folder: Path, top: str) -> Iterable[str]:
    """Yield the files below one of a run's folders; links are passed over."""
    found: list[str] = []
    for place, folders, names in os.walk(folder / top):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        inner = Path(place)
        plain = (inner / name for name in sorted(names) if _is_plain(inner / name))
        found += [path.relative_to(folder).as_posix() for path in plain]
        if len(found) >= MAX_LISTED:
            break
    return found[:MAX_LISTED]


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat(follow_symlinks=False)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
