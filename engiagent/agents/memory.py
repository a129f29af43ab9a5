"""What runs learnt: which agent mended which kind of fault, how often, and by what repair.

One SQLite file, in the user's state folder unless a path is given. Every statement is a
transaction of its own, so that runs at the same time share a file; a locked one waits.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engiagent.errors import InputError

BUSY_SECONDS: Final = 20.0
PRIOR_WEIGHT: Final = 4.0
"""How many attempts the taxonomy's own estimate counts for."""
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS attempts (id INTEGER PRIMARY KEY, "
    "at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, run TEXT NOT NULL, engine TEXT NOT NULL, "
    "agent TEXT NOT NULL, kind TEXT NOT NULL, signature TEXT NOT NULL, mended INTEGER NOT NULL, "
    "strategy TEXT NOT NULL, repair TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS by_kind ON attempts (engine, kind, agent)",
    "CREATE INDEX IF NOT EXISTS by_signature ON attempts (signature, mended)",
)


@dataclass(frozen=True)
class Memory:
    """A file of attempts; success rates are those of one engine."""

    path: Path
    run: str = ""
    engine: str = "offline"

    def estimate(self, agent: str, kind: str, prior: float) -> float:
        """Return how likely an agent mends: the mean of a beta distribution from the prior on."""
        query = (
            "SELECT count(*), coalesce(sum(mended), 0) FROM attempts "
            "WHERE engine = ? AND kind = ? AND agent = ?"
        )
        with self._open() as connection:
            attempts, mended = connection.execute(query, (self.engine, kind, agent)).fetchone()
        return float((prior * PRIOR_WEIGHT + mended) / (PRIOR_WEIGHT + attempts))

    def lessons(self, signature: str, most: int = 3) -> tuple[str, ...]:
        """Return repairs that mended the same mistake before, the newest first."""
        query = (
            "SELECT repair FROM attempts WHERE signature = ? AND mended = 1 AND repair <> '' "
            "GROUP BY repair ORDER BY max(id) DESC LIMIT ?"
        )
        with self._open() as connection:
            return tuple(str(r[0]) for r in connection.execute(query, (signature, most)))

    def learn(
        self, agent: str, kind: str, signature: str, mended: bool, strategy: str, repair: str
    ) -> None:
        """Remember an attempt."""
        row = (self.run, self.engine, agent, kind, signature, int(mended), strategy, repair[:4000])
        query = (
            "INSERT INTO attempts (run, engine, agent, kind, signature, mended, strategy, repair) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
        )
        with self._open() as connection:
            connection.execute(query, row)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            opened = sqlite3.connect(self.path, timeout=BUSY_SECONDS)
            with closing(opened) as connection, connection:
                for statement in _TABLES:
                    connection.execute(statement)
                yield connection
        except (sqlite3.Error, OSError) as error:
            raise InputError(f"the memory cannot be used: {error}", str(self.path)) from None


def default_path() -> Path:
    """Return where the memory lies: ``ENGIAGENT_MEMORY``, else the user's state folder."""
    given = os.environ.get("ENGIAGENT_MEMORY")
    if given:
        return Path(given)
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "engiagent" / "memory.sqlite"
