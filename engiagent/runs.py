"""The way through the house: from a problem file, or a blueprint, to a run folder with a verdict.

The verdict is the certificate's and nobody else's. Whatever ends a run, its folder says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.errors import EngiagentError
from engiagent.jsontext import dumps_canonical
from engiagent.proofs import OPINION, PLAIN, Proofs
from engiagent.runfolder import (
    BLUEPRINT,
    CERTIFICATE,
    EXPLANATION,
    PROBLEM,
    SCRIPT,
    OnEvent,
    RunFolder,
    State,
)
from engiagent.runinputs import (
    copy_data,
    copy_problem,
    name_of,
    problem_beside,
    problem_folder_of,
    slots_of,
)
from engiagent.solvers.result import OnProgress, SolveOptions, SolverResult
from engiagent.stages import (
    choice_of,
    computed,
    explained,
    gaps,
    reasons,
    save,
    solve_program,
    static_findings,
    why_not_solved,
    write_report,
)

if TYPE_CHECKING:
    import xarray

    from engiagent.formulations.program import Program
    from engiagent.problems import Problem
    from engiagent.verify import Certificate

ENGINES: Final = ("offline",)
UNDECIDED: Final = "undecided"


class InternalError(EngiagentError):
    """An error that nobody expected; its traceback lies in the run folder."""


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """How a run ended.

    Attributes
    ----------
    state
        ``done``, ``failed`` (an error stopped it) or ``interrupted``.
    verdict
        The certificate's; ``undecided`` where a run ends without one, None when it failed.
    reason
        What led to a verdict other than certified, or to the state.
    solver_status
        The solver's own status, None when nothing was solved.
    choice
        Which solver was chosen and why, as text of several lines.
    objective, bound
        As the certificate has them: value, unit and sense, and the bound's value.
    missing, not_understood, violations
        What the problem does not give, sentences that were not understood, broken requirements.
    error
        The error behind the state ``failed``.
    """

    problem: str
    folder: Path
    state: State
    verdict: str | None
    reason: str | None = None
    solver_status: str | None = None
    choice: str | None = None
    objective: Mapping[str, Any] | None = None
    bound: float | None = None
    missing: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    violations: tuple[Any, ...] = ()
    certificate: Mapping[str, Any] | None = None
    error: Exception | None = None
    notes: tuple[str, ...] = ()


def run_problem(
    problem_path: Path | str,
    engine: str = "offline",
    out: Path | str | None = None,
    overrides: Mapping[str, str] | None = None,
    options: SolveOptions | None = None,
    *,
    force: bool = False,
    proofs: Proofs = PLAIN,
    on_event: OnEvent | None = None,
    on_progress: OnProgress | None = None,
) -> RunOutcome:
    """Take a problem through every stage.

    Parameters
    ----------
    problem_path
        A problem file, or the folder of one.
    engine
        Who writes the blueprint.
    out
        The run's folder; None for a new one below ``runs/``.
    overrides
        Values that the user gives, by name, as ``{"battery.charge_efficiency": "0.95"}``.
    options
        Limits and settings of the solver.
    force
        Allow ``out`` to hold an earlier run, which is replaced.
    proofs
        What is asked of the certificate beyond the plain check.
    on_event, on_progress
        Called at the start and end of stages, and while the solver runs.

    Returns
    -------
    The outcome, also when a stage fails or Ctrl-C ends the run.

    Raises
    ------
    EngiagentError
        When the problem cannot be read or the folder cannot be used; there is no run then.
    """
    from engiagent.problems import Problem

    if engine not in ENGINES:
        raise EngiagentError(
            f"the engine {engine!r} is not available; available: {', '.join(ENGINES)}"
        )
    problem = Problem.load(problem_path)
    options = options or SolveOptions()
    asked = {
        "problem": str(problem_path),
        "engine": engine,
        "overrides": dict(overrides or {}),
        **_asked(options),
        **proofs.asked(),
    }
    folder = RunFolder.create(out, problem.id, asked, force=force, on_event=on_event)
    run = _Run(folder, problem, options, on_progress, proofs)
    return run.guarded(lambda: run.from_problem(dict(overrides or {})))


def solve_blueprint(
    path: Path | str,
    out: Path | str | None = None,
    options: SolveOptions | None = None,
    *,
    force: bool = False,
    proofs: Proofs = PLAIN,
    on_event: OnEvent | None = None,
    on_progress: OnProgress | None = None,
) -> RunOutcome:
    """Take a blueprint through the stages after analysis; see :func:`run_problem`.

    The problem that the blueprint belongs to is found beside it: in its own folder, in the folder
    above ``expert/``, or in the run that it came from.
    """
    blueprint = Blueprint.load(path)
    source = problem_folder_of(Path(path))
    problem = problem_beside(Path(path))
    options = options or SolveOptions()
    name = problem.id if problem is not None else name_of(Path(path))
    asked = {"blueprint": str(path), **_asked(options), **proofs.asked()}
    folder = RunFolder.create(out, name, asked, force=force, on_event=on_event)
    run = _Run(folder, problem, options, on_progress, proofs)
    return run.guarded(lambda: run.from_blueprint_file(blueprint, source))


def _asked(options: SolveOptions) -> dict[str, Any]:
    names = ("time_limit", "memory_limit_mb", "gap", "threads", "seed", "log", "backend", "speed")
    return {name: getattr(options, name) for name in names}


@dataclass
class _Run:
    """One run under way: what it found so far."""

    folder: RunFolder
    problem: "Problem | None"
    options: SolveOptions
    on_progress: OnProgress | None
    proofs: Proofs = PLAIN
    blueprint: Blueprint | None = None
    missing: tuple[str, ...] = ()
    not_understood: tuple[str, ...] = ()
    reason: str | None = None
    status: str | None = None
    choice: str | None = None
    state: State = "done"
    certificate: Mapping[str, Any] | None = None
    error: Exception | None = field(default=None)

    @property
    def data(self) -> Path:
        """Where the run's copy of the problem and its data lie."""
        return self.folder.path / PROBLEM

    def guarded(self, work: Callable[[], None]) -> RunOutcome:
        """Do the work; whatever ends it, record how the run ended."""
        try:
            work()
        except KeyboardInterrupt:
            self.state, self.reason = "interrupted", self.reason or "interrupted"
        except MissingDataError as error:
            names = error.names if self.blueprint is None else slots_of(self.blueprint, error.names)
            self.missing, self.reason = tuple(names), str(error)
            self._undecided(self.blueprint)
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
        return outcome

    def from_problem(self, overrides: dict[str, str]) -> None:
        """Analyse the problem and go on from its blueprint, if everything was understood."""
        from engiagent.agents.offline import understand
        from engiagent.audit import quick_audit

        assert self.problem is not None
        with self.folder.stage("load"):
            copy_problem(self.problem, self.folder)
        with self.folder.stage("analyse"):
            found = understand(self.problem, overrides)
            analysis, audit = found.analysis, quick_audit(self.problem, found)
            blueprint = analysis.blueprint
            self.missing, self.not_understood = gaps(analysis)
            advice = [item.message for item in analysis.missing]
            slips = [f"{f.severity}: {f.explanation}" for f in audit.of("suspicious")]
            for text in dict.fromkeys([*advice, *slips, *analysis.assumptions, *analysis.notes]):
                self.folder.note(text)
            if blueprint is not None:
                self.folder.write(BLUEPRINT, blueprint.to_json())
        if self.missing or self.not_understood or blueprint is None:
            self.reason = why_not_solved(analysis, audit)
            self._undecided(blueprint)
            self._report()
            return
        self._solve(blueprint)

    def from_blueprint_file(self, blueprint: Blueprint, source: Path) -> None:
        """Copy what the blueprint needs and go on from it."""
        with self.folder.stage("load"):
            if self.problem is not None:
                copy_problem(self.problem, self.folder)
            copy_data(blueprint, source, self.folder)
            self.folder.write(BLUEPRINT, blueprint.to_json())
        self._solve(blueprint)

    def _compute(self, blueprint: Blueprint) -> None:
        """Compute a blueprint of definitions and let the checker compute it again."""
        with self.folder.stage("compute"):
            results = computed(blueprint, self.data)
            save(results, self.folder)
        self._check(blueprint, results)
        self._report()

    def _solve(self, blueprint: Blueprint) -> None:
        self.blueprint = blueprint
        if blueprint.kind == "definitions":
            self._compute(blueprint)
            return
        from engiagent.formulations import expand

        # The run keeps the algebra in full: it is what was solved and what the checker reads.
        blueprint = expand(blueprint)
        self.folder.write(BLUEPRINT, blueprint.to_json())
        program = self._compile(blueprint)
        with self.folder.stage("solve"):
            self.choice = choice_of(program, self.options)
            solution, result = solve_program(program, self.options, self.on_progress)
            self.status = result.status
            if result.status != "optimal":
                self.reason = result.reason
            solution = self.proofs.claimed(solution, program)
            save(solution, self.folder)
        self._check(blueprint, solution)
        with self.folder.stage("explain"):
            self._aside(lambda: self._explain(blueprint, program, result))
        with self.folder.stage("emit"):
            self._aside(lambda: self._emit(blueprint))
        if result.status == "interrupted":
            self.state = "interrupted"
        self._report()

    def _compile(self, blueprint: Blueprint) -> "Program":
        from engiagent.formulations import compile_blueprint, expand

        with self.folder.stage("static analysis"):
            found = static_findings(expand(blueprint), self.data)
            for text in found.warnings:
                self.folder.note(text)
            if found.error is not None:
                raise found.error
        with self.folder.stage("compile"):
            program: Program = compile_blueprint(blueprint, self.data)
            return program

    def _explain(self, blueprint: Blueprint, program: "Program", result: SolverResult) -> None:
        """Say which demands clash, what has no limit, or what holds the plan back."""
        name = str(self.folder.record["problem"])
        found = explained(
            blueprint, program, result, self.data, self.problem, name=name, choice=self.choice
        )
        self.folder.write(EXPLANATION, dumps_canonical(found.to_dict()))
        why = reasons(found)
        if why:
            self.reason = f"{self.reason}: {'; '.join(why)}"

    def _check(self, blueprint: Blueprint, solution: "xarray.Dataset") -> None:
        from engiagent.certify import certify

        with self.folder.stage("check"):
            name = str(self.folder.record["problem"])
            said = self.proofs.opinion(
                self.problem, solution, blueprint, self.options, folder=self.data, name=name
            )
            if said is not None:
                self.folder.write(OPINION, dumps_canonical(said.to_dict()))
            certificate = certify(
                self.problem,
                solution,
                blueprint,
                folder=self.data,
                name=name,
                exact=self.proofs.exact,
                opinion=said,
            )
            self._keep(certificate)

    def _undecided(self, blueprint: Blueprint | None) -> None:
        from engiagent.certify import without_schedule

        if self.problem is not None:
            self._keep(without_schedule(self.problem, blueprint, self.missing, self.not_understood))

    def _keep(self, certificate: "Certificate") -> None:
        self.certificate = certificate.to_dict()
        self.folder.write(CERTIFICATE, certificate.to_json())

    def _emit(self, blueprint: Blueprint) -> None:
        from engiagent.formulations import emit_pyomo

        self.folder.write(SCRIPT, emit_pyomo(blueprint, self.data))

    def _report(self) -> None:
        """Write the report, which shows how the run ended, so the record goes first."""
        outcome = self._outcome()
        with self.folder.stage("report"):
            self.folder.record |= {
                "state": outcome.state,
                "verdict": outcome.verdict,
                "reason": outcome.reason,
            }
            self.folder.save()
            self._aside(lambda: write_report(self.folder.path))

    def _aside(self, work: Callable[[], None]) -> None:
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
            verdict = UNDECIDED
        bound = found.get("bound")
        objective = found.get("objective")
        missing = tuple(found.get("missing") or self.missing)
        not_understood = tuple(found.get("not_understood") or self.not_understood)
        if verdict == UNDECIDED and not missing and not not_understood:
            from engiagent.certify import not_shown

            not_understood = tuple(not_shown(found))
        return RunOutcome(
            problem=str(self.folder.record["problem"]),
            folder=self.folder.path,
            state=self.state,
            verdict=verdict,
            reason=self.reason or found.get("reason"),
            solver_status=self.status,
            choice=self.choice,
            objective=objective,
            bound=bound.get("value") if isinstance(bound, Mapping) else None,
            missing=missing,
            not_understood=not_understood,
            violations=tuple(found.get("violations") or ()),
            certificate=self.certificate,
            error=self.error,
            notes=tuple(self.folder.notes),
        )
