"""What goes to a language model and what comes back, whoever carries it.

A :class:`Request` is plain data, so that it can be printed, hashed, kept and answered again from
what was kept. How a server is reached is an :class:`Exchange`'s business.
"""

import json
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from hashlib import sha256
from typing import Any, Final, Literal, Protocol

from engiagent.agents.protocol import Fault

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
        return estimated_tokens("".join(texts))

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "label": self.label,
            "model": self.model,
            "effort": self.effort,
            "max_tokens": self.max_tokens,
            "system": list(self.system),
            "turns": [{"role": t.role, "text": t.text} for t in self.turns],
            "schema": self.schema,
        }


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text has."""
    return round(len(text) / CHARACTERS_PER_TOKEN)


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
    """What came back: what the model wrote, and the tokens of all attempts.

    ``model`` is who says that it answered, ``fault`` why the text is no answer.
    """

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
        """Return the reply; a fault instead of an exception for what a server or a model did.

        ``seconds`` is how long there is at most.
        """
        ...
