"""What a study has found so far, in a file that survives being cut off anywhere.

One JSON object a line. The first says what the study is; each other one is a solve, under its
key. A line that was cut off while it was written is dropped, and what it said is found again.
"""

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, Final, Self

from engiagent.errors import InputError

NAME: Final = "points.jsonl"
SCHEMA: Final = "engiagent-study-points/2"
OnPoint = Callable[[int, int, Any], None]


class Checkpoint:
    """The lines of a study, on disk and in memory.

    ``folder``: the study's folder, made where there is none; None keeps everything in memory.
    ``asked``: what decides on the result; a folder that holds another study is refused. ``force``:
    begin anew whatever the folder holds. ``on_point``, ``total``: called with the number of solves
    done, of all solves, and what the last one found. Raises InputError when the folder holds
    another study or cannot be written to.
    """

    def __init__(
        self,
        folder: Path | None,
        asked: dict[str, Any],
        *,
        force: bool = False,
        on_point: OnPoint | None = None,
        total: int = 0,
    ) -> None:
        self._on_point, self._total = on_point, total
        self._records: dict[str, Any] = {}
        self._stream: IO[bytes] | None = None
        self._head = {"schema": SCHEMA, **asked}
        if folder is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open(folder / NAME, force)
        except OSError as error:
            raise InputError(f"cannot keep the study: {error.strerror}", str(folder)) from None

    def _open(self, path: Path, force: bool) -> None:
        whole = b"" if force or not path.exists() else self._read(path)
        self._stream = path.open("r+b" if whole else "wb")
        self._stream.truncate(len(whole))
        self._stream.seek(len(whole))
        if not whole:
            self._line(self._head)

    def _read(self, path: Path) -> bytes:
        """Take over the whole lines of a file and return them."""
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines()):
            try:
                item = json.loads(line)
            except ValueError:
                raise InputError(
                    "this line is no JSON",
                    str(path),
                    number + 1,
                    expected="--force, or another --out",
                ) from None
            if number == 0 and item != json.loads(json.dumps(self._head)):
                raise InputError(
                    "the folder holds another study",
                    str(path),
                    found=_difference(item, self._head),
                    expected="the same request and inputs, --force, or another --out",
                )
            if number > 0:
                self._records[item["key"]] = item["found"]
        return whole

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: str) -> Any:
        """Return what was found under a key; None when it was not yet."""
        return self._records.get(key)

    def put(self, key: str, found: Any) -> None:
        """Keep what was found; it is on the disk when this returns."""
        self._records[key] = found
        self._line({"key": key, "found": found})
        if self._on_point is not None:
            self._on_point(len(self), self._total, found)

    def chain(self, keys: Sequence[str], start: Callable[[], Callable[[str], Any]]) -> None:
        """Find what belongs under keys, each solve beginning where the one before ended.

        A chain of which one is not known yet is solved from its beginning, so that each point
        has the same ones before it wherever a study was cut off.
        """
        if all(key in self._records for key in keys):
            return
        find = start()
        for key in keys:
            found = find(key)
            if key not in self._records:
                self.put(key, found)

    def _line(self, item: dict[str, Any]) -> None:
        if self._stream is not None:
            text = json.dumps(item, allow_nan=False, ensure_ascii=False)
            self._stream.write(text.encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.close()


def _difference(found: Any, head: dict[str, Any]) -> str:
    if not isinstance(found, dict):
        return "another kind of file"
    names = [name for name in (*head, *found) if found.get(name) != head.get(name)]
    return f"another {', '.join(dict.fromkeys(names))}"
