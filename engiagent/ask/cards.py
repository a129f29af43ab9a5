"""Specialists as cards: who may call which tools, and how one is hired when nobody may.

A card is data (``cards/<id>.yaml``). A card that is proposed for a question is held to a ceiling of
rights: tools that read, and tools that write into the session's own workspace and replace nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Final

from jsonschema import Draft202012Validator

from engiagent.errors import InputError
from engiagent.io.files import packaged_yaml
from engiagent.io.schemawords import TEXT, TEXTS, record
from engiagent.tools.registry import Json, Tool, groups, tools

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
_NAME: Final[Json] = {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,39}$"}
SCHEMA: Final[Json] = record(
    {
        "id": _NAME,
        "role": {"type": "string", "minLength": 1},
        "scope": TEXT,
        "groups": TEXTS,
        "tools": TEXTS,
        "model": TEXT,
        "effort": {"enum": list(EFFORTS)},
        "tasks": TEXTS,
        "constraints": TEXTS,
    }
)
"""Of a card."""


@dataclass(frozen=True)
class Card:
    """A specialist: what it is for, and the tools that it may call, by group or by name."""

    id: str
    role: str
    scope: str
    groups: tuple[str, ...]
    tools: tuple[str, ...]
    model: str
    effort: str
    tasks: tuple[str, ...]
    constraints: tuple[str, ...]

    def may_call(self, tool: Tool) -> bool:
        """Whether a tool is authorised."""
        return tool.group in self.groups or tool.name in self.tools

    def authorised(self) -> tuple[Tool, ...]:
        """Return the tools that it may call, by name."""
        return tuple(tool for tool in tools().values() if self.may_call(tool))


def read_card(entry: Any, file: str) -> Card:
    """Return the card that a mapping is; refuse what the schema or the registry does not know."""
    error = next(Draft202012Validator(SCHEMA).iter_errors(entry), None)
    if error is not None:
        raise InputError(f"{error.json_path}: {error.message[:200]}", file)
    known = tools()
    asked = (("tool", entry["tools"], known), ("group", entry["groups"], groups()))
    for what, names, there in asked:
        for name in names:
            if name not in there:
                said = f"there is no {what} {name!r}"
                raise InputError(said, file, expected=", ".join(sorted(there)))
    lists = {k: tuple(v) for k, v in entry.items() if isinstance(v, list)}
    return Card(**{**entry, **lists})


@cache
def packaged() -> Mapping[str, Card]:
    """Return the cards of the package by their ids."""
    folder = files("engiagent.ask") / "cards"
    names = sorted(item.name for item in folder.iterdir() if item.name.endswith(".yaml"))
    cards = (read_card(packaged_yaml("engiagent.ask", f"cards/{name}"), name) for name in names)
    return {card.id: card for card in cards}


@dataclass
class Staff:
    """The specialists of one question; those hired for it are in ``hired``.

    ``without`` are groups of tools that no one may call and no model is shown.
    """

    cards: dict[str, Card] = field(default_factory=lambda: dict(packaged()))
    hired: list[Json] = field(default_factory=list)
    without: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        odd = self.without - groups().keys()
        if odd:
            said = f"there is no group of tools {min(odd)!r}"
            raise InputError(said, expected=", ".join(groups()))
        for name, card in self.cards.items():
            left = tuple(group for group in card.groups if group not in self.without)
            self.cards[name] = replace(card, groups=left)

    @property
    def tools(self) -> Mapping[str, Tool]:
        """The tools that may be planned, by name."""
        return {name: t for name, t in tools().items() if t.group not in self.without}

    def refusal(self, agent: str, tool: str) -> str | None:
        """Return why an agent may not call a tool; None when it may."""
        known = self.tools
        if tool not in known:
            return f"there is no tool {tool!r}"
        if agent not in self.cards:
            return f"there is no agent {agent!r}; there are {', '.join(self.cards)}"
        if self.cards[agent].may_call(known[tool]):
            return None
        who = [card.id for card in self.cards.values() if card.may_call(known[tool])]
        return f"{agent} is not authorised to call {tool}; {' or '.join(who) or 'no card'} is"

    def hire(self, proposals: Sequence[Json]) -> None:
        """Add proposed cards, or widen those that are there, within the ceiling of rights.

        A proposal has ``id``, ``role`` and ``tools``; what else a card needs is a specialist's.
        """
        for proposal in proposals:
            before = self.cards.get(proposal["id"])
            above = [name for name in proposal["tools"] if above_ceiling(name)]
            if above:
                raise InputError(
                    f"no card may be given {above[0]}",
                    found=above_ceiling(above[0]),
                    expected="tools that read, or write into the session's workspace only",
                )
            entry = {**_as_entry(before), **{k: v for k, v in proposal.items() if k != "tools"}}
            names = dict.fromkeys([*entry["tools"], *proposal["tools"]])
            card = read_card({**entry, "tools": list(names)}, "proposed card")
            self.cards[card.id] = card
            self.hired = [entry for entry in self.hired if entry["id"] != card.id]
            self.hired.append({"widened": before is not None, **_as_entry(card)})


def above_ceiling(name: str) -> str | None:
    """Return why a tool may not be given to a card that is proposed; None when it may."""
    tool = tools().get(name)
    if tool is None or tool.access == "read":
        return None
    reasons = {"it may replace files": tool.destructive, "it reaches outside": tool.open_world}
    return next((reason for reason, holds in reasons.items() if holds), None)


def _as_entry(card: Card | None) -> Json:
    if card is None:
        blank: Json = {name: [] for name in ("groups", "tools", "tasks", "constraints")}
        return {**blank, "scope": "", "model": "claude-haiku-5-5", "effort": "low"}
    return {k: list(v) if isinstance(v, tuple) else v for k, v in vars(card).items()}
