"""What agents share: the board they read, the outcomes they return, and the engine they ask.

An agent is deterministic code around at most one question to an engine. It reads the
:class:`Board`, which is never changed in place, and returns an :class:`Outcome` with what it found
or made; the coordinator lays that on the board and chooses who comes next. An engine answers what
needs judgement: a language model by words; the offline engine only hands on what is stated as a
plant block or stored as a reading. Nothing that an engine says counts until the checker agrees.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, Protocol, get_args

from engiagent.agents.meeting import Meeting
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.formulations.program import Program
from engiagent.run.sandbox.running import ScriptResult
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.text import Problem

STEPS: Final = 24
"""Agents' turns, unless the user says otherwise; the main way takes five."""


@dataclass(frozen=True)
class Budget:
    """What a run may take, in turns, tokens in and out, USD and minutes; None for no limit."""

    steps: int = STEPS
    tokens: int | None = None
    cost: float | None = None
    minutes: float | None = None

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            # A limit that is no number compares with nothing, and so would never end a run.
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise InputError(f"--max-{name} is no amount", found=repr(value))


AgentName = Literal["analyzer", "modeler", "verifier", "solver", "evaluator"]
AGENTS: Final[tuple[AgentName, ...]] = ("analyzer", "modeler", "verifier", "solver", "evaluator")

Sufficiency = Literal["complete", "missing", "contradictory", "undecided", "inexpressible"]
"""``inexpressible``: the text suffices, and the language cannot say what it asks."""


@dataclass(frozen=True)
class Usage:
    """What an engine's answers took."""

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0  # those of ``input_tokens`` that were read from a cache
    output_tokens: int = 0
    # in USD by the price file; None when the file has no price for the model
    cost: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        known = self.cost is not None and other.cost is not None
        sums = {name: getattr(self, name) + getattr(other, name) for name in _COUNTED}
        return Usage(**sums, cost=(self.cost or 0.0) + (other.cost or 0.0) if known else None)


_COUNTED: Final = ("calls", "input_tokens", "cached_tokens", "output_tokens", "seconds")
NOTHING: Final = Usage()
"""Of who asked nobody."""


@dataclass(frozen=True)
class Fault:
    """One thing that went wrong."""

    kind: str  # a name of the error taxonomy, as ``unit-mismatch``
    message: str
    # where: a JSON path of the blueprint, a line of the text, a file; empty if nowhere
    place: str = ""
    suggestion: str = ""  # what would be right; empty if unknown
    judged: bool = False  # whether an engine's judgement says so, and no check

    @property
    def signature(self) -> str:
        """What two faults have in common that differ in numbers and quoted names alone."""
        bare = re.sub(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.,:eE+-]*", "#", self.message)
        place = re.sub(r"\d+", "#", self.place)
        digest = sha256(f"{self.kind}|{place}|{bare}".encode()).hexdigest()
        return f"{self.kind}:{digest[:12]}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it, with its signature."""
        return {**vars(self), "signature": self.signature}


@dataclass(frozen=True)
class Instruction:
    """What the coordinator asks of an agent; ``lessons`` are repairs that helped before."""

    strategy: str = ""
    faults: tuple[Fault, ...] = ()
    lessons: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Board:
    """Everything a run knows; agents read it and return changes."""

    problem: Problem | None
    data: Path  # the folder of the run's copy of the problem and its data files
    name: str
    options: SolveOptions
    overrides: Mapping[str, str] = field(default_factory=dict)
    # the analyzer's verdict on the text; None before it has spoken
    sufficiency: Sufficiency | None = None
    # missing, contradictions, not_understood, lacking, why_missing: what rules out a plan;
    # ``lacking`` says so in one line
    missing: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    lacking: str = ""
    why_missing: Mapping[str, str] = field(default_factory=dict)
    blueprint: Blueprint | None = None
    # what the analyzer wrote last, as JSON, when that is no blueprint yet
    draft: Mapping[str, Any] | None = None
    # second, second_repairs, sought: the second reading as its author wrote it, how often it was
    # patched, whether it was sought
    second: Blueprint | None = None
    second_repairs: int = 0
    sought: bool = False
    meeting: Meeting | None = None
    # differed, rounds: differences of the readings that were asked about, none of them twice, in
    # how many requests
    differed: tuple[str, ...] = ()
    rounds: int = 0
    # signatures of findings of which an author said that nothing is to change
    stands: frozenset[str] = frozenset()
    # requirements, demanded: of a script alone: the file of what the verifier took from the text,
    # and whether it was asked to
    requirements: str | None = None
    demanded: bool = False
    program: Program | None = None
    solution: SolutionArrays | None = None
    result: SolverResult | None = None
    certificate: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()
    by_model: bool = False  # whether the blueprint's author judges, and so may misread
    # scripting, script, scripted: whether a script makes the schedule, its text, and what came of
    # it in the sandbox
    scripting: bool = False
    script: str | None = None
    scripted: ScriptResult | None = None
    instruction: Instruction = Instruction()

    def having(self, **changes: Any) -> "Board":
        """Return the board with changes; what follows from what changes goes."""
        if "script" in changes:
            changes = {"scripted": None, "certificate": None, **changes}
        if "blueprint" in changes and changes["blueprint"] is not self.blueprint:
            stale = ("program", "solution", "result", "certificate", "meeting")
            changes = {**dict.fromkeys((*stale, "draft")), **changes}
        return replace(self, **changes)


@dataclass(frozen=True)
class Outcome:
    """How an agent's work ended."""

    agent: AgentName
    summary: str
    # fields of the board that it found or made
    changes: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()  # what is wrong
    usage: Usage = NOTHING
    # what was done against the faults of the instruction, for memory; empty if nothing
    repair: str = ""
    error: EngiagentError | None = None  # the error behind the faults, where a stage raised one

    @property
    def status(self) -> Literal["done", "failed", "refused"]:
        """``refused``: the engine would not answer."""
        if not self.faults:
            return "done"
        return "refused" if self.faults[0].kind == "engine-refused" else "failed"


class Agent(Protocol):
    """One of the five; its card says what it may do."""

    @property
    def name(self) -> AgentName: ...  # noqa: D102

    def run(self, board: Board) -> Outcome:
        """Do the agent's work on what the board shows."""
        ...


@dataclass(frozen=True)
class Question:
    """What an agent asks of an engine."""

    agent: AgentName | Literal["coordinator"]  # who asks; its card sets model, effort and limits
    # ``analyse``, ``repair``, ``second``, ``differ``, ``requirements``, ``diagnose`` or ``script``
    kind: str
    board: Board
    values: Mapping[str, Any]  # what the prompt template of agent and kind needs

    @property
    def schema(self) -> Mapping[str, Any]:
        """The JSON Schema of the answer, against which it is validated whoever gave it."""
        return SCHEMAS[self.kind]


@dataclass(frozen=True)
class Answer:
    """JSON that fits the question's schema; without a value ``fault`` says why there is none."""

    value: Mapping[str, Any] | None
    usage: Usage = NOTHING
    fault: Fault | None = None


class Engine(Protocol):
    """Who answers what needs judgement; one that cannot judge answers ``analyse`` alone."""

    @property
    def name(self) -> str: ...  # noqa: D102
    @property
    def judges(self) -> bool: ...  # noqa: D102

    def ask(self, question: Question) -> Answer:
        """Answer a question, or say why not; never raise for what a server or a model did."""
        ...


_TEXT: Final = {"type": "string"}
_TEXTS: Final = {"type": "array", "items": _TEXT}


def _object(properties: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    """Return the schema of an object that has these properties and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _list(properties: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    return {"type": "array", "items": _object(properties, *optional)}


_FREE: Final = {"type": ["object", "null"]}
_OPERATION: Final = {
    "op": {"enum": ["add", "remove", "replace", "move", "copy", "test"]},
    "path": _TEXT,
    "value": {},
    "from": _TEXT,
}

SCHEMAS: Final[Mapping[str, Mapping[str, Any]]] = {
    "analyse": _object(
        {
            "sufficiency": {"enum": list(get_args(Sufficiency))},
            "missing": _list({"component": _TEXT, "quantity": _TEXT, "why": _TEXT}),
            "contradictions": _list({"quotes": _TEXTS, "why": _TEXT}),
            "not_understood": _list({"quote": _TEXT, "why": _TEXT}),
            "blueprint": _FREE,
            "notes": _TEXTS,
        }
    ),
    "script": _object({"why": _TEXT, "script": {"type": "string", "minLength": 1}}),
    "repair": _object({"why": _TEXT, "patch": _list(_OPERATION, "value", "from")}),
    "requirements": _object(
        {"requirements": _FREE, "not_expressible": _list({"quote": _TEXT, "why": _TEXT})}
    ),
    "second": _object(
        {"blueprint": _FREE, "objections": _list({"quote": _TEXT, "why": _TEXT}), "why": _TEXT}
    ),
    "differ": _object(
        {
            "differences": _list(
                {
                    "number": {"type": "integer"},
                    "right": {"enum": ["one", "two", "both", "neither"]},
                    "quote": _TEXT,
                    "why": _TEXT,
                }
            )
        }
    ),
    "diagnose": _object(
        {
            "agent": {"enum": [*AGENTS, "none"]},
            "strategy": _TEXT,
            "priority": {"enum": ["high", "medium", "low"]},
            "estimated_success": {"type": "number", "minimum": 0, "maximum": 1},
            "reasoning": _TEXT,
        }
    ),
}
"""By the kind of a question."""


def ask(engine: Engine, question: Question) -> Answer:
    """Ask an engine and hold its answer against the schema."""
    answer = engine.ask(question)
    if answer.value is None:
        return answer
    wrong = misfit(answer.value, question.schema)
    if wrong is None:
        return answer
    return Answer(None, answer.usage, wrong)


def unanswered(agent: AgentName, answer: Answer) -> Outcome:
    """Return the outcome of an agent whose question got no answer."""
    fault = answer.fault or Fault("engine-unreachable", "the engine gave no answer")
    return Outcome(agent, fault.message, faults=(fault,), usage=answer.usage)


def misfit(value: Any, schema: Mapping[str, Any]) -> Fault | None:
    """Return why a value does not fit a schema, None where it does."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    found = best_match(Draft202012Validator(schema).iter_errors(value))
    if found is None:
        return None
    return Fault("reply-malformed", found.message[:500], found.json_path)
