"""What agents share: the board they read, the outcomes they return, and the engine they ask.

An agent is deterministic code around at most one question to an engine. It reads the
:class:`Board`, which is never changed in place, and returns an :class:`Outcome` with what it found
or made; the coordinator lays that on the board and chooses who comes next. An engine answers what
needs judgement: a language model by words; the offline engine only hands on what is stated as a
plant block or stored as a reading. Nothing that an engine says counts until the checker agrees.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from engiagent.agents.extraction import Extraction
from engiagent.agents.meeting import Meeting
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError
from engiagent.formulations.program import Program
from engiagent.run.sandbox.running import ScriptResult
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.text import Problem

AgentName = Literal["analyzer", "modeler", "verifier", "solver", "evaluator"]
AGENTS: Final[tuple[AgentName, ...]] = ("analyzer", "modeler", "verifier", "solver", "evaluator")

Status = Literal["done", "failed", "refused", "stopped"]
"""``refused``: the engine would not answer. ``stopped``: a budget or Ctrl-C ended the work."""


Sufficiency = Literal["complete", "missing", "contradictory", "undecided", "inexpressible"]
"""``inexpressible``: the text suffices, and the language cannot say what it asks."""


@dataclass(frozen=True)
class Usage:
    """What an engine's answers took.

    Attributes
    ----------
    cached_tokens
        Those of ``input_tokens`` that were read from a cache.
    cost
        In USD by the price file; None when the file has no price for the model.
    """

    calls: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0

    def __add__(self, other: "Usage") -> "Usage":
        known = self.cost is not None and other.cost is not None
        return Usage(
            self.calls + other.calls,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            (self.cost or 0.0) + (other.cost or 0.0) if known else None,
            self.seconds + other.seconds,
        )


NOTHING: Final = Usage()
"""Of who asked nobody."""


@dataclass(frozen=True)
class Fault:
    """One thing that went wrong.

    Attributes
    ----------
    kind
        A name of the error taxonomy, as ``unit-mismatch``.
    place
        Where: a JSON path of the blueprint, a line of the text, a file; empty if nowhere.
    suggestion
        What would be right; empty if unknown.
    judged
        Whether an engine's judgement says so, and no check.
    """

    kind: str
    message: str
    place: str = ""
    suggestion: str = ""
    judged: bool = False

    @property
    def signature(self) -> str:
        """What two faults have in common that are the same mistake made again.

        Numbers and quoted names are left out, so that a mistake with other figures is the same.
        """
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
    """Everything a run knows; agents read it and return changes.

    Attributes
    ----------
    data
        The folder of the run's copy of the problem and its data files.
    sufficiency
        The analyzer's verdict on the text; None before it has spoken.
    missing, contradictions, not_understood, lacking, why_missing
        What rules out a plan; ``lacking`` says so in one line.
    draft
        What the analyzer wrote last, as JSON, when that is no blueprint yet.
    second, second_repairs, sought
        The second reading as its author wrote it, how often it was patched, whether it was sought.
    differed, rounds
        Differences of the readings that were asked about, none of them twice, in how many requests.
    stands
        Signatures of findings of which an author said that nothing is to change.
    requirements, demanded
        Of a script alone: what the verifier took from the text, and whether it was asked to.
    opinion
        What an engine thinks of the result; nothing hangs on it.
    by_model
        Whether the blueprint's author judges, and so may misread.
    scripting, script, scripted
        Whether a script makes the schedule, its text, and what came of it in the sandbox.
    """

    problem: Problem | None
    data: Path
    name: str
    options: SolveOptions
    overrides: Mapping[str, str] = field(default_factory=dict)
    sufficiency: Sufficiency | None = None
    missing: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    lacking: str = ""
    why_missing: Mapping[str, str] = field(default_factory=dict)
    blueprint: Blueprint | None = None
    draft: Mapping[str, Any] | None = None
    second: Blueprint | None = None
    second_repairs: int = 0
    sought: bool = False
    meeting: Meeting | None = None
    differed: tuple[str, ...] = ()
    rounds: int = 0
    stands: frozenset[str] = frozenset()
    requirements: Extraction | None = None
    demanded: bool = False
    program: Program | None = None
    solution: SolutionArrays | None = None
    result: SolverResult | None = None
    certificate: Mapping[str, Any] | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    opinion: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    by_model: bool = False
    scripting: bool = False
    script: str | None = None
    scripted: ScriptResult | None = None
    instruction: Instruction = Instruction()

    def having(self, **changes: Any) -> "Board":
        """Return the board with changes; what follows from what changes goes."""
        if "script" in changes:
            changes = {"scripted": None, "certificate": None, "scores": {}, **changes}
        if "blueprint" in changes and changes["blueprint"] is not self.blueprint:
            stale = ("program", "solution", "result", "certificate", "meeting")
            changes = {**dict.fromkeys((*stale, "draft")), "scores": {}, **changes}
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How an agent's work ended.

    Attributes
    ----------
    changes
        Fields of the board that it found or made.
    faults
        What is wrong; a ``failed`` outcome has at least one.
    repair
        What was done against the faults of the instruction, for memory; empty if nothing.
    error
        The error behind the faults, where a stage raised one.
    """

    agent: AgentName
    status: Status
    summary: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    usage: Usage = NOTHING
    repair: str = ""
    error: EngiagentError | None = None


class Agent(Protocol):
    """One of the five; its card says what it may do."""

    @property
    def name(self) -> AgentName:
        """Which one."""
        ...

    def run(self, board: Board) -> Outcome:
        """Do the agent's work on what the board shows."""
        ...


@dataclass(frozen=True)
class Question:
    """What an agent asks of an engine.

    Attributes
    ----------
    agent
        Who asks; its card sets model, effort and limits.
    kind
        ``analyse``, ``repair``, ``second``, ``differ``, ``requirements``, ``evaluate``,
        ``diagnose`` or ``script``.
    values
        What the prompt template of agent and kind needs.
    schema
        JSON Schema of the answer; every answer is validated against it here, whoever gave it.
    """

    agent: AgentName | Literal["coordinator"]
    kind: str
    board: Board
    values: Mapping[str, Any]
    schema: Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """JSON that fits the question's schema; without a value ``fault`` says why there is none."""

    value: Mapping[str, Any] | None
    usage: Usage = NOTHING
    fault: Fault | None = None


class Engine(Protocol):
    """Who answers what needs judgement."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def judges(self) -> bool:
        """Whether it can answer more than ``analyse``; the offline engine cannot."""
        ...

    def ask(self, question: Question) -> Answer:
        """Answer a question, or say why not; never raise for what a server or a model did."""
        ...
