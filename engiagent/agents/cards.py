"""The agents' cards: who an agent is, what it may use, and which model answers for it.

A card is data (``cards/<agent>.yaml``). It is checked when it is read, and what is wrong with it is
said with file, line and column.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

from engiagent.agents.protocol import AGENTS
from engiagent.errors import InputError

EFFORTS: Final = ("low", "medium", "high", "xhigh", "max")
TOOLS: Final = (
    "ask",
    "run_script",
    "write_blueprint",
    "patch_blueprint",
    "lint",
    "compile",
    "solve",
    "check",
)
"""What an agent's code may do: ask the engine, run a script in the sandbox, and tools of the
registry by their names."""
MOST_TOKENS: Final = 128_000
NAMES: Final = (*AGENTS, "coordinator")
_FIELDS: Final = ("role", "capabilities", "tools", "model", "effort", "max_tokens", "constraints")


@dataclass(frozen=True)
class Card:
    """What an agent is: its role, what it can be asked for, and what it must never do.

    ``model``, ``effort`` and ``max_tokens`` say who answers for it, how thoroughly, and at what
    length at most; an agent without the tool ``ask`` never asks an engine.
    """

    name: str
    role: str
    capabilities: tuple[str, ...]
    tools: tuple[str, ...]
    model: str
    effort: str
    max_tokens: int
    constraints: tuple[str, ...]


@cache
def cards() -> Mapping[str, Card]:
    """Return every agent's card by its name."""
    folder = files("engiagent.agents") / "cards"
    return {
        name: read_card(name, folder.joinpath(f"{name}.yaml").read_text("utf-8"), f"{name}.yaml")
        for name in NAMES
    }


def read_card(name: str, text: str, file: str) -> Card:
    """Return the card that a YAML text is."""
    entry = _mapping(text, file)
    for field in entry:
        if field not in _FIELDS:
            raise _wrong(entry, field, file, "an unknown field", ", ".join(_FIELDS))
    for field in _FIELDS:
        if field not in entry:
            raise InputError(f"the field '{field}' is not there", file, expected=", ".join(_FIELDS))
    for field in ("role", "model"):
        if not isinstance(entry[field], str) or not entry[field].strip():
            raise _wrong(entry, field, file, f"'{field}' is no text", "a text")
    if entry["effort"] not in EFFORTS:
        raise _wrong(entry, "effort", file, "no such effort", ", ".join(EFFORTS))
    tokens = entry["max_tokens"]
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 1 <= tokens <= MOST_TOKENS:
        raise _wrong(entry, "max_tokens", file, "no number of tokens", f"1 to {MOST_TOKENS}")
    tools = _texts(entry, "tools", file)
    for tool in tools:
        if tool not in TOOLS:
            raise _wrong(entry, "tools", file, f"no such tool: {tool!r}", ", ".join(TOOLS))
    return Card(
        name,
        entry["role"].strip(),
        _texts(entry, "capabilities", file),
        tools,
        entry["model"].strip(),
        entry["effort"],
        tokens,
        _texts(entry, "constraints", file),
    )


def _mapping(text: str, file: str) -> Any:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    try:
        entry = YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark
        place = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        raise InputError(f"no valid YAML: {error.problem}", file, *place) from None
    if not isinstance(entry, Mapping):
        raise InputError("a card is a mapping", file, expected=", ".join(_FIELDS))
    return entry


def _texts(entry: Any, field: str, file: str) -> tuple[str, ...]:
    value = entry[field]
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(str(item) for item in value)
    raise _wrong(entry, field, file, f"'{field}' is no list of texts", "a list of texts")


def _wrong(entry: Any, field: str, file: str, message: str, expected: str) -> InputError:
    """Return the error for a field, with the place of its value."""
    known = field in _FIELDS
    line, column = entry.lc.value(field) if known else entry.lc.key(field)
    found = entry[field] if known else field
    return InputError(message, file, line + 1, column + 1, found=repr(found), expected=expected)
