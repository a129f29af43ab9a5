"""Exchanges kept on disk, and answered again from there.

Every exchange is a JSON file of the run's folder ``exchanges/``, numbered in order, with the hash
of its request. The same request is answered from a kept exchange, and nobody is asked; its tokens
count as they did. A fault that may pass (no connection) is asked again. Neither key nor headers are
part of what is kept.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engiagent.agents.engines.exchange import Exchange, Reply, Request
from engiagent.agents.protocol import Fault
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical, loads_strict

SCHEMA: Final = "engiagent-exchange/1"
FOLDER: Final = "exchanges"
_PASSING: Final = "engine-unreachable"


Kept = tuple[str, Reply]
"""An exchange on disk: the key of its request, and what came back."""


@dataclass
class Recorder:
    """Keeps what an exchange carries, and answers from what was kept, each once."""

    # who carries what was not kept; None to answer from what was kept alone
    exchange: Exchange | None
    folder: Path
    kept: list[Kept] = field(default_factory=list)
    # whether what was answered from it is written again: not in the folder that it is in
    copies: bool = True
    replayed: int = 0  # how many were
    _count: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        numbers = [int(p.stem) for p in self.folder.glob("*.json") if p.stem.isdecimal()]
        self._count = max(numbers, default=0)

    def send(self, request: Request, seconds: float | None = None) -> Reply:
        """Return the kept reply to a request, else have it carried and keep it."""
        known = self._known(request.key)
        if known is not None:
            self.replayed += 1
            if self.copies:
                self._keep(request, known, replayed=True)
            return known
        if self.exchange is None:
            said = f"no recorded exchange answers this request ({request.label})"
            return Reply("", fault=Fault(_PASSING, said))
        # The request is on disk before it goes out: a run that is cut shows what it waited for.
        self._keep(request, None)
        reply = self.exchange.send(request, seconds)
        self._count -= 1
        self._keep(request, reply)
        return reply

    def _known(self, key: str) -> Reply | None:
        place = next((n for n, (known, _) in enumerate(self.kept) if known == key), None)
        return None if place is None else self.kept.pop(place)[1]

    def _keep(self, request: Request, reply: Reply | None, *, replayed: bool = False) -> None:
        self._count += 1
        document = {
            "schema": SCHEMA,
            "number": self._count,
            "key": request.key,
            "replayed": replayed,
            "request": request.to_dict(),
            "reply": None if reply is None else reply.to_dict(),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        text = dumps_canonical(document).encode("utf-8", errors="replace")
        write_atomic(self.folder / f"{self._count:04d}.json", text)


def kept_exchanges(run: Path) -> list[Kept]:
    """Return the answered exchanges of a run folder, in order."""
    paths = sorted((run / FOLDER).glob("*.json")) if (run / FOLDER).is_dir() else ()
    return [found for path in paths if (found := _read(path)) is not None]


def _read(path: Path) -> Kept | None:
    try:
        found = loads_strict(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the exchange: {error}", str(path)) from None
    if not (isinstance(found, dict) and found.get("schema") == SCHEMA):
        raise InputError("this is no exchange", str(path), expected=f'schema "{SCHEMA}"')
    try:
        reply = None if found["reply"] is None else Reply.from_dict(found["reply"])
        key = str(found["key"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"this is no exchange: {error}", str(path)) from None
    passing = reply is None or (reply.fault is not None and reply.fault.kind == _PASSING)
    return None if reply is None or passing else (key, reply)
