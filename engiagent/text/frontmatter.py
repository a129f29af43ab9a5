"""Front matter: a small YAML mapping between two ``---`` lines, read without YAML's surprises.

Scalars stay text as written (``no`` is no false, ``22:30`` no number); aliases, anchors, tags,
merges and duplicate keys are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from engiagent.errors import InputError
from engiagent.units.unit import Unit
from engiagent.units.words import resolve_unit

MAX_CHARACTERS: Final = 50_000
MAX_NODES: Final = 5_000
MAX_DEPTH: Final = 8
KEYS: Final = ("id", "title", "family", "data", "tags")
DATA_KEYS: Final = ("columns", "time", "zone", "rows", "decimal", "separator", "text")


@dataclass(frozen=True)
class DataOptions:
    """How a data file is to be read, with the place where the text says so."""

    line: int | None = None
    column: int | None = None
    columns: Mapping[str, Unit] = field(default_factory=dict)
    time: str | None = None
    zone: str | None = None
    rows: int | None = None
    decimal: str | None = None
    separator: str | None = None
    text: tuple[str, ...] = ()


@dataclass(frozen=True)
class FrontMatter:
    """The front matter; ``data`` is None when the key is absent."""

    id: str | None = None
    title: str | None = None
    family: str | None = None
    data: Mapping[str, DataOptions] | None = None
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Node:
    """A YAML value with its place: text, a list of nodes, or pairs of key node and value node.

    ``start`` and ``end`` are offsets into the YAML; a ``key`` of a mapping has a ``node`` as well.
    """

    value: Any
    line: int
    column: int
    start: int = 0
    end: int = 0

    @property
    def is_text(self) -> bool:
        """Whether the value is text."""
        return isinstance(self.value, str)


def split_front_matter(text: str) -> tuple[str | None, int]:
    """Return the YAML between two ``---`` lines at the top, if any, and where the body begins."""
    if not text.startswith("---") or text[3 : text.find("\n")].strip():
        return None, 0
    position = text.find("\n") + 1
    start = position
    while 0 < position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        if text[position:end].rstrip() in ("---", "..."):
            return text[start:position], min(end + 1, len(text))
        position = end + 1
    return None, 0


def read_front_matter(yaml: str, file: str) -> FrontMatter:
    """Return the front matter.

    Raises
    ------
    InputError
        With line and column: broken YAML, aliases, merges, duplicate or unknown keys, a value of
        the wrong type.
    """
    root = read_nodes(yaml, file)
    if root is None:
        return FrontMatter()
    pairs = _mapping(root, KEYS, "the front matter", file)
    data = pairs.get("data")
    tags = pairs.get("tags")
    return FrontMatter(
        _text(pairs.get("id"), "id", file),
        _text(pairs.get("title"), "title", file),
        _text(pairs.get("family"), "family", file),
        None if data is None else _data(data, file),
        () if tags is None else tuple(_texts(tags, "tags", file)),
    )


def read_nodes(
    yaml: str, file: str, what: str = "the front matter", first_line: int = 2
) -> Node | None:
    """Return the tree of a small YAML text, its scalars as text; None when there is nothing.

    ``what`` and ``first_line`` are for the places in messages.

    Raises
    ------
    InputError
        With line and column: broken YAML, aliases, merges, tags, keys that stand twice, too much.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if len(yaml) > MAX_CHARACTERS:
        raise InputError(f"{what} has more than {MAX_CHARACTERS} characters", file, first_line)
    try:
        events = list(_bounded(YAML(typ="safe", pure=True).parse(yaml), (file, what, first_line)))
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (
            (mark.line + first_line, mark.column + 1) if mark is not None else (first_line, None)
        )
        problem = getattr(error, "problem", None) or "no valid YAML"
        raise InputError(f"{what} is no valid YAML: {problem}", file, line, column) from None
    inner = [e for e in events if type(e).__name__[:6] not in ("Stream", "Docume")]
    if not inner:
        return None
    if sum(type(e).__name__ == "DocumentStartEvent" for e in events) > 1:
        raise InputError(f"{what} holds two YAML documents", file, first_line)
    stack = inner[::-1]
    return _build(stack, file, first_line)


def _bounded(events: Any, about: tuple[str, str, int]) -> Any:
    """Pass on events while they are few, shallow and plain."""
    file, what, first_line = about
    depth = 0
    for count, event in enumerate(events):
        name = type(event).__name__
        line, column = event.start_mark.line + first_line, event.start_mark.column + 1
        depth += name in ("MappingStartEvent", "SequenceStartEvent")
        depth -= name in ("MappingEndEvent", "SequenceEndEvent")
        if count > MAX_NODES or depth > MAX_DEPTH:
            raise InputError(f"{what} is too large or too deep", file, line, column)
        if name == "AliasEvent" or getattr(event, "anchor", None):
            raise InputError("aliases and anchors are not allowed", file, line, column)
        tag = getattr(event, "tag", None)
        if tag is not None and name != "DocumentStartEvent" and str(tag) not in ("", "None", "!"):
            raise InputError("YAML tags are not allowed", file, line, column, found=str(tag)[:60])
        yield event


def _build(stack: list[Any], file: str, first_line: int) -> Node:
    event = stack.pop()
    name, mark = type(event).__name__, event.start_mark
    line, column = mark.line + first_line, mark.column + 1
    if name == "ScalarEvent":
        return Node(event.value, line, column, mark.index, event.end_mark.index)
    children: list[Node] = []
    end = name.replace("Start", "End")
    while type(stack[-1]).__name__ != end:
        children.append(_build(stack, file, first_line))
    place = (line, column, mark.index, stack.pop().end_mark.index)
    if name == "SequenceStartEvent":
        return Node(children, *place)
    pairs = list(zip(children[::2], children[1::2], strict=True))
    return Node(dict(_unique(pairs, file)), *place)


def _unique(pairs: list[tuple[Node, Node]], file: str) -> Any:
    seen = set()
    for key, value in pairs:
        if not key.is_text:
            raise InputError("a key that is no text", file, key.line, key.column)
        if key.value == "<<":
            raise InputError("merge keys are not allowed", file, key.line, key.column)
        if key.value in seen:
            raise InputError(
                "a key stands twice", file, key.line, key.column, found=repr(key.value)
            )
        seen.add(key.value)
        yield _Key(key.value, key), value


class _Key(str):
    """A key that remembers its place."""

    node: Node

    def __new__(cls, text: str, node: Node) -> "_Key":
        made = super().__new__(cls, text)
        made.node = node
        return made


def _mapping(node: Node, allowed: tuple[str, ...], what: str, file: str) -> dict[str, Node]:
    if not isinstance(node.value, dict):
        raise InputError(
            f"{what} is no mapping", file, node.line, node.column, expected="lines of 'key: value'"
        )
    for key in node.value:
        if key not in allowed:
            place = key.node
            raise InputError(
                f"unknown key in {what}",
                file,
                place.line,
                place.column,
                found=repr(str(key)[:60]),
                expected="one of " + ", ".join(allowed),
            )
    return dict(node.value)


def _text(node: Node | None, what: str, file: str) -> str | None:
    if node is None:
        return None
    if not node.is_text or not node.value.strip() or len(node.value) > 500:
        raise InputError(f"{what!r} is no short text", file, node.line, node.column)
    text: str = node.value
    return " ".join(text.split())


def _texts(node: Node, what: str, file: str) -> list[str]:
    if node.is_text:
        return [_text(node, what, file) or ""]
    if not isinstance(node.value, list):
        raise InputError(f"{what!r} is no list", file, node.line, node.column)
    return [_text(item, what, file) or "" for item in node.value]


def _data(node: Node, file: str) -> dict[str, DataOptions]:
    if node.is_text and not node.value.strip():
        return {}
    if isinstance(node.value, dict):
        return {str(key): _options(key.node, value, file) for key, value in node.value.items()}
    items = [node] if node.is_text else node.value
    found: dict[str, DataOptions] = {}
    for item in items:
        if not item.is_text:
            raise InputError(
                "'data' lists something else than file names",
                file,
                item.line,
                item.column,
                expected="file names, or 'name: options'",
            )
        if item.value in found:
            raise InputError("a data file stands twice", file, item.line, item.column, item.value)
        found[item.value] = DataOptions(item.line, item.column)
    return found


def _options(key: Node, node: Node, file: str) -> DataOptions:
    if node.is_text and not node.value.strip():
        return DataOptions(key.line, key.column)
    pairs = _mapping(node, DATA_KEYS, f"the options of {key.value}", file)
    text = pairs.get("text")
    return DataOptions(
        key.line,
        key.column,
        _units(pairs.get("columns"), file),
        _text(pairs.get("time"), "time", file),
        _zone(pairs.get("zone"), file),
        _rows(pairs.get("rows"), file),
        _choice(pairs.get("decimal"), "decimal", (".", ","), file),
        _choice(pairs.get("separator"), "separator", (",", ";", "\t"), file),
        () if text is None else tuple(_texts(text, "text", file)),
    )


def _units(node: Node | None, file: str) -> dict[str, Unit]:
    if node is None:
        return {}
    if not isinstance(node.value, dict):
        raise InputError(
            "'columns' is no mapping of columns to units", file, node.line, node.column
        )
    units = {}
    for name, value in node.value.items():
        unit = resolve_unit(value.value) if value.is_text else None
        if unit is None:
            found = repr(value.value[:40]) if value.is_text else "no text"
            raise InputError(
                f"no unit for the column {name!r}",
                file,
                value.line,
                value.column,
                found,
                "a unit such as kW or EUR/MWh",
            )
        units[str(name)] = unit
    return units


def _zone(node: Node | None, file: str) -> str | None:
    name = _text(node, "zone", file)
    if node is None or name is None:
        return None
    if not is_zone(name):
        raise InputError(
            "unknown time zone",
            file,
            node.line,
            node.column,
            repr(name[:60]),
            "a name such as Europe/Berlin",
        )
    return name


def is_zone(name: str) -> bool:
    """Whether a name is a time zone of the IANA database."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


def _rows(node: Node | None, file: str) -> int | None:
    written = _text(node, "rows", file)
    if node is None or written is None:
        return None
    if not (written.isascii() and written.isdigit() and 0 < int(written[:10]) < 10**9):
        raise InputError(
            "'rows' is no count",
            file,
            node.line,
            node.column,
            repr(written[:40]),
            "a whole number above 0",
        )
    return int(written)


def _choice(node: Node | None, what: str, allowed: tuple[str, ...], file: str) -> str | None:
    if node is None:
        return None
    value: str = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";"}.get(
        node.value, node.value
    )
    if value not in allowed:
        raise InputError(
            f"unknown {what}",
            file,
            node.line,
            node.column,
            repr(node.value)[:40],
            "one of " + " ".join(map(repr, allowed)),
        )
    return value
