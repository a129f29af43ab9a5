"""What a session did, as a directed acyclic graph that can be stored, compared and run again."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import InputError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.io.schemawords import COUNT, DRAFT, list_of, record
from engiagent.tools.registry import Access, Json, Part, shape

SCHEMA: Final = "engiagent-calls/1"


def digest(value: Any) -> str:
    """Return the SHA-256 of a JSON value, whatever the order of its keys."""
    return hashlib.sha256(dumps_canonical(_sorted(value)).encode()).hexdigest()


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


@dataclass(frozen=True)
class Node:
    """One call that was made; calls that were blocked changed nothing and are not stored."""

    tool: str
    access: Access
    arguments: Json
    # by part of the state the number of the call that had made it: the edges of the graph
    reads: Mapping[Part, int]
    writes: tuple[Part, ...]  # the parts that it made
    status: Literal["done", "failed"]
    insisted: bool  # it was made although its rule was broken
    outside: bool  # its answer depends on files that others may change
    sha256: str  # of its answer


@dataclass(frozen=True)
class Graph:
    """The calls of a session, each after those that it reads from."""

    nodes: tuple[Node, ...] = ()

    def edges(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs of calls of which the second works from what the first made."""
        found = {(call, k) for k, node in enumerate(self.nodes) for call in node.reads.values()}
        return tuple(sorted(found))

    def signature(self) -> Counter[str]:
        """Return what is equal for two graphs that differ in the order of independent calls."""
        marks: list[str] = []
        for node in self.nodes:
            before = {part: marks[call] for part, call in node.reads.items()}
            marks.append(digest([node.tool, node.arguments, node.status, before]))
        return Counter(marks)

    def to_json(self) -> str:
        """Return the canonical text."""
        calls = [{**vars(node), "writes": list(node.writes)} for node in self.nodes]
        return dumps_canonical({"schema": SCHEMA, "calls": calls})

    @classmethod
    def from_json(cls, text: str, file: str = "calls.json") -> "Graph":
        """Read a graph."""
        from jsonschema import Draft202012Validator

        data = loads_strict(text, file)
        error = next(Draft202012Validator(graph_schema()).iter_errors(data), None)
        if error is not None:
            raise InputError(f"{error.json_path}: {error.message[:200]}", file)
        nodes = tuple(Node(**{**call, "writes": tuple(call["writes"])}) for call in data["calls"])
        for number, node in enumerate(nodes):
            late = [call for call in node.reads.values() if call >= number]
            if late:
                raise InputError(f"call {number} works from call {late[0]}, which is later", file)
        return cls(nodes)


def graph_schema() -> Json:
    """Return the JSON Schema (draft 2020-12) of stored graphs."""
    words: dict[str, Json] = {
        "call": {"type": "object", "additionalProperties": COUNT},
        "hash": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    }
    call = shape(
        "tool: text; access: one of read, write; arguments: object; reads: call; "
        "writes: list of text; status: one of done, failed; insisted outside: flag; sha256: hash",
        words,
    )
    title = "calls of engiagent's tools"
    return {
        "$schema": DRAFT,
        "title": title,
        **record({"schema": {"const": SCHEMA}, "calls": list_of(call)}),
    }


@dataclass(frozen=True)
class Replay:
    """What came of running a graph again: the numbers of calls that ended in another way.

    Those that look at files which may have changed since stand apart, in ``outside``.
    """

    differences: tuple[int, ...]
    outside: tuple[int, ...]

    @property
    def same(self) -> bool:
        """Whether every call that depends on nothing outside answered as before."""
        return not self.differences


def replay(graph: Graph, root: Path) -> Replay:
    """Make the calls of a graph again, in a new session, and compare the answers."""
    from engiagent.tools.supervision import Session

    session = Session(root)
    different: list[int] = []
    outside: list[int] = []
    for number, node in enumerate(graph.nodes):
        seen = session.call(node.tool, node.arguments)
        if seen.status == "blocked" and node.insisted:
            seen = session.call(node.tool, node.arguments)
        again = session.graph.nodes[-1] if session.graph.nodes else None
        made = len(session.graph.nodes) == number + 1
        if not made or again is None:
            different.append(number)
            break
        if (again.status, again.sha256, again.reads) != (node.status, node.sha256, node.reads):
            (outside if node.outside else different).append(number)
    return Replay(tuple(different), tuple(outside))
