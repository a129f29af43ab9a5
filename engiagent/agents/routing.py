"""Who comes next: rules for the main way and for known faults, an engine's diagnosis for the rest.

Any agent may follow any other. The taxonomy names the owners of a kind of fault; among them goes
who is likeliest to mend it by what memory knows. An agent that met a mistake twice and did not
mend it does not get it a third time (forced switching); when nobody is left, the engine diagnoses,
and when it cannot, the run ends. Nobody is sent who would work on what is not there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from engiagent.agents.faults import SAME, Kind, taxonomy, worst_first
from engiagent.agents.memory import Memory
from engiagent.agents.protocol import (
    AGENTS,
    AgentName,
    Board,
    Engine,
    Fault,
    Outcome,
    Question,
    ask,
)
from engiagent.agents.verifier import wanted
from engiagent.verify.claims import not_established
from engiagent.verify.verdicts import PROVEN

DecidedBy = Literal["main way", "taxonomy", "memory", "forced switch", "diagnosis", "end"]
Part = Literal["problem", "blueprint", "program", "solution"]

TRIES: Final = 2
"""Attempts of one agent on one mistake before it goes to another."""
TRACING: Final = ("data-untraced", "data-ignored")
"""Kinds that are put to the author once: what then remains is open, and agreement may settle it."""
MOST_OF_ONE: Final = 8
"""Times that one mistake may come back in a run, whoever tries."""
NEEDS: Final[Mapping[str, Part]] = {
    "analyzer": "problem",
    "modeler": "blueprint",
    "verifier": "blueprint",
    "solver": "program",
    "evaluator": "solution",
}
"""What an agent works on, as the rules of the registry's tools on its card say."""


@dataclass(frozen=True)
class Policy:
    """What a coordinator may do."""

    # whether a model's script may run in the sandbox where the language cannot say a problem; only
    # where the user allows it
    code: bool = False
    readings: int = 2  # how often the text is read; a single reading is never more than ``solved``


@dataclass(frozen=True)
class Route:
    """A decision: who comes next, None to end; because of which fault; what is to be dealt with."""

    target: AgentName | None
    strategy: str
    priority: str
    estimated_success: float
    reasoning: str
    decided_by: DecidedBy
    trigger: Fault | None = None
    faults: tuple[Fault, ...] = ()
    script: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return it as a routing record."""
        return {
            "trigger": None if self.trigger is None else self.trigger.to_dict(),
            "target": self.target,
            "strategy": self.strategy,
            "priority": self.priority,
            "estimated_success": round(self.estimated_success, 4),
            "should_continue": self.target is not None,
            "reasoning": self.reasoning,
            "decided_by": self.decided_by,
        }


def main_way(target: AgentName) -> Route:
    """Return the route to the next agent of the main way."""
    return Route(target, "", "medium", 1.0, "the main way", "main way")


def _end(why: str, trigger: Fault | None = None) -> Route:
    return Route(None, "", "low", 0.0, why, "end", trigger)


@dataclass
class Router:
    """Chooses who comes next, and remembers what was tried in this run."""

    engine: Engine
    policy: Policy = Policy()
    memory: Memory | None = None
    tried: list[tuple[AgentName, str]] = field(default_factory=list)
    put: set[str] = field(default_factory=set)

    def after(self, outcome: Outcome, board: Board) -> Route:
        """Return who comes after an outcome."""
        faults = worst_first(self._left(outcome, board))
        if not faults:
            return self._onwards(outcome.agent, board)
        kind = taxonomy()[faults[0].kind]
        if kind.ends:
            said = f"{kind.about}: {faults[0].message}"
            return self._by_script(kind, faults, board) or _end(said, faults[0])
        if not self.engine.judges:
            return _end(faults[0].message, faults[0])  # rules read; none of them repairs anything
        return self._mending(outcome.agent, kind, faults, board)

    def note(self, agent: AgentName, trigger: Fault | None, faults: Sequence[Fault] = ()) -> None:
        """Note that an agent was sent to deal with a fault, and what else it was shown."""
        if trigger is not None:
            self.tried.append((agent, trigger.signature))
            self.put |= {fault.signature for fault in faults}

    def _left(self, outcome: Outcome, board: Board) -> list[Fault]:
        """Return the faults that somebody is still to be asked about."""
        if outcome.agent not in ("verifier", "evaluator") or not self.engine.judges:
            return list(outcome.faults)
        early = outcome.agent == "verifier"

        def over(fault: Fault) -> bool:
            once = fault.kind in TRACING or (early and fault.kind.startswith("data-"))
            return fault.signature in self.put and once

        return [f for f in outcome.faults if f.signature not in board.stands and not over(f)]

    def _onwards(self, agent: AgentName, board: Board) -> Route:
        """Return the next agent of the main way."""
        if board.scripting:
            if agent == "verifier" and board.scripted is not None:
                return main_way("evaluator")
            following: dict[AgentName, AgentName] = {
                "verifier": "modeler",
                "modeler": "solver",
                "solver": "evaluator",
            }
            return main_way(following[agent]) if agent in following else _end(_result(board))
        if agent == "analyzer" and board.sufficiency != "complete":
            return _end(board.lacking or f"the text is {board.sufficiency}")
        twice = self.policy.readings > 1 and self.engine.judges
        if agent == "solver" and twice and wanted(board):
            return main_way("verifier")
        # The modeler makes the program that the solver needs; the verifier may send it back.
        if agent == "verifier" and board.program is None:
            return main_way("modeler")
        if agent == "verifier" and board.solution is not None:
            return main_way("evaluator")
        # What an engine that cannot judge could say of a blueprint, the checker says at the end.
        way = [a for a in AGENTS if a != "verifier" or self.engine.judges]
        later = [a for a in way if AGENTS.index(a) > AGENTS.index(agent)]
        return main_way(later[0]) if later else _end(_result(board))

    def _by_script(self, kind: Kind, faults: tuple[Fault, ...], board: Board) -> Route | None:
        """Return the way on by a script, None where none may answer."""
        if not kind.script or not self.policy.code or board.scripting:
            return None
        problem = board.problem
        reads = self.engine.judges and problem is not None and problem.expert is None
        # The requirements are read first: only they say what the script's schedule has to keep.
        target: AgentName = "verifier" if reads and not board.demanded else "modeler"
        why = f"{kind.about}; the user allows code"
        route = self._sent(target, kind, faults, why, "taxonomy")
        return replace(route, strategy="let a script in the sandbox make the schedule", script=True)

    def _sent(
        self,
        target: AgentName,
        kind: Kind,
        faults: tuple[Fault, ...],
        why: str,
        by: DecidedBy,
        success: float | None = None,
    ) -> Route:
        chance = kind.success if success is None else success
        return Route(target, kind.strategy, kind.priority, chance, why, by, faults[0], faults)

    def _mending(
        self, agent: AgentName, kind: Kind, faults: tuple[Fault, ...], board: Board
    ) -> Route:
        worst = faults[0]
        if self._times(worst) >= MOST_OF_ONE:
            return _end(f"the same mistake came back {MOST_OF_ONE} times", worst)
        owners = self._owners(agent, kind, board)
        if not owners:
            return _end(f"nobody is there to mend it: {worst.message}", worst)
        # There is nobody to switch to where only one can work at it.
        most = TRIES if len(owners) > 1 else 2 * TRIES
        if worst.signature in board.stands:  # who said why it stays is not asked again
            most = 1
        left = [a for a in owners if self.tried.count((a, worst.signature)) < most]
        forced = len(left) < len(owners)
        if not left:
            return self._diagnosed(worst, kind, faults, board)
        rated = [(self._estimate(a, n, kind), -n, a) for n, a in enumerate(left)]
        success, _, target = max(rated)
        by: DecidedBy = "taxonomy" if target == owners[0] else "memory"
        why = f"{kind.about}; {target} is likeliest to mend it"
        return self._sent(target, kind, faults, why, "forced switch" if forced else by, success)

    def _owners(self, agent: AgentName, kind: Kind, board: Board) -> list[AgentName]:
        """Return who may try, each once; nobody mends a blueprint that is not there."""
        named = [agent if owner == SAME else owner for owner in kind.owners]
        if board.scripting:  # whoever writes the script is who can correct what comes of it
            named = ["modeler" if owner == "analyzer" else owner for owner in named]
        found: list[AgentName] = [a for a in AGENTS if a in named]
        found.sort(key=named.index)
        able = [a for a in found if lacking(a, board) is None]
        if able or board.scripting:
            return able or ["modeler"]
        return ["analyzer"] if board.blueprint is None else []

    def _estimate(self, agent: AgentName, place: int, kind: Kind) -> float:
        prior = kind.success * 0.8**place
        return prior if self.memory is None else self.memory.estimate(agent, kind.name, prior)

    def _diagnosed(
        self, worst: Fault, kind: Kind, faults: tuple[Fault, ...], board: Board
    ) -> Route:
        """Return what an engine advises when the rules have nobody left."""
        by_script = self._by_script(kind, faults, board)
        if by_script is not None:
            return by_script
        values = {"faults": faults, "tried": tuple(self.tried), "blueprint": board.blueprint}
        question = Question("coordinator", "diagnose", board, values)
        said = ask(self.engine, question).value
        if said is None or said["agent"] not in AGENTS or lacking(said["agent"], board):
            return _end(f"nobody is left to mend it: {worst.message}", worst)
        words = (said["strategy"], said["priority"], float(said["estimated_success"]))
        why = said["reasoning"]
        return Route(said["agent"], *words, why, "diagnosis", worst, faults)

    def _times(self, fault: Fault) -> int:
        return sum(signature == fault.signature for _, signature in self.tried)


def _result(board: Board) -> str:
    """Return how a run ended that has nobody left to ask."""
    certificate = board.certificate or {}
    if certificate.get("verdict") in PROVEN:
        return "the result is good"
    open_ = (certificate.get("reading") or {}).get("open") or ()
    item = open_[0] if open_ else not_established(certificate)
    return f"open: {item}" if item else "nothing more is asked"


def lacking(agent: str, board: Board) -> Part | None:
    """Return what an agent works on and the board does not have; None where nothing lacks."""
    part = NEEDS[agent]
    if board.scripting:  # the script stands for blueprint and program
        made = {"program": board.script is not None, "solution": board.scripted is not None}
        return part if agent == "analyzer" or not made.get(part, True) else None
    draft = agent == "modeler" and board.draft is not None
    computed = board.blueprint is not None and board.blueprint.kind == "definitions"
    made = {
        "blueprint": board.blueprint is not None or draft,
        "program": board.program is not None or computed,
        "solution": board.solution is not None,
    }
    return None if made.get(part, True) else part
