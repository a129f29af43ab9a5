"""A session with its supervisor, and the graph of its calls, which can be stored and run again.

Every call is checked against its rule just before it is made. One that would work on what is absent
or out of date is blocked once, with advice, and the state stays as it was; whoever insists by the
same call is let through.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from engiagent.errors import EngiagentError, InfeasibleError, InputError
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.io.schemawords import COUNT, DRAFT, list_of, record
from engiagent.tools.registry import (
    PARTS,
    Access,
    Json,
    Made,
    Outcome,
    Part,
    State,
    Tool,
    Watch,
    Work,
    shape,
    tools,
)

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


# -- sessions -------------------------------------------------------------------------------------

Status = Literal["done", "blocked", "failed"]
_ORDER: Final = "call {} first, or repeat this call as it is to make it all the same"


@dataclass(frozen=True)
class Observation:
    """What a caller sees of a call: the tool's answer, or ``error``, or ``advice`` and ``missing``.

    The state changes only when the status is ``done``.
    """

    tool: str
    status: Status
    content: Json
    artefacts: tuple[str, ...] = ()


@dataclass
class Session:
    """A folder, what was made in it so far, and the graph of all calls.

    Every call replaces the state as a whole or leaves it.
    """

    root: Path
    state: State = field(init=False)
    graph: Graph = field(default_factory=Graph)
    _advised: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        if not self.root.is_dir():
            raise InputError("there is no such folder", str(self.root))
        self.state = State(self.root)

    def call(
        self,
        name: str,
        arguments: Json | None = None,
        watch: Watch | None = None,
        work: Work | None = None,
    ) -> Observation:
        """Make a call, unless its rule is broken and nobody was told so yet.

        Never raises for what a caller can cause: such an error is an observation. ``watch`` hears
        how far the call has come and can stop it; a call that was stopped leaves no trace.
        ``work`` takes the place of the tool's own, for who has done it already.
        """
        known = tools()
        if name not in known:
            message = f"there is no tool {name!r}; there are {', '.join(known)}"
            return Observation(name, "failed", {"error": message})
        chosen = known[name] if work is None else replace(known[name], work=work)
        try:
            given = chosen.checked(arguments or {})
        except InputError as error:
            return Observation(name, "failed", {"error": str(error)})
        chosen = chosen.for_call(given)
        missing = self.missing(chosen)
        made = {part: made.call for part, made in self.state.parts.items()}
        key = digest([name, given, made])
        if missing and key not in self._advised:
            self._advised.add(key)
            return Observation(name, "blocked", self.advice(chosen, missing))
        return self._made(chosen, given, watch or Watch(), insisted=bool(missing))

    def missing(self, chosen: Tool) -> tuple[Part, ...]:
        """Return the parts that a tool's rule asks for and that are absent or out of date."""
        state = self.state
        return tuple(part for part in chosen.needs if not state.has(part) or state.stale(part))

    def advice(self, chosen: Tool, missing: tuple[Part, ...]) -> Json:
        """Return what to call before a tool whose rule asks for parts that are missing."""
        said = ", ".join(
            f"the {part} is out of date" if self.state.has(part) else f"there is no {part} yet"
            for part in missing
        )
        first = self._first(missing[0])
        advice = f"{chosen.name} is not made: {said}; {_ORDER.format(first)}"
        return {"advice": advice, "missing": list(missing), "first": first}

    def _first(self, part: Part) -> str:
        """Return the tool to call now so that a part can be made in the end."""
        maker = tools()[PARTS[part].maker]
        earlier = self.missing(maker)
        return self._first(earlier[0]) if earlier else maker.name

    def _made(self, chosen: Tool, given: Json, watch: Watch, *, insisted: bool) -> Observation:
        status: Literal["done", "failed"] = "done"
        try:
            outcome = chosen.work(replace(self.state, watch=watch), given)
        except EngiagentError as error:
            proven = {"verdict": "proven infeasible"} if isinstance(error, InfeasibleError) else {}
            status, outcome = "failed", Outcome({"error": str(error), **proven})
        if watch.cancel is not None and watch.cancel.is_set():
            return Observation(chosen.name, "failed", {"error": "the call was stopped"})
        call, makes = len(self.graph.nodes), outcome.makes
        reads = {p: self.state.parts[p].call for p in chosen.reads if self.state.has(p)}
        node = Node(
            tool=chosen.name,
            access=chosen.access,
            arguments=given,
            reads=reads,
            writes=tuple(makes),
            status=status,
            insisted=insisted,
            outside=chosen.outside,
            sha256=digest(outcome.content),
        )
        self.graph = replace(self.graph, nodes=(*self.graph.nodes, node))
        if makes:
            basis = {part: made for part, made in reads.items() if part not in makes}
            dropped = {other for part in makes for other in PARTS[part].drops}
            parts = {part: made for part, made in self.state.parts.items() if part not in dropped}
            parts |= {part: Made(value, call, basis) for part, value in makes.items()}
            self.state = replace(self.state, parts=parts)
        return Observation(chosen.name, status, outcome.content, outcome.artefacts)


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
