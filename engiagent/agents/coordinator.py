"""The coordinator: lays outcomes on the board, and sends who comes next until the run ends.

A run goes on for as long as its rounds gain something, by the rank of the verdict. A plan that
already satisfies the requirements is put out after some rounds that gained nothing; one that does
not is worth every try that is left.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Final, Literal

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.faults import REPLIES, of_error, standing, taxonomy, worst_first
from engiagent.agents.memory import Memory
from engiagent.agents.modeler import Certifier, Evaluator, Modeler, Solver
from engiagent.agents.protocol import (
    Agent,
    AgentName,
    Board,
    Budget,
    Engine,
    Fault,
    Instruction,
    Outcome,
)
from engiagent.agents.routing import Policy, Route, Router, main_way
from engiagent.agents.verifier import Verifier
from engiagent.errors import EngiagentError
from engiagent.run.folder import RunFolder
from engiagent.solvers.result import OnProgress
from engiagent.verify.verdicts import VERDICTS

RANKS: Final = tuple(reversed(VERDICTS))
"""Verdicts from worthless to best."""
USABLE: Final = "solved"
"""The least that is worth putting out."""
ROUNDS: Final = 4
"""Rounds without a gain after which a usable result is put out."""

Decision = Literal["output", "improve", "restart"]

OnTurn = Callable[[Board, Outcome], None]
OnRecord = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Ended:
    """How a coordinated run ended: the best board by its certificate, faults of the last turn."""

    board: Board
    reason: str
    stopped: bool
    faults: tuple[Fault, ...] = ()
    error: EngiagentError | None = None


@dataclass
class Coordinator:
    """Runs agents on a board."""

    agents: Mapping[AgentName, Agent]
    router: Router
    budget: Budget
    memory: Memory | None = None
    # what a turn happens in, as a stage of a run
    stage: Callable[[AgentName, Board], AbstractContextManager[Any]] | None = None
    # on_turn, on_record: called after each turn with the new board, and with each routing record
    on_turn: OnTurn | None = None
    on_record: OnRecord | None = None
    _repairs: list[tuple[Route, str, AgentName]] = field(default_factory=list)
    _found_by: AgentName | None = None

    def run(self, board: Board, first: AgentName = "analyzer") -> Ended:
        """Let agents work until the result is good, nobody can go on, or a budget is used up."""
        best, gains, step, begun = board, Gains(), 0, time.monotonic()
        route = main_way(first)
        outcome: Outcome | None = None

        def ended(reason: str, stopped: bool = False) -> Ended:
            faults, error = ((), None) if outcome is None else (outcome.faults, outcome.error)
            return Ended(best, reason, stopped, faults, error)

        while route.target is not None:
            minutes = (time.monotonic() - begun) / 60.0
            if step >= self.budget.steps:
                return ended(f"{step} turns of agents are used up", stopped=True)
            if self.budget.minutes is not None and minutes >= self.budget.minutes:
                used = f"{minutes:.1f} of {self.budget.minutes:g} minutes are used up"
                return ended(used, stopped=True)
            if route.script:
                board = board.having(scripting=True, blueprint=None, draft=None)
            board = board.having(instruction=self._instruction(route))
            outcome, seconds = self._turn(route.target, board)
            if _no_answer(outcome):  # what an answer that was none has left is as it was
                faults = dict.fromkeys((*outcome.faults, *standing(board.instruction.faults)))
                outcome = replace(outcome, faults=tuple(faults))
            board = board.having(**outcome.changes)
            self._learn(route, outcome)
            judged = None
            if outcome.agent == "evaluator":
                judged = gains.evaluated(board, outcome.faults)
            step += 1
            if self.on_record is not None:
                self.on_record(_record(step, route, outcome, seconds, judged))
            if self.on_turn is not None:
                self.on_turn(board, outcome)
            best = better(best, board)
            exhausted = gains.exhausted() if outcome.faults else None
            if exhausted is not None:
                return ended(exhausted)
            route = self.router.after(outcome, board)
            if route.target is not None:
                self.router.note(route.target, route.trigger, route.faults)
        return ended(route.reasoning)

    def _turn(self, name: AgentName, board: Board) -> tuple[Outcome, float]:
        begun = perf_counter()
        try:
            with nullcontext() if self.stage is None else self.stage(name, board):
                outcome = self.agents[name].run(board)
        except EngiagentError as error:
            # What an agent's tools refuse is something to mend, not the end of the run.
            outcome = Outcome(name, str(error), faults=of_error(error), error=error)
        return outcome, perf_counter() - begun

    def _instruction(self, route: Route) -> Instruction:
        if route.trigger is None:
            return Instruction(route.strategy)
        lessons = () if self.memory is None else self.memory.lessons(route.trigger.signature)
        return Instruction(route.strategy, route.faults, lessons)

    def _learn(self, route: Route, outcome: Outcome) -> None:
        """Remember whether a fault is gone, once the check that found it has looked again."""
        finder, self._found_by = self._found_by, outcome.agent
        if route.trigger is not None and route.target is not None:
            self._repairs.append((route, outcome.repair, finder or outcome.agent))
        still = {fault.signature for fault in outcome.faults}
        waiting = []
        for known in self._repairs:
            made, repair, judge = known
            assert made.trigger is not None
            assert made.target is not None
            there = made.trigger.signature in still or (made is route and _no_answer(outcome))
            if not there and outcome.agent != judge:
                waiting.append(known)
                continue
            if self.memory is not None:
                kind, signature = made.trigger.kind, made.trigger.signature
                pattern = "" if there else _pattern(repair)
                self.memory.learn(made.target, kind, signature, not there, made.strategy, pattern)
        self._repairs = waiting


def _record(
    step: int, route: Route, outcome: Outcome, seconds: float, judged: Mapping[str, Any] | None
) -> Mapping[str, Any]:
    return {
        "step": step,
        **route.to_dict(),
        "outcome": {
            "status": outcome.status,
            "summary": outcome.summary,
            "faults": [fault.to_dict() for fault in outcome.faults],
            "changes": sorted(outcome.changes),
            "usage": dict(vars(outcome.usage)),
            "seconds": round(seconds, 4),
        },
        **({} if judged is None else {"evaluation": judged}),
    }


def better(best: Board, board: Board) -> Board:
    """Return the board with the better certificate; the newer one where they are as good."""
    if board.certificate is None:
        # Without any certificate yet, what was found out last is what there is to show.
        return board if best.certificate is None else best
    if best.certificate is None:
        return board
    rank = RANKS.index
    newer = rank(str(board.certificate["verdict"])) >= rank(str(best.certificate["verdict"]))
    return board if newer else best


def _pattern(repair: str) -> str:
    """Return which fields a patch changed and how; names and values are one problem's own."""
    if not repair:
        return ""
    shapes = []
    for operation in json.loads(repair):
        steps = str(operation.get("path")).strip("/").split("/")[1:]
        shapes.append(" ".join((str(operation.get("op")), "/".join([*steps[:1], *steps[2:3]]))))
    return "; ".join(dict.fromkeys(shapes))


def _no_answer(outcome: Outcome) -> bool:
    """Whether the engine's answer itself was no answer, so that nothing can have been mended."""
    return any(fault.kind in REPLIES for fault in outcome.faults)


# --- what an evaluation comes to ----------------------------------------------------------------


def decision(faults: Sequence[Fault]) -> Decision:
    """Return what becomes of a result: the text is read anew where that mends the worst fault."""
    if not faults:
        return "output"
    owners = taxonomy()[worst_first(faults)[0].kind].owners
    return "restart" if owners[:1] == ("analyzer",) else "improve"


@dataclass
class Gains:
    """How results got better, evaluation by evaluation."""

    best: int = -1
    idle: int = 0

    def evaluated(self, board: Board, faults: Sequence[Fault]) -> dict[str, Any]:
        """Take in an evaluation; return what the routing record says of it."""
        verdict = None if board.certificate is None else str(board.certificate["verdict"])
        now = -1 if verdict is None else RANKS.index(verdict)
        gained = now > self.best
        self.idle = 0 if gained else self.idle + 1
        self.best = max(self.best, now)
        return {"decision": decision(faults), "verdict": verdict, "gained": gained}

    def exhausted(self) -> str | None:
        """Return why going on is not worth it; None while it is."""
        if self.best < RANKS.index(USABLE) or self.idle < ROUNDS:
            return None
        return f"the last {self.idle} rounds gained nothing"


STAGES: Final[Mapping[AgentName, str]] = {
    "analyzer": "analyse",
    "modeler": "compile",
    "verifier": "verify",
    "solver": "solve",
    "evaluator": "check",
}


@dataclass(frozen=True)
class Guidance:
    """How agents work together in a run; None for what fits the engine."""

    policy: Policy | None = None
    budget: Budget | None = None
    memory: Memory | None = None

    def asked(self) -> dict[str, Any]:
        """Return what a run's record says of it; nothing where nothing was given."""
        said: dict[str, Any] = {}
        if self.budget is not None:
            said["budget"] = dict(vars(self.budget))
        if self.policy is not None:
            said["policy"] = dict(vars(self.policy))
        if self.memory is not None:
            said["memory"] = str(self.memory.path)
        return said

    @classmethod
    def of_record(cls, asked: Mapping[str, Any]) -> "Guidance":
        """Return the guidance of a record, but for the leave to run scripts."""
        budget, policy, memory = (asked.get(name) for name in ("budget", "policy", "memory"))
        return cls(
            None if policy is None else Policy(readings=int(policy.get("readings", 2))),
            None if budget is None else Budget(**budget),
            None if memory is None else Memory(Path(memory), engine=str(asked.get("engine"))),
        )


ALONE: Final = Guidance()


def team(
    engine: Engine,
    folder: RunFolder,
    guidance: Guidance,
    certify: Certifier,
    progress: OnProgress | None = None,
    turn: OnTurn | None = None,
) -> Coordinator:
    """Return a coordinator with its agents, whose turns are stages of the run in a folder."""
    agents: tuple[Agent, ...] = (
        Analyzer(engine),
        Modeler(engine),
        Verifier(engine),
        Solver(progress),
        Evaluator(engine, certify),
    )

    def stage(name: AgentName, board: Board) -> AbstractContextManager[Any]:
        computes = name == "solver" and board.program is None
        return folder.stage("compute" if computes else STAGES[name])

    return Coordinator(
        {agent.name: agent for agent in agents},
        Router(engine, guidance.policy or Policy(), guidance.memory),
        guidance.budget or Budget(),
        guidance.memory,
        stage,
        turn,
        partial(folder.line, "route"),
    )
