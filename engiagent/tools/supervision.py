"""A session with its supervisor: every call is checked against its rule just before it is made.

A call that would work on what is absent or out of date is blocked once, with advice, and the state
stays as it was; whoever insists by the same call is let through. What was done is kept as a
graph that can be run again.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from engiagent.errors import EngiagentError, InputError
from engiagent.tools.graph import Graph, Node, digest
from engiagent.tools.registry import (
    PARTS,
    Json,
    Made,
    Outcome,
    Part,
    State,
    Tool,
    Watch,
    Work,
    tools,
)

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
            status, outcome = "failed", Outcome({"error": str(error)})
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
