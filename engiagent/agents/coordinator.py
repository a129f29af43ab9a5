"""The coordinator: lays outcomes on the board, and sends who comes next until the run ends."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from engiagent.agents.budgets import Meter
from engiagent.agents.faults import REPLIES, of_error, standing
from engiagent.agents.gain import RANKS, Gains
from engiagent.agents.memory import Forgetful, Remembers
from engiagent.agents.order import blocked
from engiagent.agents.protocol import Agent, AgentName, Board, Fault, Instruction, Outcome, Usage
from engiagent.agents.routing import Route, Router
from engiagent.errors import EngiagentError

OnTurn = Callable[[Board, Outcome], None]
OnRecord = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True)
class Ended:
    """How a coordinated run ended.

    Attributes
    ----------
    board
        The best that there was, by its certificate.
    reason
        Why it ended.
    stopped
        Whether a budget or Ctrl-C ended it.
    faults, error
        Of the last turn.
    """

    board: Board
    reason: str
    stopped: bool
    usage: Usage
    records: tuple[Mapping[str, Any], ...]
    faults: tuple[Fault, ...] = ()
    error: EngiagentError | None = None


@dataclass
class Coordinator:
    """Runs agents on a board.

    Attributes
    ----------
    on_turn, on_record
        Called after each turn with the new board, and with each routing record.
    """

    agents: Mapping[AgentName, Agent]
    router: Router
    meter: Meter
    memory: Remembers = field(default_factory=Forgetful)
    on_turn: OnTurn | None = None
    on_record: OnRecord | None = None
    _repairs: list[tuple[Route, str, AgentName]] = field(default_factory=list)
    _found_by: AgentName | None = None

    def run(self, board: Board, first: AgentName = "analyzer") -> Ended:
        """Let agents work until the result is good, nobody can go on, or a budget is used up."""
        records: list[Mapping[str, Any]] = []
        best, gains = board, Gains()
        route = Route(first, "", "medium", 1.0, "the main way", "main way")
        outcome: Outcome | None = None
        while route.target is not None:
            spent = self.meter.spent()
            if spent is not None:
                return self._ended(best, spent, True, records, outcome)
            if route.script:
                board = board.having(scripting=True, blueprint=None, draft=None)
            board = board.having(instruction=self._instruction(route))
            outcome, seconds = self._turn(route.target, board)
            outcome = _still(outcome, board.instruction)
            board = board.having(**outcome.changes)
            self.meter.count(outcome.usage)
            self._learn(route, outcome)
            judged = None
            if outcome.agent == "evaluator":
                judged = gains.evaluated(board, outcome.faults)
            records.append(self._record(len(records) + 1, route, outcome, seconds, judged))
            if self.on_turn is not None:
                self.on_turn(board, outcome)
            best = better(best, board)
            exhausted = gains.exhausted() if outcome.faults else None
            if exhausted is not None:
                return self._ended(best, exhausted, False, records, outcome)
            route = self.router.after(outcome, board)
            self.meter.usage += route.usage
            if outcome.status == "stopped":
                return self._ended(best, outcome.summary, True, records, outcome)
            if route.target is not None:
                self.router.note(route.target, route.trigger, route.faults)
        return self._ended(best, route.reasoning, False, records, outcome)

    def _ended(
        self,
        best: Board,
        reason: str,
        stopped: bool,
        records: list[Mapping[str, Any]],
        last: Outcome | None,
    ) -> Ended:
        faults = () if last is None else last.faults
        error = None if last is None else last.error
        return Ended(best, reason, stopped, self.meter.usage, tuple(records), faults, error)

    def _turn(self, name: AgentName, board: Board) -> tuple[Outcome, float]:
        begun = perf_counter()
        try:
            outcome = blocked(name, board) or self.agents[name].run(board)
        except EngiagentError as error:
            # What an agent's tools refuse is something to mend, not the end of the run.
            outcome = Outcome(
                agent=name, status="failed", summary=str(error), faults=of_error(error), error=error
            )
        return outcome, perf_counter() - begun

    def _instruction(self, route: Route) -> Instruction:
        if route.trigger is None:
            return Instruction(route.strategy)
        lessons = self.memory.lessons(route.trigger.signature)
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
            self.memory.learn(
                made.target,
                made.trigger.kind,
                made.trigger.signature,
                not there,
                made.strategy,
                "" if there else _pattern(repair),
            )
        self._repairs = waiting

    def _record(
        self,
        step: int,
        route: Route,
        outcome: Outcome,
        seconds: float,
        judged: Mapping[str, Any] | None,
    ) -> Mapping[str, Any]:
        record: dict[str, Any] = {
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
        if self.on_record is not None:
            self.on_record(record)
        return record


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


def _still(outcome: Outcome, instruction: Instruction) -> Outcome:
    """Return an outcome with what an answer that was none has left as it is."""
    if not _no_answer(outcome):
        return outcome
    faults = dict.fromkeys((*outcome.faults, *standing(instruction.faults)))
    return replace(outcome, faults=tuple(faults))
