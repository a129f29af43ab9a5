"""What ``engiagent check`` does with one path: which kind it is, and the result of looking."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.cli import exit_codes
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.experts import (
    ANSWER,
    MAPPING,
    against_bound,
    numbers_astray,
    quotes_astray,
    stored_schedules,
)
from engiagent.cli.output import item_text, number, summary
from engiagent.cli.targets import Target, is_certified_loop, targets_below, targets_of
from engiagent.control.certificate import certify_loop
from engiagent.errors import EngiagentError, InputError, SolverMissingError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.io.files import open_inside
from engiagent.io.jsontext import loads_strict
from engiagent.plant import read_plant
from engiagent.readings import Reading as ProblemReading
from engiagent.run.certify import certify, source_of, with_gaps, without_schedule
from engiagent.run.folder import (
    BLUEPRINT,
    CERTIFICATE,
    MEETING,
    PROBLEM,
    SOLUTION,
    is_run_folder,
    read_record,
)
from engiagent.run.inputs import (
    EXPERT,
    PROBLEM_SUFFIXES,
    REQUIREMENTS,
    against_answer,
    name_of,
    objectives,
    problem_beside,
    problem_folder_of,
    slots_of,
    stored_problem,
)
from engiagent.run.keyfigures import KeyFigures, figures_of_schedule
from engiagent.run.proofs import PLAIN, Best, Proofs, find_best
from engiagent.run.stages import computed, solve_program, static_findings
from engiagent.run.stored import Difference, KeptSchedule, compare, keep_check, kept_schedule
from engiagent.solvers.arrays import SolutionArrays
from engiagent.solvers.result import NO_OTHER, SolveOptions, SolverResult
from engiagent.text import Problem, find_problems
from engiagent.verify.case import annotated_otherwise
from engiagent.verify.certificate import Certificate, read_certificate
from engiagent.verify.claims import Reading as TextReading
from engiagent.verify.claims import verdict_line
from engiagent.verify.disturbances import Disturbances, disturbances_of
from engiagent.verify.foreign import Reading, load_mapping
from engiagent.verify.opinions import Opinion
from engiagent.verify.requirements import Requirements, load_requirements
from engiagent.verify.verdicts import USABLE


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What a check of one path found.

    Attributes
    ----------
    certificate
        As JSON has it; of a path without one what is ``missing``, at the most.
    disagreements
        With the stored answer.
    differences
        From the stored certificate; None when there was none to compare with.
    skipped
        Whether it was left out, because no solver that is installed takes it or because it is no
        problem; ``error`` says why.
    seconds
        How long the check took.
    source, schedule
        What was checked, and somebody's schedule for it.
    best
        What a solver finds for the same problem beside that schedule.
    figures
        How to find the key figures of the plan; None where there is none, or no blueprint.
    """

    path: str
    code: ExitCode
    problem: str | None = None
    certificate: Mapping[str, Any] = field(default_factory=dict)
    verdict: str | None = None
    reason: str | None = None
    disagreements: tuple[str, ...] = ()
    differences: tuple[Difference, ...] | None = None
    error: str | None = None
    skipped: bool = False
    seconds: float = 0.0
    source: Path | None = None
    schedule: Path | None = None
    best: Best | None = None
    figures: Callable[[], KeyFigures] | None = field(default=None, compare=False, repr=False)

    @property
    def distance(self) -> Mapping[str, Any] | None:
        """How far somebody's schedule is from the best; None where that is not known."""
        goal = self.objective or {}
        known = self.best is not None and goal.get("value") is not None
        return self.best.beside(goal) if self.best is not None and known else None

    @property
    def violations(self) -> list[Any]:
        """Broken requirements, then what the stored answer and the stored certificate say else."""
        found = list(self.certificate.get("violations") or ())
        found += [
            {"level": "answer", "check": ANSWER, "message": text} for text in self.disagreements
        ]
        if self.differences is not None and not self.verified:
            worst = next(d for d in self.differences if not d.allowed)
            text = f"the stored certificate is not what the check gives now: {worst}"
            found.append({"level": "certificate", "check": CERTIFICATE, "message": text})
        return found

    @property
    def objective(self) -> Mapping[str, Any] | None:
        """Value, unit and sense."""
        found: Mapping[str, Any] | None = self.certificate.get("objective")
        return found

    @property
    def amount(self) -> str:
        """The objective for people; empty without one."""
        goal = self.objective or {}
        return "" if goal.get("value") is None else number(goal["value"], goal.get("unit"))

    @property
    def bound(self) -> float | None:
        """The bound of the objective, in its unit."""
        return (self.certificate.get("bound") or {}).get("value")

    @property
    def missing(self) -> Sequence[str]:
        """What the problem does not give."""
        return self.certificate.get("missing") or ()

    @property
    def not_understood(self) -> Sequence[str]:
        """Sentences that nothing could judge."""
        return self.certificate.get("not_understood") or ()

    @property
    def line(self) -> str | None:
        """The verdict with the values that the user changed or gave."""
        return verdict_line(self.certificate) if "verdict" in self.certificate else self.verdict

    @property
    def word(self) -> str:
        """The verdict, or what there is in its place."""
        if self.skipped:
            return "skipped"
        return self.verdict or ("error" if self.error else "no verdict")

    @property
    def open_points(self) -> list[str]:
        """What is missing, what clashes, and what of the text nobody else has read."""
        found = [*self.missing, *(self.certificate.get("contradictions") or ())]
        found += (self.certificate.get("reading") or {}).get("open") or ()
        return list(dict.fromkeys(map(str, found)))

    @property
    def disturbance(self) -> Mapping[str, Any] | None:
        """What the runs with disturbances found; None where there were none."""
        physics = (self.certificate.get("levels") or {}).get("physics") or {}
        found: Mapping[str, Any] | None = physics.get("disturbance")
        return found

    @property
    def verified(self) -> bool:
        """Whether there is a stored certificate that holds."""
        return self.differences is not None and all(d.allowed for d in self.differences)

    @property
    def notes(self) -> Sequence[str]:
        """How an external schedule was read, with the columns that are not used."""
        return [] if self.schedule is None else (self.certificate or {}).get("notes") or []

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints for one path."""
        run = self.path if is_run_folder(Path(self.path)) else None
        found = summary(self, run=run, error=self.error, schema="engiagent-check/1")
        if self.distance is not None:
            found["best"] = dict(self.distance)
        if self.notes:
            found["notes"] = list(self.notes)
        if self.figures is not None:
            found["figures"] = self.figures().to_dict()["figures"]
        if self.differences is not None:
            found["verified"] = self.verified
            found["differences"] = [difference.to_dict() for difference in self.differences]
        return found


def _left_out(result: CheckResult) -> CheckResult:
    """Return a result of a folder, left out where the one solver for it that is there failed."""
    if NO_OTHER not in (result.reason or ""):
        return result
    code, why = ExitCode.FEASIBLE, result.reason
    return CheckResult(path=result.path, code=code, error=why, skipped=True)


def of_certificate(path: Path, certificate: Certificate) -> CheckResult:
    """Return the result that a certificate is."""
    return CheckResult(
        path=str(path),
        code=exit_codes.of_verdict(certificate.verdict),
        problem=certificate.problem,
        certificate=certificate.to_dict(),
        verdict=certificate.verdict,
    )


def without_plan(
    path: Path, problem: str | None, reason: str, missing: Sequence[str] = ()
) -> CheckResult:
    """Return the result of a path without a plan: ill-posed where data are missing."""
    verdict = "ill-posed" if missing else "undecided"
    return CheckResult(
        path=str(path),
        code=exit_codes.of_verdict(verdict),
        problem=problem,
        certificate={"missing": tuple(missing)},
        verdict=verdict,
        reason=reason,
    )


def read_offline(path: Path, problem: Problem) -> CheckResult:
    """Return what the plant block of a problem without a blueprint leaves open."""
    from engiagent.readings.read import read

    found = read(problem)
    posed = "ill-posed" if found.missing or found.contradictions else None
    verdict = "undecided" if found.not_understood else posed
    reason = "no blueprint of the experts; read by the offline engine"
    return replace(
        without_plan(path, problem.id, reason, found.lacking),
        verdict=verdict,
        code=exit_codes.of_verdict(verdict),
    )


def tally(results: Sequence[CheckResult]) -> str:
    """Return in a line how many results are as they should be, and how many were left out."""
    judged = [result for result in results if not result.skipped]
    good = sum(result.code is ExitCode.FEASIBLE for result in judged)
    left = len(results) - len(judged)
    more = f"; {left} skipped, named above" if left else ""
    return f"{good} of {len(judged)} as they should be{more}"


@dataclass(frozen=True)
class Examiner:
    """Checks paths of every kind; the settings are the same for all of them.

    Attributes
    ----------
    options
        For problems and blueprints that have to be solved first.
    solution, reading
        Somebody's schedule, and how it is to be read.
    out
        A new folder in which the check of somebody's schedule is kept.
    proofs
        What is asked beyond the plain check.
    disturb
        What is to turn out another way in runs beside the check.
    certificate
        A stored certificate, which the result then has to be.
    requirements, text, overrides
        Of a run that is checked again: what an engine took from its text, what a new meeting of its
        two readings shows, and the values that the user had set.
    compares
        Whether a schedule is also told how far it is from the best that a solver finds.
    seen
        The ids of the corpus problems looked at so far, and where each was.
    """

    options: SolveOptions
    solution: Path | None = None
    reading: Reading | None = None
    out: Path | None = None
    proofs: Proofs = PLAIN
    disturb: Disturbances | None = None
    certificate: Path | None = None
    requirements: Requirements | None = None
    text: TextReading | None = None
    overrides: Mapping[str, str] | None = None
    compares: bool = True
    seen: dict[str, str] = field(default_factory=dict, compare=False)

    def schedule(
        self,
        path: Path,
        problem: Problem | None,
        blueprint: Blueprint | None,
        not_understood: tuple[str, ...] = (),
        *,
        folder: Path | None = None,
        name: str | None = None,
    ) -> CheckResult:
        """Check somebody's schedule, and keep what it was checked against if that is asked for."""
        assert self.solution is not None
        folder = folder or problem_folder_of(path)
        name = name or name_of(path)
        certificate, said = self._certified(problem, self.solution, blueprint, folder, name)
        certificate = with_gaps(certificate, not_understood)
        figures = self._figures(problem, self.solution, blueprint, folder, certificate)
        if self.out is not None:
            exact, solver = self.proofs.exact, self.proofs.second_solver
            kept = KeptSchedule(self.solution, self.reading, not_understood, exact, solver, said)
            keep_check(self.out, certificate, kept, problem, blueprint, folder)
        data = folder if problem is None else problem.folder
        found = replace(of_certificate(path, certificate), best=self._best(blueprint, data))
        return replace(found, figures=figures)

    def _best(self, blueprint: Blueprint | None, folder: Path) -> Best | None:
        return find_best(blueprint, folder, self.options) if self.compares else None

    def solved(self, path: Path, problem: Problem | None, blueprint: Blueprint) -> CheckResult:
        """Solve a blueprint, or compute what it defines, and have the plan judged."""
        folder = problem.folder if problem is not None else problem_folder_of(path)
        beside, name = problem_folder_of(path), name_of(path)
        if blueprint.kind == "definitions":
            results = computed(blueprint, folder)
            return of_certificate(
                path, self._certified(problem, results, blueprint, beside, name)[0]
            )
        error = static_findings(expand(blueprint), folder).error
        if error is not None:
            raise error
        _, solution, account = _solution(blueprint, folder, self.options)
        certificate = self._certified(problem, solution, blueprint, beside, name)[0]
        code = exit_codes.of_verdict(certificate.verdict, account.status)
        reason = None if account.status == "optimal" else account.reason
        figures = self._figures(problem, solution, blueprint, beside, certificate)
        found = replace(of_certificate(path, certificate), code=code, reason=reason)
        return replace(found, figures=figures)

    def _figures(
        self,
        problem: Problem | None,
        solution: Any,
        blueprint: Blueprint | None,
        folder: Path,
        certificate: Certificate,
    ) -> Callable[[], KeyFigures] | None:
        """Return how to find the key figures of a schedule that the checker could read."""
        goal = certificate.objective
        if blueprint is None or blueprint.kind == "definitions" or goal is None:
            return None
        source, expanded = source_of(problem, blueprint, folder, certificate.problem)
        assert expanded is not None
        return partial(
            figures_of_schedule,
            source,
            solution,
            expanded,
            folder=folder if problem is None else problem.folder,
            mapping=self.reading,
            goal=goal,
        )

    def _certified(
        self,
        problem: Problem | None,
        solution: Any,
        blueprint: Blueprint | None,
        folder: Path,
        name: str,
    ) -> tuple[Certificate, Opinion | None]:
        """Return the certificate of a plan, and what a second solver says if one is asked."""
        data = folder if problem is None else problem.folder
        said = self.proofs.opinion(
            problem, solution, blueprint, self.options, folder=data, name=name, mapping=self.reading
        )
        certificate = certify(
            problem,
            solution,
            blueprint,
            mapping=self.reading,
            folder=folder,
            name=name,
            exact=self.proofs.exact,
            opinion=said,
            disturb=self.disturb,
            requirements=self.requirements,
            reading=self.text,
            overrides=self.overrides,
        )
        return certificate, said

    def examine(self, path: Path) -> Iterator[CheckResult]:
        """Yield one result for a path, or one for all that there is to check below a folder."""
        for target in self._targets(path):
            started = perf_counter()
            result = self._examined(target, alone=target.path == path)
            seconds = perf_counter() - started
            yield replace(result, seconds=seconds, source=target.path, schedule=target.schedule)

    def _examined(self, target: Target, alone: bool) -> CheckResult:
        """Return the result of one target; errors are results too."""
        given = target.schedule if target.schedule != self.solution else None
        place = str(given or target.path)
        if target.kind == "page":
            why = "no problem: it has neither front matter nor a plant block"
            return CheckResult(path=place, code=ExitCode.FEASIBLE, error=why, skipped=True)
        own = self if given is None else replace(self, solution=given)
        checks = {
            "run": own._run,
            "loop": lambda path: of_certificate(path, certify_loop(path)),
            "problem": own._problem,
            "blueprint": own._blueprint,
        }
        try:
            if target.kind == "schedule":
                raise InputError(
                    "there is nothing beside this schedule to check it against",
                    place,
                    expected="one problem, plant.yaml or blueprint.json in its folder",
                )
            found = own._compared(replace(checks[target.kind](target.path), path=place))
            return found if alone else _left_out(found)
        except MissingDataError as error:
            return replace(without_plan(target.path, None, str(error), error.names), path=place)
        except EngiagentError as error:
            # Of a folder what no installed solver takes is left out by name; asked for alone it is
            # an error.
            skipped = isinstance(error, SolverMissingError) and not alone
            code = ExitCode.FEASIBLE if skipped else exit_codes.of_error(error)
            return CheckResult(path=place, code=code, error=str(error), skipped=skipped)

    def _compared(self, result: CheckResult) -> CheckResult:
        """Compare what was found with the stored certificate, if there is one."""
        stored = self.certificate
        plain = self.proofs == PLAIN and self.disturb is None  # no more than the stored one
        folder = Path(result.path)
        own = is_run_folder(folder) or is_certified_loop(folder)
        if stored is None and plain and self.solution is None and own:
            stored = folder / CERTIFICATE
            stored = stored if stored.is_file() else None
        if stored is None:
            return result
        if "verdict" not in result.certificate:
            raise EngiagentError(f"there is no schedule that {stored.name} could be of")
        differences = compare(_text(stored), result.certificate, str(stored))
        compared = replace(result, differences=differences)
        if not compared.verified:
            return replace(compared, code=exit_codes.worst([result.code, ExitCode.VIOLATED]))
        return compared if self.certificate is None else replace(compared, code=ExitCode.FEASIBLE)

    def _targets(self, path: Path) -> list[Target]:
        if not path.exists():
            raise InputError("there is no such file or folder", str(path))
        if path.is_file():
            if Blueprint.is_in(path):
                return [Target(path, "blueprint", self.solution)]
            if path.suffix in PROBLEM_SUFFIXES:
                return [Target(path, "problem", self.solution)]
            raise InputError(
                "this is nothing to check",
                str(path),
                expected="a problem (.md, .txt, .yaml), a blueprint (.json) or a folder",
            )
        if is_run_folder(path):
            return [Target(path, "run", self.solution)]
        if is_certified_loop(path) and self.solution is None:
            return [Target(path, "loop")]
        if self.solution is None:
            found = targets_below(path)
            if [target.kind for target in found] != ["page"]:
                return found or _nothing(path)
        elif targets_of(path) is not None:
            return [Target(path, "problem", self.solution)]
        texts = find_problems(path)
        if len(texts) != 1:
            raise EngiagentError("--solution belongs to one problem, not to a folder of problems")
        return [Target(texts[0], "problem", self.solution)]

    def _run(self, path: Path) -> CheckResult:
        """Check a run again from what its folder holds."""
        problem = stored_problem(path)
        blueprint = Blueprint.load(path / BLUEPRINT) if (path / BLUEPRINT).is_file() else None
        record = read_record(path)
        name, recorded = str(record["problem"]), (record.get("asked") or {}).get("overrides")
        kept = kept_schedule(path)
        if self.solution is None and kept is None:
            return self._without_schedule(path, problem, blueprint, name)
        if self.solution is not None or kept is None:
            return self.schedule(path, problem, blueprint, folder=path / PROBLEM, name=name)
        folder = path / PROBLEM
        proofs = replace(
            self.proofs,
            exact=self.proofs.exact or kept.exact,
            second_solver=self.proofs.second_solver or kept.second_solver,
        )
        again = replace(
            self,
            reading=kept.reading,
            proofs=proofs,
            requirements=kept.requirements,
            text=None if kept.requirements else _read_again(path, problem, blueprint, kept.path),
            overrides=recorded if isinstance(recorded, dict) else {},
            disturb=self.disturb or disturbances_in(path / CERTIFICATE),
        )
        certificate, _ = again._certified(problem, kept.path, blueprint, folder, name)
        figures = again._figures(problem, kept.path, blueprint, folder, certificate)
        own, data = kept.path.name == SOLUTION, folder if problem is None else problem.folder
        best = None if own else again._best(blueprint, data)
        found = of_certificate(path, with_gaps(certificate, kept.not_understood))
        return replace(found, figures=figures, best=best)

    def _without_schedule(
        self, path: Path, problem: Problem | None, blueprint: Blueprint | None, name: str
    ) -> CheckResult:
        """Say again of a run without a schedule what its certificate says, for the same inputs."""
        reason = "the run has no schedule to check"
        stored = path / CERTIFICATE
        if problem is None or not stored.is_file():
            return without_plan(path, name, reason)
        given = read_certificate(_text(stored), str(stored))
        again = without_schedule(
            problem, blueprint, given["missing"], given["not_understood"], given["contradictions"]
        )
        return replace(of_certificate(path, again), reason=reason)

    def _blueprint(self, path: Path) -> CheckResult:
        """Check a schedule against a blueprint, or solve the blueprint and check that."""
        blueprint = Blueprint.load(path)
        problem = problem_beside(path)
        if self.solution is not None:
            return self.schedule(path, problem, blueprint)
        return self.solved(path, problem, blueprint)

    def _problem(self, path: Path) -> CheckResult:
        """Check somebody's schedule, or the problem's own expert material."""
        problem = Problem.load(path)
        if self.solution is not None:
            return self._foreign(path, problem)
        if problem.expert is None:
            stated = read_plant(problem)
            if stated is not None and stated.blueprint is not None:
                return self.solved(path, problem, stated.blueprint)
            raise InputError(
                "there is nothing to check the problem against",
                str(path),
                expected="--solution FILE, or expert/ beside it; 'engiagent run' solves it",
            )
        before = self.seen.setdefault(problem.id, str(path))
        twin = None if before == str(path) else f"the id {problem.id!r} is that of {before} too"
        return expert_result(self, path, problem, problem.expert, twin)

    def _foreign(self, path: Path, problem: Problem) -> CheckResult:
        """Check somebody's schedule with the expert's blueprint, or the problem's own reading."""
        blueprint, found = against(problem)
        if found is None:
            return self.schedule(path, problem, blueprint)
        if blueprint is None or found.missing:
            nothing = without_schedule(problem, blueprint, found.lacking, found.unclear)
            return of_certificate(path, nothing)
        return self.schedule(path, problem, blueprint, found.unclear)


def _solution(
    blueprint: Blueprint, folder: Path, options: SolveOptions
) -> tuple[Program, SolutionArrays, SolverResult]:
    """Return the program of a blueprint, its plan and the solver's account; Ctrl-C goes on."""
    program = compile_blueprint(blueprint, folder)
    solution, account = solve_program(program, options)
    if account.status == "interrupted":
        raise KeyboardInterrupt
    return program, solution, account


def _nothing(path: Path) -> NoReturn:
    raise InputError(
        "there is nothing to check",
        str(path),
        expected="problems, plant files, blueprints, run folders or schedules",
    )


def against(problem: Problem) -> tuple[Blueprint | None, ProblemReading | None]:
    """Return the blueprint that a schedule from elsewhere is held to, beside annotations.

    It is the experts', or that of the plant block or the stored reading, which comes with it.
    """
    from engiagent.readings.read import read

    expert = problem.expert
    if expert is not None and (expert / BLUEPRINT).is_file():
        return Blueprint.load(expert / BLUEPRINT), None
    if expert is not None and (expert / REQUIREMENTS).is_file():
        return None, None
    found = read(problem)
    return found.blueprint, found


def _read_again(
    run: Path, problem: Problem | None, blueprint: Blueprint | None, schedule: Path
) -> TextReading | None:
    """Return what a new meeting of a run's two readings shows; None where it had one only."""
    if not (run / MEETING).exists():
        return None
    from engiagent.agents.verifier import read_again  # here, for it brings the agents and solvers

    return read_again(run, problem, blueprint, schedule)


def disturbances_in(path: Path) -> Disturbances | None:
    """Return what the certificate in a file was disturbed by, None without one."""
    if not path.is_file():
        return None
    return disturbances_of(read_certificate(_text(path), str(path)))


def _text(path: Path) -> str:
    return open_inside(path.parent, path.name).decode("utf-8", errors="replace")


def expert_result(
    examiner: Examiner, path: Path, problem: Problem, expert: Path, twin: str | None
) -> CheckResult:
    """Check that blueprint and answer of a corpus problem agree with the certificate."""
    other = annotated_otherwise(problem)
    if other is not None:
        result = _of_another_text(examiner, path, problem, other)
        astray = [f"the expert files are of another text: {other}"]
        if (expert / BLUEPRINT).is_file():
            astray += quotes_astray(Blueprint.load(expert / BLUEPRINT).to_dict(), problem.text)
        return replace(result, code=ExitCode.VIOLATED, disagreements=tuple(astray))
    disagreements: list[str] = []
    if (expert / BLUEPRINT).is_file():
        blueprint = Blueprint.load(expert / BLUEPRINT)
        disagreements += quotes_astray(blueprint.to_dict(), problem.text)
        result = _solved(examiner, path, problem, blueprint)
    else:
        result = read_offline(path, problem)
    needed = (name for name in (REQUIREMENTS, ANSWER) if not (expert / name).is_file())
    disagreements += (f"there is no {EXPERT}/{name}" for name in needed)
    disagreements += [twin] if twin else []
    if (expert / REQUIREMENTS).is_file():
        stated = load_requirements(expert / REQUIREMENTS)
        disagreements += numbers_astray(stated, problem)
    if (expert / ANSWER).is_file():
        answer = loads_strict(_text(expert / ANSWER), f"{EXPERT}/{ANSWER}")
        disagreements += against_answer(
            result.verdict, result.objective or {}, result.missing, answer
        )
        disagreements += against_bound(result.verdict, result.certificate.get("bound"), answer)
        disagreements += stored(examiner, path, problem, expert, answer)
    code = ExitCode.VIOLATED if disagreements else ExitCode.FEASIBLE
    return replace(result, code=code, disagreements=tuple(disagreements))


def _of_another_text(examiner: Examiner, path: Path, problem: Problem, reason: str) -> CheckResult:
    """Check what the stored reading makes of a text that the experts did not annotate.

    Neither their requirements nor their answer belong to it.
    """
    from engiagent.readings.stored import reread

    found = reread(problem)
    assert found is not None  # it says what was annotated
    if found.blueprint is None or found.not_understood:
        gap = found.not_understood[0]
        said = "; ".join(filter(None, (reason, " | ".join(gap.quotes), gap.reason)))
        return without_plan(path, problem.id, said)
    result = _solved(examiner, path, problem, found.blueprint)
    plan = "verdict" in result.certificate
    return replace(result, reason=reason if plan else f"{reason}; {result.reason}")


def _solved(examiner: Examiner, path: Path, problem: Problem, blueprint: Blueprint) -> CheckResult:
    try:
        return examiner.solved(path, problem, blueprint)
    except MissingDataError as error:
        return without_plan(path, problem.id, str(error), tuple(slots_of(blueprint, error.names)))


def stored(
    examiner: Examiner, path: Path, problem: Problem, expert: Path, answer: Any
) -> Iterator[str]:
    """Yield what is wrong with the schedules that are kept beside the answer."""
    files = stored_schedules(expert)
    if not files:
        return
    reading: Reading | None = None
    if (expert / MAPPING).is_file():
        reading = load_mapping(expert / MAPPING)
    blueprint = expert / BLUEPRINT
    given = Blueprint.load(blueprint) if blueprint.is_file() else None
    for file in files:
        again = replace(examiner, solution=file, reading=reading, out=None, compares=False)
        found = again.schedule(path, problem, given)
        yield from (f"{file.name}: {text}" for text in against_schedule(found, answer))


def against_schedule(result: CheckResult, answer: Any) -> Iterator[str]:
    """Yield a sentence for everything in which a stored schedule differs from the answer.

    A schedule on its own may prove no optimum, so that ``feasible`` is as good as ``certified``.
    """
    if result.verdict not in USABLE:
        reasons = [item_text(item) for item in result.violations]
        yield "; ".join([f"the verdict is {result.verdict}", *reasons[:3]])
        return
    expected = answer.get("objective") if isinstance(answer, dict) else None
    if isinstance(expected, dict) and expected.get("value") is not None:
        yield from objectives(result.objective or {}, expected, answer.get("relative_tolerance"))
