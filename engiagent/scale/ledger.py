"""What is done already: a SQLite file of values by the hash of their inputs."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

from engiagent.errors import InputError
from engiagent.io.jsontext import loads_strict

_BEGIN: Final = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=NORMAL",  # a power cut may take the last values, which are found again
    "CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, value) WITHOUT ROWID",
    "SELECT key, value FROM runs LIMIT 1",
)


class Ledger:
    """Values, as JSON has them, that a run cut off anywhere need not find again."""

    def __init__(self, path: Path) -> None:
        import sqlite3  # here, since help and short commands are quicker without it

        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path, isolation_level=None)
            for text in _BEGIN:
                self._base.execute(text)
        except (OSError, sqlite3.Error) as error:
            text, expected = f"cannot use the ledger: {error}", "a ledger, or a path for a new one"
            raise InputError(text, str(path), expected=expected) from None

    @staticmethod
    def key(*inputs: Any) -> str:
        """Return the hash of inputs that JSON has."""
        return sha256(json.dumps(inputs, allow_nan=False).encode()).hexdigest()

    def get(self, key: str) -> Any:
        """Return the value under a key, None where there is none; InputError when it is broken."""
        row = self._base.execute("SELECT value FROM runs WHERE key = ?", (key,)).fetchone()
        return None if row is None else loads_strict(str(row[0]), str(self._path))

    def put(self, key: str, value: Any) -> None:
        """Store a value."""
        text = json.dumps(value, allow_nan=False)
        self._base.execute("INSERT OR REPLACE INTO runs VALUES (?, ?)", (key, text))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()
