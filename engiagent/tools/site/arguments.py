"""Tables of arguments, a file ``arguments.txt`` a pack, whose head says what a line means."""

import re
from functools import cache
from importlib.resources import files
from typing import Final

from engiagent.io.schemawords import FLAG, Json
from engiagent.tools.registry import Argument

ID: Final[Json] = {"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]*$", "maxLength": 60}
_TEXT: Final[Json] = {"type": "string", "minLength": 1, "maxLength": 200}
_PAIR: Final[Json] = {"type": "string", "pattern": r"^\w+ ?=.+$"}
_ENTRY: Final[Json] = {"type": "string", "pattern": r"^[\w.-]+ ?= ?.+$"}
_DATE: Final = r"^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?)?$"
_SEVERAL: Final[Json] = {"type": "array", "minItems": 1, "maxItems": 200}
_KINDS: Final[dict[str, Json]] = {
    "id": ID,
    "ids": {**_SEVERAL, "items": ID},
    "text": _TEXT,
    "texts": {**_SEVERAL, "items": _TEXT},
    "pairs": {**_SEVERAL, "items": _PAIR},
    "entries": {**_SEVERAL, "items": _ENTRY},
    "flag": FLAG,
    "date": {"type": "string", "pattern": _DATE},
}
_LINE: Final = re.compile(r"(\w+)(!?): (\S+)(?: (>?)([-\d.]*?)\.\.(\d*))?; (.+)")


@cache
def _blocks(pack: str) -> dict[str, str]:
    text = files(f"engiagent.tools.{pack}").joinpath("arguments.txt").read_text("utf-8")
    parts = (part.partition("\n") for part in text.split("\n== ")[1:])
    return {name: lines for name, _, lines in parts}


def stated(*blocks: str, pack: str = "site") -> tuple[Argument, ...]:
    """Return the arguments of some blocks of a pack's table."""
    lines = (line for block in blocks for line in _blocks(pack)[block].splitlines() if line)
    return tuple(map(_argument, lines))


def _argument(line: str) -> Argument:
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"no argument: {line}")
    name, need, kind, above, least, most, about = found.groups()
    limits: Json = {"exclusiveMinimum" if above else "minimum": float(least)} if least else {}
    limits |= {"maximum": float(most)} if most else {}
    if "|" in kind:
        return Argument(name, {"enum": kind.split("|")}, about, required=bool(need))
    if kind in _KINDS:
        return Argument(name, _KINDS[kind], about, required=bool(need))
    if kind == "count":
        limits = {key: int(value) for key, value in limits.items()}
        return Argument(name, {"type": "integer", **limits}, about)
    return Argument(name, {"type": "number", **limits}, about, unit=kind)
