"""One run under way: agents take it on, its folder stores what they make, whatever ends it."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Final

from engiagent.agents.coordinator import ALONE, Ended, Guidance, team
from engiagent.agents.engines.offline import OfflineEngine
from engiagent.agents.protocol import AgentName, Board, Engine, Outcome
from engiagent.agents.scripting import certified
from engiagent.agents.verifier import claim_of
from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.errors import EngiagentError, InternalError
from engiagent.explain.explaining import explained, reasons
from engiagent.formulations.expansion import expand
from engiagent.formulations.pyomo_script import emit_pyomo
from engiagent.io.jsontext import dumps_canonical
from engiagent.report import write_report
from engiagent.report.artefacts import load_run
from engiagent.run.certify import certify, not_shown, without_schedule
from engiagent.run.folder import (
    BLUEPRINT,
    CASES,
    CERTIFICATE,
    EXPLANATION,
    MEETING,
    OPINION,
    PROBLEM,
    REQUIREMENTS,
    SCRIPT,
    SOLUTION,
    RunFolder,
    State,
    remove_run,
)
from engiagent.run.inputs import copy_data, copy_problem, slots_of
from engiagent.run.keyfigures import KeyFigures
from engiagent.run.proofs import PLAIN, Proofs, another_solver
from engiagent.run.sandbox.limits import RESULT
from engiagent.run.stages import choice_of
from engiagent.solvers.result import OnProgress, Progress, SolveOptions
from engiagent.solvers.solution import save_solution
from engiagent.study.returns import compared_cases, study_beside
from engiagent.text import Problem
from engiagent.verify.opinions import Opinion, with_opinion


@dataclass(kw_only=True)
class RunOutcome:
    """How a run ended; while it is under way, what it has found so far."""

    problem: str
    folder: Path
    state: State = "done"  # ``failed``: an error stopped it
    # the certificate's; ``undecided`` where a run ends without one, None when it failed
    verdict: str | None = None
    reason: str | None = None  # what led to a verdict other than certified, or to the state
    solver_status: str | None = None  # the solver's own status, None when nothing was solved
    choice: str | None = None  # which solver was chosen and why, as text of several lines
    # objective, bound: as the certificate has them: value, unit and sense, and the bound's value
    objective: Mapping[str, Any] | None = None
    bound: float | None = None
    # missing, contradictions, not_understood, violations: what the problem does not give,
    # statements of it that clash, sentences that were not understood, broken requirements
    missing: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    violations: tuple[Any, ...] = ()
    why_missing: Mapping[str, str] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    error: Exception | None = None  # the error behind the state ``failed``
    notes: tuple[str, ...] = ()
    # the base and the cases of the blueprint's report as solved: case, status, objective
    cases: tuple[Mapping[str, Any], ...] = ()
    figures: KeyFigures = field(default_factory=KeyFigures)


ALLOWANCE: Final = 10.0
"""How long after the time limit work still begins on which the verdict does not hang. [s]"""
SECOND_SECONDS: Final = (30.0, 12.0)
"""The longest time for a second solver that nobody asked for, and what it has in any case."""


@dataclass
class Run:
    """One run under way."""

    folder: RunFolder
    problem: Problem | None
    options: SolveOptions
    on_progress: OnProgress | None
    proofs: Proofs = PLAIN
    guidance: Guidance = ALONE
    blueprint: Blueprint | None = None
    clock: Callable[[], float] = time.monotonic
    out: RunOutcome = field(init=False)
    _due: float = inf
    _saved: Any = None

    def __post_init__(self) -> None:
        self.out = RunOutcome(problem=str(self.folder.record["problem"]), folder=self.folder.path)

    @property
    def data(self) -> Path:
        """Where the run's copy of the problem and its data lie."""
        return self.folder.path / PROBLEM

    @property
    def left(self) -> float:
        """Seconds until what only explains or confirms the newest program's plan begins no more."""
        return self._due - self.clock()

    def guarded(self, work: Callable[[], None]) -> RunOutcome:
        """Do the work; whatever ends it, record how the run ended."""
        out = self.out
        try:
            work()
        except KeyboardInterrupt:
            out.state, out.reason = "interrupted", out.reason or "interrupted"
        except MissingDataError as error:
            names = error.names if self.blueprint is None else slots_of(self.blueprint, error.names)
            out.missing, out.reason = tuple(names), str(error)
            self._undecided()
            self._report()
        except EngiagentError as error:
            out.state, out.error, out.reason = "failed", error, str(error)
            self._report()
        except Exception as error:
            place = self.folder.save_traceback(error)
            kind = type(error).__name__
            out.error = InternalError(f"internal error ({kind}); the traceback is in {place}")
            out.state, out.reason = "failed", str(out.error)
        self._conclude()
        self.folder.finish(out.state, out.verdict, out.reason)
        if self._worthless():
            remove_run(self.folder.path)
        return out

    def _worthless(self) -> bool:
        """Whether wrong input ended it before a model was asked, in a folder that nobody named."""
        own = not self.folder.named and self.folder.record["asked"].get("engine", "offline")
        wrong = self.out.error is not None and not isinstance(self.out.error, InternalError)
        return own == "offline" and wrong and self.out.certificate is None

    def from_problem(self, overrides: dict[str, str], engine: Engine) -> None:
        """Let the agents take the problem from its text to a certificate."""
        assert self.problem is not None
        with self.folder.stage("load"):
            copy_problem(self.problem, self.folder)
        self._coordinate(engine, "analyzer", overrides=overrides)

    def from_blueprint_file(self, blueprint: Blueprint, source: Path) -> None:
        """Copy what the blueprint needs and let the agents go on from it."""
        with self.folder.stage("load"):
            if self.problem is not None:
                copy_problem(self.problem, self.folder)
            copy_data(blueprint, source, self.folder)
            self.folder.write(BLUEPRINT, blueprint.to_json())
        known: dict[str, Any] = {"blueprint": blueprint, "sufficiency": "complete"}
        self._coordinate(OfflineEngine(), "modeler", **known)

    def _coordinate(self, engine: Engine, first: AgentName, **known: Any) -> None:
        """Run the agents, store what they make on the way, and end with the best of it."""
        name = self.out.problem
        board = Board(
            problem=self.problem, data=self.data, name=name, options=self.options, **known
        )
        ended = team(
            engine, self.folder, self.guidance, self._certificate_of, self._progressed, self._turned
        ).run(board, first)
        self._adopt(ended.board)
        if self.out.certificate is None:
            if ended.error is not None:
                raise ended.error
            self.out.reason = ended.reason
            self._undecided()
        else:
            self._explain(ended)
        self._report()

    def _progressed(self, progress: Progress) -> None:
        """Write down how far the solver has come, and pass it on."""
        self.folder.progress(progress.elapsed, asdict(progress))
        if self.on_progress is not None:
            self.on_progress(progress)

    def _turned(self, board: Board, outcome: Outcome) -> None:
        """Store what a turn brought, so that a run that is killed still shows it."""
        for text in board.notes:
            if text not in self.folder.notes:
                self.folder.note(text)
        if "program" in outcome.changes and board.program is not None:
            self.out.choice = choice_of(board.program, self.options)
            self._due = self.clock() + (self.options.time_limit or inf) + ALLOWANCE
        self._adopt(board)

    def _adopt(self, board: Board) -> None:
        """Take over what a board shows, and write down what is new."""
        out, folder, blueprint = self.out, self.folder, board.blueprint
        for name in ("missing", "not_understood", "contradictions", "why_missing"):
            setattr(out, name, getattr(board, name))
        if board.program is not None and blueprint is not None:
            blueprint = in_full(blueprint)
        if board.scripting:  # a script takes the place of a blueprint that was given up
            self.blueprint = None
            (folder.path / BLUEPRINT).unlink(missing_ok=True)
            if board.script is not None:
                folder.write(SCRIPT, board.script)
        if blueprint is not None and blueprint != self.blueprint:
            self.blueprint = blueprint
            folder.write(BLUEPRINT, blueprint.to_json())
        if board.solution is not None and board.solution is not self._saved:
            self._saved = board.solution
            save_solution(board.solution, folder.path / SOLUTION)
        if board.certificate is not None and board.certificate is not out.certificate:
            out.certificate = board.certificate
            folder.write(CERTIFICATE, dumps_canonical(board.certificate))
        if board.meeting is not None:
            folder.write(MEETING, board.meeting.to_json())
        else:
            (folder.path / MEETING).unlink(missing_ok=True)  # it was of another blueprint
        if board.requirements is not None:
            folder.write(REQUIREMENTS, board.requirements)

    def _certificate_of(self, board: Board) -> dict[str, Any]:
        """Have the newest schedule certified, with the proofs that are asked for."""
        if board.scripting:  # its schedule is stored, so that it can be checked again
            self.folder.record["asked"]["schedule"] = RESULT
            return certified(board, self.folder.path).to_dict()
        assert board.blueprint is not None
        blueprint, solution = in_full(board.blueprint), board.solution
        said = self._opinion(board, blueprint, self.proofs, self.options)
        found = certify(
            self.problem,
            solution,
            blueprint,
            folder=self.data,
            name=board.name,
            exact=self.proofs.exact,
            opinion=said,
            overrides=board.overrides,
            reading=claim_of(board.meeting),
        )
        # One solver's word is no proof; that another one comes to the same is more.
        alone = found.plan["optimum"] == "reported" and said is None
        other = another_solver(solution) if alone else None
        left = self.left
        if other is not None and left <= 0.0:
            self.folder.leave_out(OPINION)
        elif other is not None:
            seconds = 0.0 if board.result is None else board.result.seconds
            most, least = SECOND_SECONDS
            limit = min(most, max(least, 3.0 * seconds), self.options.time_limit or inf, left)
            proofs = replace(self.proofs, second_solver=other)
            limited = replace(self.options, time_limit=limit)
            with suppress(EngiagentError):  # what it cannot take stays one solver's word
                said = self._opinion(board, blueprint, proofs, limited)
            if said is not None:
                self.folder.record["asked"]["second_solver"] = other
                found = with_opinion(found, said)
        return found.to_dict()

    def _opinion(
        self, board: Board, blueprint: Blueprint, proofs: Proofs, options: SolveOptions
    ) -> Opinion | None:
        """Return what a second solver says of the newest schedule, stored in the folder."""
        said = proofs.opinion(
            self.problem, board.solution, blueprint, options, folder=self.data, name=board.name
        )
        if said is not None:
            self.folder.write(OPINION, dumps_canonical(said.to_dict()))
        return said

    def _explain(self, ended: Ended) -> None:
        """Say why the result is what it is, and write the script that makes it again."""
        board, result, blueprint = ended.board, ended.board.result, self.blueprint
        program, out = board.program, self.out
        is_open = (board.certificate or {}).get("verdict") == "undecided"
        if ended.stopped or ended.faults or is_open:
            out.reason = ended.reason
        if result is None or program is None or blueprint is None:
            return
        out.solver_status = result.status
        if result.status != "optimal":
            out.reason = result.reason
        if result.status == "interrupted":
            out.state = "interrupted"

        def explanation() -> str:
            given = (blueprint, program, result, self.data, self.problem)
            found = explained(*given, name=board.name, choice=out.choice, seconds=self.left)
            if why := reasons(found):
                out.reason = f"{out.reason}: {'; '.join(why)}"
            return dumps_canonical(found.to_dict())

        def cases() -> str:
            assert board.blueprint is not None
            found = study_beside(board.blueprint, self.data, self.options)
            assert found is not None
            out.cases = compared_cases(found.rows, board.blueprint.core)
            return found.to_json()

        self._further("explain", EXPLANATION, explanation)
        self._further("emit", SCRIPT, lambda: emit_pyomo(blueprint, self.data, program))
        report = None if board.blueprint is None else board.blueprint.core.report
        if report is not None and report.cases and result.status == "optimal":
            self._further("cases", CASES, cases)

    def _undecided(self) -> None:
        if self.problem is not None:
            gaps = (self.out.missing, self.out.not_understood, self.out.contradictions)
            found = without_schedule(self.problem, self.blueprint, *gaps)
            self.out.certificate = found.to_dict()
            self.folder.write(CERTIFICATE, found.to_json())

    def _report(self) -> None:
        """Write the report, which shows how the run ended, so the record goes first."""
        self._conclude()
        with self.folder.stage("report"):
            names = ("state", "verdict", "reason")
            self.folder.record |= {name: getattr(self.out, name) for name in names}
            self.folder.save()
            self._aside(self._write_report)

    def _write_report(self) -> None:
        run = load_run(self.folder.path, blueprint=self.blueprint, solution=self._saved)
        write_report(run)
        self.out.figures = run.figures

    def _further(self, stage: str, artefact: str, work: Callable[[], str]) -> None:
        """Write what the verdict does not hang on, while there is time for it."""
        if self.left <= 0.0:
            self.folder.leave_out(artefact)
            return
        with self.folder.stage(stage):
            self._aside(lambda: self.folder.write(artefact, work()))

    def _aside(self, work: Callable[[], None]) -> None:
        """Do what the verdict does not hang on; if it fails, the run goes on and says so."""
        stage = self.folder.record["stage"]
        try:
            work()
        except EngiagentError as error:
            self.folder.note(f"the stage {stage} failed: {error}")
        except Exception as error:
            place, kind = self.folder.save_traceback(error), type(error).__name__
            self.folder.note(f"the stage {stage} failed ({kind}); the traceback is in {place}")

    def _conclude(self) -> None:
        """Take into the outcome what the certificate says, if there is one."""
        out, found = self.out, self.out.certificate or {}
        out.verdict, out.objective = found.get("verdict"), found.get("objective")
        if out.verdict is None and out.error is None:
            posed = out.not_understood or not (out.missing or out.contradictions)
            out.verdict = "undecided" if posed else "ill-posed"
        bound = found.get("bound")
        out.bound = bound.get("value") if isinstance(bound, Mapping) else None
        out.reason = out.reason or found.get("reason")
        for name in ("missing", "contradictions", "not_understood", "violations"):
            setattr(out, name, tuple(found.get(name) or getattr(out, name)))
        if out.verdict == "undecided" and not out.missing and not out.not_understood:
            out.not_understood = tuple(not_shown(found))
        out.notes = tuple(self.folder.notes)


def in_full(blueprint: Blueprint) -> Blueprint:
    """Return a blueprint with its algebra in full: what is solved and what the checker reads."""
    return blueprint if blueprint.kind == "definitions" else expand(blueprint)
