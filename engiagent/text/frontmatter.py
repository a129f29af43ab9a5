"""Front matter: a small YAML mapping between two ``---`` lines, read without YAML's surprises.

Scalars stay text as written (``no`` is no false, ``22:30`` no number); aliases, anchors, tags,
merges and duplicate keys are refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from engiagent.errors import InputError

MAX_CHARACTERS: Final = 50_000
MAX_NODES: Final = 5_000
MAX_DEPTH: Final = 8


@dataclass(frozen=True)
class FrontMatter:
    """The front matter; ``data`` are the places of the files' names, None when it lists none."""

    id: str | None = None
    title: str | None = None
    family: str | None = None
    data: Mapping[str, tuple[int, int]] | None = None
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

    def error(
        self, message: str, file: str, found: str | None = None, expected: str | None = None
    ) -> InputError:
        """Return an error at the place of the value."""
        return InputError(message, file, self.line, self.column, found, expected)


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
    """Return the front matter; InputError with line and column where it is broken or unknown."""
    root = read_nodes(yaml, file)
    if root is None:
        return FrontMatter()
    if not isinstance(root.value, dict):
        raise root.error("the front matter is no mapping", file, expected="lines of 'key: value'")
    for key in root.value:
        if key not in FIELDS:
            found, expected = repr(str(key)[:60]), "one of " + ", ".join(FIELDS)
            raise key.node.error("unknown key in the front matter", file, found, expected)
    read = {str(key): FIELDS[key](value, str(key), file) for key, value in root.value.items()}
    return FrontMatter(**read)


def read_nodes(
    yaml: str, file: str, what: str = "the front matter", first_line: int = 2
) -> Node | None:
    """Return the tree of a small YAML text, its scalars as text; None when there is nothing.

    ``what`` and ``first_line`` are for messages.
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
            raise key.error("a key that is no text", file)
        if key.value == "<<":
            raise key.error("merge keys are not allowed", file)
        if key.value in seen:
            raise key.error("a key stands twice", file, repr(key.value))
        seen.add(key.value)
        yield Key(key.value, key), value


class Key(str):
    """A key that remembers its place."""

    node: Node

    def __new__(cls, text: str, node: Node) -> "Key":
        """Return a key at the place of a node."""
        made = super().__new__(cls, text)
        made.node = node
        return made


def _text(node: Node, what: str, file: str) -> str:
    if not node.is_text or not node.value.strip() or len(node.value) > 500:
        raise node.error(f"{what!r} is no short text", file)
    return " ".join(node.value.split())


def _texts(node: Node, what: str, file: str) -> tuple[str, ...]:
    if not node.is_text and not isinstance(node.value, list):
        raise node.error(f"{what!r} is no list", file)
    return tuple(_text(item, what, file) for item in ([node] if node.is_text else node.value))


def _data(node: Node, what: str, file: str) -> dict[str, tuple[int, int]]:
    if node.is_text and not node.value.strip():
        return {}
    found: dict[str, tuple[int, int]] = {}
    for item in [node] if node.is_text or isinstance(node.value, dict) else node.value:
        if not item.is_text:
            expected = "a list; units stand in headers of columns, offsets from UTC in time stamps"
            raise item.error("'data' lists something else than file names", file, None, expected)
        if item.value in found:
            raise item.error("a data file stands twice", file, item.value)
        found[item.value] = item.line, item.column
    return found


def is_zone(name: str) -> bool:
    """Whether a name is a time zone of the IANA database."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True


FIELDS: Final[Mapping[str, Callable[[Node, str, str], Any]]] = {
    "id": _text,
    "title": _text,
    "family": _text,
    "data": _data,
    "tags": _texts,
}
"""What reads the value of a field, by name: from node, name and file."""
