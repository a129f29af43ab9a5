"""What is done already: a SQLite file of values by the hash of their inputs."""

import sqlite3
import time
from pathlib import Path
from typing import Final, Self

from engiagent.errors import InputError

SCHEMA: Final = "engiagent-ledger/1"
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS about (schema TEXT PRIMARY KEY);
CREATE TABLE IF NOT EXISTS runs (key TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""


class Ledger:
    """Values that a run cut off anywhere need not find again.

    Only values are stored; what failed is tried again by the next run.
    """

    INTERVAL: Final = 0.2
    """Seconds of values that a power cut may take."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = sqlite3.connect(path)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=NORMAL")
            self._base.executescript(_TABLES)
            self._base.execute("INSERT OR IGNORE INTO about VALUES (?)", (SCHEMA,))
            found = [row[0] for row in self._base.execute("SELECT schema FROM about")]
            self._base.commit()
        except (OSError, sqlite3.Error) as error:
            expected = "a ledger of engiagent, or a path for a new one"
            raise InputError(f"cannot use the ledger: {error}", str(path), expected=expected) from (
                None
            )
        if found != [SCHEMA]:
            raise InputError("another kind of ledger", str(path), found=str(found), expected=SCHEMA)
        self._stored = time.monotonic()

    def get(self, key: str) -> bytes | None:
        """Return the value under a key, None where there is none."""
        row = self._base.execute("SELECT value FROM runs WHERE key = ?", (key,)).fetchone()
        return None if row is None else bytes(row[0])

    def put(self, key: str, value: bytes) -> None:
        """Store a value, on the disk within :attr:`INTERVAL`."""
        self._base.execute("INSERT OR REPLACE INTO runs VALUES (?, ?)", (key, value))
        if time.monotonic() - self._stored > self.INTERVAL:
            self._base.commit()
            self._stored = time.monotonic()

    def __len__(self) -> int:
        return int(self._base.execute("SELECT count(*) FROM runs").fetchone()[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.commit()
        self._base.close()
