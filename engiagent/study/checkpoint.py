"""What a study has found so far, in a file that survives being cut off anywhere.

One JSON object a line. The first says what the study is; each other one is a solve, under its
key. A line that was cut off while it was written is dropped, and what it said is found again.
"""

import json
import os
from collections.abc import Callable
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
        if folder is None:
            return
        path, head = folder / NAME, {"schema": SCHEMA, **asked}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            whole = b"" if force or not path.exists() else self._read(path, head)
            self._stream = path.open("r+b" if whole else "wb")
            self._stream.truncate(len(whole))
            self._stream.seek(len(whole))
            if not whole:
                self._line(head)
        except OSError as error:
            raise InputError(f"cannot store the study: {error.strerror}", str(folder)) from None

    def _read(self, path: Path, head: dict[str, Any]) -> bytes:
        """Take over the whole lines of a file and return them."""
        content = path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        anew = "--force, or another --out"
        for number, line in enumerate(whole.splitlines(), 1):
            try:
                item = json.loads(line)
            except ValueError:
                text = "this line is no JSON"
                raise InputError(text, str(path), number, expected=anew) from None
            if number > 1:
                self._records[item["key"]] = item["found"]
            elif item != json.loads(json.dumps(head)):
                known = item if isinstance(item, dict) else {}
                names = [name for name in {**head, **known} if known.get(name) != head.get(name)]
                raise InputError(
                    "the folder holds another study",
                    str(path),
                    found=f"another {', '.join(names)}",
                    expected=f"the same request and inputs, {anew}",
                )
        return whole

    def found(self, key: str, find: Callable[..., Any], *arguments: Any) -> Any:
        """Return what is stored under a key; else find it and store it, on the disk at once."""
        if key not in self._records:
            self._records[key] = find(*arguments)
            self._line({"key": key, "found": self._records[key]})
            if self._on_point is not None:
                self._on_point(len(self._records), self._total, self._records[key])
        return self._records[key]

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
