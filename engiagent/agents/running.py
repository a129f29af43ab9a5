"""One run under way: agents take it on, its folder stores what they make, whatever ends it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from math import inf
from pathlib import Path
from typing import Any, Final

from engiagent.agents.coordinator import ALONE, Ended, Guidance, team
from engiagent.agents.protocol import AgentName, Board, Engine, Outcome
from engiagent.agents.scripting import certified
from engiagent.agents.verifier import claim_of
from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.errors import EngiagentError, InternalError
from engiagent.explain.explaining import explained, reasons
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
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
    RunFolder,
    State,
    remove_run,
)
from engiagent.run.inputs import copy_data, copy_problem, slots_of
from engiagent.run.keyfigures import KeyFigures
from engiagent.run.proofs import PLAIN, Proofs, another_solver
from engiagent.run.sandbox.limits import RESULT
from engiagent.run.stages import choice_of, save
from engiagent.solvers.result import OnProgress, Progress, SolveOptions
from engiagent.study.returns import compared_cases, study_beside
from engiagent.text import Problem
from engiagent.verify.opinions import Opinion, with_opinion


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a run ended."""

    problem: str
    folder: Path
    state: State  # ``done``, ``failed`` (an error stopped it) or ``interrupted``
    # the certificate's; ``undecided`` where a run ends without one, None when it failed
    verdict: str | None
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
    # why each of ``missing`` is needed, by name
    why_missing: Mapping[str, str] = field(default_factory=dict)
    certificate: Mapping[str, Any] | None = None
    error: Exception | None = None  # the error behind the state ``failed``
    notes: tuple[str, ...] = ()
    # the base and the cases of the blueprint's report as solved: case, status, objective
    cases: tuple[Mapping[str, Any], ...] = ()
    # the key figures of the plan; none without one
    figures: KeyFigures = field(default_factory=KeyFigures)


ALLOWANCE: Final = 10.0
"""How long after the time limit work still begins on which the verdict does not hang. [s]"""
SECOND_SECONDS: Final = (30.0, 12.0)
"""The longest time for a second solver that nobody asked for, and what it has in any case."""


@dataclass
class Run:
    """One run under way: what it found so far."""

    folder: RunFolder
    problem: Problem | None
    options: SolveOptions
    on_progress: OnProgress | None
    proofs: Proofs = PLAIN
    guidance: Guidance = ALONE
    blueprint: Blueprint | None = None
    missing: tuple[str, ...] = ()
    contradictions: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    why_missing: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    status: str | None = None
    choice: str | None = None
    cases: tuple[Mapping[str, Any], ...] = ()
    figures: KeyFigures = field(default_factory=KeyFigures)
    state: State = "done"
    certificate: Mapping[str, Any] | None = None
    error: Exception | None = None
    clock: Callable[[], float] = time.monotonic
    _due: float = inf
    _saved: Any = None

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
        try:
            work()
        except KeyboardInterrupt:
            self.state, self.reason = "interrupted", self.reason or "interrupted"
        except MissingDataError as error:
            names = error.names if self.blueprint is None else slots_of(self.blueprint, error.names)
            self.missing, self.reason = tuple(names), str(error)
            self._undecided()
            self._report()
        except EngiagentError as error:
            self.state, self.error, self.reason = "failed", error, str(error)
            self._report()
        except Exception as error:
            place = self.folder.save_traceback(error)
            kind = type(error).__name__
            self.error = InternalError(f"internal error ({kind}); the traceback is in {place}")
            self.state, self.reason = "failed", str(self.error)
        outcome = self._outcome()
        self.folder.finish(outcome.state, outcome.verdict, outcome.reason)
        if self._worthless():
            remove_run(self.folder.path)
        return outcome

    def _worthless(self) -> bool:
        """Whether wrong input ended it before a model was asked, in a folder that nobody named."""
        own = not self.folder.named and self.folder.record["asked"].get("engine", "offline")
        wrong = self.error is not None and not isinstance(self.error, InternalError)
        return own == "offline" and wrong and self.certificate is None

    def from_problem(self, overrides: dict[str, str], engine: Engine) -> None:
        """Let the agents take the problem from its text to a certificate."""
        assert self.problem is not None
        with self.folder.stage("load"):
            copy_problem(self.problem, self.folder)
        self._coordinate(self._board(overrides=overrides), engine, "analyzer")

    def from_blueprint_file(self, blueprint: Blueprint, source: Path) -> None:
        """Copy what the blueprint needs and let the agents go on from it."""
        from engiagent.agents.engines.offline import OfflineEngine

        with self.folder.stage("load"):
            if self.problem is not None:
                copy_problem(self.problem, self.folder)
            copy_data(blueprint, source, self.folder)
            self.folder.write(BLUEPRINT, blueprint.to_json())
        board = self._board(blueprint=blueprint, sufficiency="complete")
        self._coordinate(board, OfflineEngine(), "modeler")

    def _board(self, **known: Any) -> Board:
        name = str(self.folder.record["problem"])
        return Board(problem=self.problem, data=self.data, name=name, options=self.options, **known)

    def _coordinate(self, board: Board, engine: Engine, first: AgentName) -> None:
        """Run the agents, keep what they make on the way, and end with the best of it."""
        ended = team(
            engine,
            self.folder,
            self.guidance,
            self._certificate_of,
            self.proofs.claimed,
            self._progressed,
            self._turned,
        ).run(board, first)
        self._adopt(ended.board)
        if self.certificate is None:
            if ended.error is not None:
                raise ended.error
            self.reason = ended.reason
            self._undecided()
        else:
            self._tell(ended)
        self._report()

    def _progressed(self, progress: Progress) -> None:
        """Write down how far the solver has come, and pass it on."""
        self.folder.progress(progress.elapsed, asdict(progress))
        if self.on_progress is not None:
            self.on_progress(progress)

    def _turned(self, board: Board, outcome: Outcome) -> None:
        """Keep what a turn brought, so that a run that is killed still shows it."""
        for text in board.notes:
            if text not in self.folder.notes:
                self.folder.note(text)
        if "program" in outcome.changes and board.program is not None:
            self.choice = choice_of(board.program, self.options)
            self._due = self.clock() + (self.options.time_limit or inf) + ALLOWANCE
        self._adopt(board)

    def _adopt(self, board: Board) -> None:
        """Take over what a board shows, and write down what is new."""
        self.missing, self.not_understood = board.missing, board.not_understood
        self.contradictions = board.contradictions
        self.why_missing = board.why_missing
        blueprint = board.blueprint
        if board.program is not None and blueprint is not None:
            blueprint = in_full(blueprint)
        if board.scripting:  # a script takes the place of a blueprint that was given up
            self.blueprint = None
            (self.folder.path / BLUEPRINT).unlink(missing_ok=True)
            if board.script is not None:
                self.folder.write(SCRIPT, board.script)
        if blueprint is not None and blueprint != self.blueprint:
            self.blueprint = blueprint
            self.folder.write(BLUEPRINT, blueprint.to_json())
        if board.solution is not None and board.solution is not self._saved:
            self._saved = board.solution
            save(board.solution, self.folder)
        if board.certificate is not None and board.certificate is not self.certificate:
            self.certificate = board.certificate
            self.folder.write(CERTIFICATE, dumps_canonical(board.certificate))
        if board.meeting is not None:
            self.folder.write(MEETING, board.meeting.to_json())
        elif (self.folder.path / MEETING).is_file():
            (self.folder.path / MEETING).unlink()  # it was of another blueprint
        if board.requirements is not None:
            self.folder.write(REQUIREMENTS, board.requirements)

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
        if other is None:
            return found.to_dict()
        left = self.left
        if left <= 0.0:
            self.folder.leave_out(OPINION)
            return found.to_dict()
        seconds = 0.0 if board.result is None else board.result.seconds
        most, least = SECOND_SECONDS
        limit = min(most, max(least, 3.0 * seconds), self.options.time_limit or inf, left)
        proofs = replace(self.proofs, second_solver=other)
        try:
            said = self._opinion(board, blueprint, proofs, replace(self.options, time_limit=limit))
        except EngiagentError:
            return found.to_dict()  # what this solver cannot take stays one solver's word
        if said is None:
            return found.to_dict()
        self.folder.record["asked"]["second_solver"] = other
        return with_opinion(found, said).to_dict()

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

    def _tell(self, ended: Ended) -> None:
        """Say why the result is what it is, and write the script that makes it again."""
        board, result, blueprint = ended.board, ended.board.result, self.blueprint
        program = board.program
        is_open = (board.certificate or {}).get("verdict") == "undecided"
        if ended.stopped or ended.faults or is_open:
            self.reason = ended.reason
        if result is None or program is None or blueprint is None:
            return
        self.status = result.status
        if result.status != "optimal":
            self.reason = result.reason
        if result.status == "interrupted":
            self.state = "interrupted"
        self._further("explain", EXPLANATION, lambda: self._explain(blueprint, board))
        self._further("emit", SCRIPT, lambda: self._emit(blueprint, program))
        report = None if board.blueprint is None else board.blueprint.core.report
        if report is not None and report.cases and self.status == "optimal":
            self._further("cases", CASES, lambda: self._compare(board))

    def _compare(self, board: Board) -> None:
        """Solve the cases that the report asks for beside the base, with the same options."""
        assert board.blueprint is not None
        found = study_beside(board.blueprint, self.data, self.options)
        assert found is not None
        self.cases = compared_cases(found.rows, board.blueprint.core)
        self.folder.write(CASES, found.to_json())

    def _explain(self, blueprint: Blueprint, board: Board) -> None:
        """Say which demands clash, what has no limit, or what holds the plan back."""
        assert board.program is not None
        assert board.result is not None
        given = (blueprint, board.program, board.result, self.data, self.problem)
        found = explained(*given, name=board.name, choice=self.choice, seconds=self.left)
        self.folder.write(EXPLANATION, dumps_canonical(found.to_dict()))
        why = reasons(found)
        if why:
            self.reason = f"{self.reason}: {'; '.join(why)}"

    def _undecided(self) -> None:
        if self.problem is not None:
            gaps = (self.missing, self.not_understood, self.contradictions)
            found = without_schedule(self.problem, self.blueprint, *gaps)
            self.certificate = found.to_dict()
            self.folder.write(CERTIFICATE, found.to_json())

    def _emit(self, blueprint: Blueprint, program: Program) -> None:
        from engiagent.formulations.pyomo_script import emit_pyomo

        self.folder.write(SCRIPT, emit_pyomo(blueprint, self.data, program))

    def _report(self) -> None:
        """Write the report, which shows how the run ended, so the record goes first."""
        outcome = self._outcome()
        with self.folder.stage("report"):
            names = ("state", "verdict", "reason")
            self.folder.record |= {name: getattr(outcome, name) for name in names}
            self.folder.save()
            self._aside(self._write_report)

    def _write_report(self) -> None:
        run = load_run(self.folder.path, blueprint=self.blueprint, solution=self._saved)
        write_report(run)
        self.figures = run.figures

    def _further(self, stage: str, artefact: str, work: Callable[[], object]) -> None:
        """Do a stage that the verdict does not hang on, while there is time for it."""
        if self.left <= 0.0:
            self.folder.leave_out(artefact)
            return
        with self.folder.stage(stage):
            self._aside(work)

    def _aside(self, work: Callable[[], object]) -> None:
        """Do what the verdict does not hang on; if it fails, the run goes on and says so."""
        try:
            work()
        except EngiagentError as error:
            self.folder.note(f"the stage {self.folder.record['stage']} failed: {error}")
        except Exception as error:
            place = self.folder.save_traceback(error)
            stage, kind = self.folder.record["stage"], type(error).__name__
            self.folder.note(f"the stage {stage} failed ({kind}); the traceback is in {place}")

    def _outcome(self) -> RunOutcome:
        found = self.certificate or {}
        verdict = found.get("verdict")
        if verdict is None and self.error is None:
            verdict = "ill-posed" if self.missing or self.contradictions else "undecided"
            verdict = "undecided" if self.not_understood else verdict
        bound = found.get("bound")
        missing = tuple(found.get("missing") or self.missing)
        not_understood = tuple(found.get("not_understood") or self.not_understood)
        if verdict == "undecided" and not missing and not not_understood:
            not_understood = tuple(not_shown(found))
        return RunOutcome(
            problem=str(self.folder.record["problem"]),
            folder=self.folder.path,
            state=self.state,
            verdict=verdict,
            reason=self.reason or found.get("reason"),
            solver_status=self.status,
            choice=self.choice,
            objective=found.get("objective"),
            bound=bound.get("value") if isinstance(bound, Mapping) else None,
            missing=missing,
            contradictions=tuple(found.get("contradictions") or self.contradictions),
            not_understood=not_understood,
            violations=tuple(found.get("violations") or ()),
            why_missing=self.why_missing,
            certificate=self.certificate,
            error=self.error,
            notes=tuple(self.folder.notes),
            cases=self.cases,
            figures=self.figures,
        )


def in_full(blueprint: Blueprint) -> Blueprint:
    """Return a blueprint with its algebra in full: what is solved and what the checker reads."""
    return blueprint if blueprint.kind == "definitions" else expand(blueprint)
