"""What goes to a language model and what comes back, whoever carries it, and stored on disk.

A :class:`Request` is plain data, so that it can be printed, hashed, stored and answered again. How
a server is reached is an :class:`Exchange`'s business. Every exchange of a run is a JSON file of
its folder ``exchanges/``, numbered in order, with the hash of its request. The same request is
answered from there, and no model is asked; its tokens count as they did. A fault that may pass (no
connection) is asked again. Neither key nor headers are part of what is stored.
"""

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from engiagent.agents.protocol import Fault
from engiagent.errors import InputError
from engiagent.io.files import write_atomic
from engiagent.io.jsontext import dumps_canonical, loads_strict

CHARACTERS_PER_TOKEN: Final = 4.0
"""For estimates without anybody's tokenizer."""

Role = Literal["user", "assistant"]


@dataclass(frozen=True)
class Turn:
    """One message of the conversation."""

    role: Role
    text: str


@dataclass(frozen=True, kw_only=True)
class Request:
    """What is asked of a model."""

    label: str  # agent and kind of question, for people; no part of the key
    model: str
    effort: str
    max_tokens: int
    # blocks that come before the conversation, the most stable first, so that a server can keep
    # what it read of them
    system: tuple[str, ...]
    turns: tuple[Turn, ...]
    schema: Mapping[str, Any]  # of the answer, in the form that goes over the wire
    # the random mark around the problem's words; two requests that differ in it alone are one
    boundary: str = ""

    @property
    def key(self) -> str:
        """The request's hash: the same question to the same model has the same one.

        How long the answer may be is left out, as what is left of a budget decides on it.
        """
        parts = {
            "model": self.model,
            "effort": self.effort,
            "schema": self.schema,
            "system": self.system,
            "turns": [[t.role, t.text] for t in self.turns],
        }
        text = json.dumps(parts, sort_keys=True, ensure_ascii=False)
        if self.boundary:
            text = text.replace(self.boundary, "boundary")
        return sha256(text.encode("utf-8", errors="replace")).hexdigest()

    @property
    def estimated_tokens(self) -> int:
        """About how many tokens go in, the schema included."""
        texts = [*self.system, *(turn.text for turn in self.turns), json.dumps(self.schema)]
        return round(len("".join(texts)) / CHARACTERS_PER_TOKEN)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        known = {name: value for name, value in vars(self).items() if name != "boundary"}
        return {**known, "turns": [dict(vars(turn)) for turn in self.turns]}


@dataclass(frozen=True)
class Tokens:
    """What a server counted: tokens read anew, read from its cache, put there, and written."""

    fresh: int = 0
    cached: int = 0
    kept: int = 0
    out: int = 0

    def __add__(self, other: "Tokens") -> "Tokens":
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Tokens(*(one + two for one, two in pairs))


@dataclass(frozen=True)
class Reply:
    """What came back: the text, the tokens of all attempts, who answered, or the fault."""

    text: str
    tokens: Tokens = field(default_factory=Tokens)
    model: str = ""
    fault: Fault | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        fault = self.fault
        return {
            "text": self.text,
            "model": self.model,
            "tokens": dict(vars(self.tokens)),
            "fault": None if fault is None else {"kind": fault.kind, "message": fault.message},
        }

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "Reply":
        """Return a reply from its JSON."""
        fault = value["fault"]
        return cls(
            str(value["text"]),
            Tokens(**{name: int(value["tokens"][name]) for name in vars(Tokens())}),
            str(value["model"]),
            None if fault is None else Fault(str(fault["kind"]), str(fault["message"])),
        )


class Exchange(Protocol):
    """Who carries requests to a model."""

    def send(self, request: Request, seconds: float | None = None) -> Reply:
        """Return the reply within some seconds; a fault for what a server or a model did."""
        ...


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
    _count: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        numbers = [int(p.stem) for p in self.folder.glob("*.json") if p.stem.isdecimal()]
        self._count = max(numbers, default=0)

    def send(self, request: Request, seconds: float | None = None) -> Reply:
        """Return the kept reply to a request, else have it carried and keep it."""
        known = self._known(request.key)
        if known is not None:
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
