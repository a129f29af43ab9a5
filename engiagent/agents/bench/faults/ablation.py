"""Runs of the scripted analyst under the coordinator and under what is left of it without parts."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from engiagent.agents.analyzer import Analyzer
from engiagent.agents.bench.faults.analyst import ScriptedAnalyst
from engiagent.agents.bench.faults.injections import CLASSES, Case, draw
from engiagent.agents.bench.faults.subjects import Subject, subjects
from engiagent.agents.budgets import Budget, Meter
from engiagent.agents.coordinator import Coordinator, Ended
from engiagent.agents.evaluator import Evaluator, certificate_of
from engiagent.agents.modeler import Modeler, compiled
from engiagent.agents.protocol import Agent, AgentName, Board, Fault, Outcome
from engiagent.agents.routing import Policy, Router
from engiagent.agents.solver import Solver
from engiagent.agents.verifier import Verifier, static_faults
from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.io.jsontext import dumps_canonical
from engiagent.solvers.result import SolveOptions
from engiagent.verify.verdicts import USABLE

MODES: Final[Mapping[str, Policy]] = {
    "full": Policy(),
    "fixed": Policy(coordination="fixed"),
    "no_verifier": Policy(verifier=False),
    "no_forced_switching": Policy(forced_switching=False),
}
SOLVE_SECONDS: Final = 5.0
CLAIMS: Final = (*USABLE, "proven infeasible")
ATTEMPTS: Final = 12
"""Draws of a fault that does harm, before a problem has no such case."""


@dataclass(frozen=True)
class Result:
    """How one run ended.

    Attributes
    ----------
    verdict
        The run's own; None when it ended without a certificate.
    right
        Whether its last result is right by the expert's annotations, which it never saw.
    false
        Whether it claims something that those annotations contradict.
    """

    case: Case
    mode: str
    verdict: str | None
    right: bool
    false: bool
    turns: int
    tokens: int
    reason: str
    seconds: float

    @property
    def certified(self) -> bool:
        """Whether it is right and the run could show it."""
        return self.right and self.verdict in ("certified", "proven infeasible")


@dataclass(frozen=True)
class Remembering:
    """A solver that does not solve the same blueprint twice in the same way."""

    agent: Agent
    known: dict[Any, Any]
    name: AgentName = "solver"

    def run(self, board: Board) -> Outcome:
        """Return what the solver says, or said."""
        assert board.blueprint is not None
        before = None if board.result is None else board.result.solver
        key = ("solve", board.blueprint.sha256, bool(board.instruction.faults) and before)
        if key not in self.known:
            self.known[key] = self.agent.run(board)
        found = self.known[key]
        assert isinstance(found, Outcome)
        return found


def cases(
    chosen: Sequence[Subject], count: int, seed: str, on_skip: Callable[[str], None] | None = None
) -> Iterator[tuple[Subject, Case]]:
    """Yield cases, classes and problems in turn, whose blueprint is really wrong.

    A fault that changes nothing in the answer is drawn again: there is nothing to recover.
    """
    made, number = 0, 0
    while made < count and number < 50 * count:
        fault_class = CLASSES[number % len(CLASSES)]
        subject = chosen[(number // len(CLASSES) + number) % len(chosen)]
        found = _harmful(subject, fault_class, number, seed)
        number += 1
        if found is not None:
            made += 1
            yield subject, found
        elif on_skip is not None:
            on_skip(f"{fault_class} does no harm in {subject.name}")


def _harmful(subject: Subject, fault_class: str, number: int, seed: str) -> Case | None:
    text = subject.problem.text
    for attempt in range(ATTEMPTS):
        case = draw(
            number * ATTEMPTS + attempt, subject.name, subject.document, text, fault_class, seed
        )
        if case is None or not case.injections:
            return case
        if not _answers(subject, case.spoilt(subject.document)):
            return case
    return None


def _answers(subject: Subject, document: Mapping[str, Any]) -> bool:
    """Whether a blueprint gives the right answer as it is."""
    text = dumps_canonical(document)
    key = ("answers", text)
    if key not in subject.known:
        subject.known[key] = _solved_right(subject, text)
    return bool(subject.known[key])


def _solved_right(subject: Subject, text: str) -> bool:
    try:
        blueprint = Blueprint.from_json(text)
        board = _board(subject).having(blueprint=blueprint)
        program = compiled(blueprint, board)[0]
        if program is None:
            return False
        outcome = _solver(subject).run(board.having(program=program))
    except EngiagentError:
        return False
    return subject.right(outcome.changes["solution"], blueprint)[0]


def play(subject: Subject, case: Case, mode: str, seed: str) -> tuple[Result, Ended]:
    """Let the scripted analyst and the agents work on a case under a policy."""
    begun = time.perf_counter()
    analyst = ScriptedAnalyst(subject.document, case, f"{seed}|{case.problem}|{case.number}")
    agents: tuple[Agent, ...] = (
        Analyzer(analyst),
        Modeler(analyst),
        Verifier(analyst, checks=lambda board: _data_faults(subject, board)),
        _solver(subject),
        Evaluator(analyst, lambda board: _certificate(subject, board)),
    )
    by_name: dict[AgentName, Agent] = {agent.name: agent for agent in agents}
    coordinator = Coordinator(by_name, Router(analyst, MODES[mode]), Meter(Budget()))
    ended = coordinator.run(_board(subject))
    return _result(subject, case, mode, ended, time.perf_counter() - begun), ended


def _board(subject: Subject) -> Board:
    return Board(
        problem=subject.problem,
        data=subject.problem.folder,
        name=subject.problem.id,
        options=SolveOptions(time_limit=SOLVE_SECONDS),
    )


def _solver(subject: Subject) -> Remembering:
    return Remembering(Solver(isolate=False), subject.known)


def _data_faults(subject: Subject, board: Board) -> tuple[Fault, ...]:
    assert board.blueprint is not None
    key = ("data", board.blueprint.sha256, board.program is None)
    if key not in subject.known:
        subject.known[key] = static_faults(board)
    found: tuple[Fault, ...] = subject.known[key]
    return found


def _certificate(subject: Subject, board: Board) -> dict[str, Any]:
    assert board.blueprint is not None
    met = "" if board.meeting is None else board.meeting.to_json()
    solver = "" if board.result is None else board.result.solver
    key = ("certificate", board.blueprint.sha256, met, solver, board.by_model)
    if key not in subject.known:
        subject.known[key] = certificate_of(board)
    found: dict[str, Any] = subject.known[key]
    return found


def _result(subject: Subject, case: Case, mode: str, ended: Ended, seconds: float) -> Result:
    board = ended.board
    verdict = None if board.certificate is None else str(board.certificate["verdict"])
    right, truth = False, None
    if board.certificate is not None and board.blueprint is not None:
        key = (
            "right",
            board.blueprint.sha256,
            None if board.result is None else board.result.solver,
        )
        if key not in subject.known:
            subject.known[key] = subject.right(board.solution, board.blueprint)
        right, truth = subject.known[key]
    honest = right or (verdict == "feasible" and truth in ("certified", "feasible"))
    return Result(
        case,
        mode,
        verdict,
        right,
        verdict in CLAIMS and not honest,
        len(ended.records),
        ended.usage.input_tokens + ended.usage.output_tokens,
        ended.reason,
        seconds,
    )


def bench_faults(
    root: Path,
    count: int,
    seed: str = "1",
    problems: int = 12,
    modes: Sequence[str] = tuple(MODES),
    on_result: Callable[[Result], None] | None = None,
    on_skip: Callable[[str], None] | None = None,
) -> list[Result]:
    """Play every case under every mode.

    Parameters
    ----------
    root
        A corpus with experts' blueprints, requirements and answers.
    count
        Cases; each is run once for each mode.
    seed
        Of faults and luck, which are the same in every mode.
    problems
        How many problems, the smallest of each domain.
    on_result, on_skip
        Called with every result, and with what was left out and why.

    Raises
    ------
    InputError
        When no problem can be used.
    """
    results = []
    with tempfile.TemporaryDirectory(prefix="engiagent-faults-") as scratch:
        chosen = usable(root, Path(scratch), problems, on_skip)
        for subject, case in cases(chosen, count, seed, on_skip):
            for mode in modes:
                result, _ = play(subject, case, mode, seed)
                results.append(result)
                if on_result is not None:
                    on_result(result)
    return results


def usable(
    root: Path, scratch: Path, most: int, on_skip: Callable[[str], None] | None = None
) -> list[Subject]:
    """Return problems whose own expert blueprint gives the right answer in time.

    Raises
    ------
    InputError
        When there is none.
    """
    found = []
    for subject in subjects(root, scratch, most):
        if _answers(subject, subject.document):
            found.append(subject)
        elif on_skip is not None:
            on_skip(f"{subject.name}: its own blueprint is not solved in {SOLVE_SECONDS:g} s")
    if not found:
        raise InputError("no problem's own blueprint could be solved", str(root))
    return found
