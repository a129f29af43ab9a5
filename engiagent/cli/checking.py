"""What ``engiagent check`` does with one path: which kind it is, and the result of looking."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.cli import exit_codes
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import item_text
from engiagent.cli.results import CheckResult
from engiagent.cli.targets import (
    ANSWER,
    MAPPING,
    Target,
    against_bound,
    is_certified_loop,
    numbers_astray,
    quotes_astray,
    schedules_in,
    targets_below,
    targets_of,
)
from engiagent.control.certificate import certify_loop
from engiagent.errors import EngiagentError, InputError, SolverMissingError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
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
from engiagent.run.proofs import PLAIN, Proofs, find_best
from engiagent.run.stages import computed, solve_program, static_findings
from engiagent.run.stored import KeptSchedule, compare, keep_check, kept_schedule
from engiagent.scale.mapping import map_runs
from engiagent.scale.work import DEFAULT, Spread
from engiagent.solvers.result import NO_OTHER, SolveOptions
from engiagent.text import Problem, find_problems
from engiagent.verify.case import annotated_otherwise
from engiagent.verify.certificate import Certificate, read_certificate
from engiagent.verify.claims import Reading as TextReading
from engiagent.verify.disturbances import Disturbances, disturbances_of
from engiagent.verify.foreign import Reading, load_mapping
from engiagent.verify.opinions import Opinion
from engiagent.verify.requirements import Requirements, load_requirements
from engiagent.verify.verdicts import USABLE


@dataclass(frozen=True)
class Subject:
    """What a plan is held to: a problem, its blueprint, and where and what they are."""

    path: Path
    problem: Problem | None
    blueprint: Blueprint | None
    folder: Path
    name: str

    @classmethod
    def at(cls, path: Path, problem: Problem | None, blueprint: Blueprint | None) -> "Subject":
        """Return what lies at a path."""
        return cls(path, problem, blueprint, problem_folder_of(path), name_of(path))

    @property
    def data(self) -> Path:
        """Where the data files lie."""
        return self.folder if self.problem is None else self.problem.folder


@dataclass(frozen=True)
class Examiner:
    """Checks paths of every kind; the settings are the same for all of them."""

    options: SolveOptions  # for problems and blueprints that have to be solved first
    # an external schedule, and how it is to be read
    solution: Path | None = None
    reading: Reading | None = None
    out: Path | None = None  # a new folder in which the check of an external schedule is stored
    proofs: Proofs = PLAIN  # what is asked beyond the plain check
    disturb: Disturbances | None = None  # what turns out another way in runs beside the check
    spread: Spread = DEFAULT  # where targets are checked, or of one target the runs of ``disturb``
    certificate: Path | None = None  # a stored certificate, which the result then has to be
    # of a run that is checked again: what an engine took from its text, what a new meeting of its
    # two readings shows, and the values that the user had set
    requirements: Requirements | None = None
    text: TextReading | None = None
    overrides: Mapping[str, str] | None = None
    # the ids of the corpus problems looked at so far, and where each was
    seen: dict[str, str] = field(default_factory=dict, compare=False)

    # -- which ------------------------------------------------------------------------------------

    def examine(self, path: Path, *, with_figures: bool = False) -> Iterator[CheckResult]:
        """Yield one result for a path, or one for all that there is to check below a folder.

        ``with_figures``: whether key figures are wanted, which are found with each result then.
        """
        targets = self._targets(path)
        if len(targets) == 1 or self.spread.is_here(len(targets)):
            yield from (self._timed(target, alone=target.path == path) for target in targets)
            return
        tasks = ((target, target.path == path, self._before(target)) for target in targets)
        shared = (replace(self, seen={}, spread=DEFAULT), with_figures)
        outcomes = map_runs(_examined_there, tasks, self.spread, shared=shared)
        for target, outcome in zip(targets, outcomes, strict=True):
            if outcome.ok:
                yield outcome.value
                continue
            place = str(target.schedule or target.path)
            about: dict[str, Any] = {"source": target.path, "schedule": target.schedule}
            yield CheckResult(path=place, code=ExitCode.UNDECIDED, error=outcome.reason, **about)

    def _timed(self, target: Target, alone: bool) -> CheckResult:
        started = perf_counter()
        result = self._examined(target, alone=alone)
        seconds = perf_counter() - started
        return replace(result, seconds=seconds, source=target.path, schedule=target.schedule)

    def _before(self, target: Target) -> dict[str, str]:
        """Return where the id of a corpus problem stood first, which its worker cannot know."""
        if target.kind != "problem" or target.schedule is not None or self.solution is not None:
            return {}
        try:
            problem = Problem.load(target.path)
        except EngiagentError:
            return {}  # its worker says so
        if problem.expert is None:
            return {}
        return {problem.id: self.seen.setdefault(problem.id, str(target.path))}

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
            if not found:
                expected = "problems, plant files, blueprints, run folders or schedules"
                raise InputError("there is nothing to check", str(path), expected=expected)
            if [target.kind for target in found] != ["page"]:
                return found
        elif targets_of(path) is not None:
            return [Target(path, "problem", self.solution)]
        texts = find_problems(path)
        if len(texts) != 1:
            raise EngiagentError("--solution belongs to one problem, not to a folder of problems")
        return [Target(texts[0], "problem", self.solution)]

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
            "loop": lambda path: CheckResult.of(path, certify_loop(path)),
            "problem": own._problem,
            "blueprint": own._blueprint,
        }
        left_out = CheckResult(path=place, code=ExitCode.FEASIBLE, skipped=True)
        try:
            if target.kind == "schedule":
                raise InputError(
                    "there is nothing beside this schedule to check it against",
                    place,
                    expected="one problem, plant.yaml or blueprint.json in its folder",
                )
            found = own._compared(replace(checks[target.kind](target.path), path=place))
        except MissingDataError as error:
            nothing = CheckResult.without_plan(target.path, None, str(error), error.names)
            return replace(nothing, path=place)
        except EngiagentError as error:
            # Of a folder what no installed solver takes is left out by name; asked for alone it is
            # an error.
            if isinstance(error, SolverMissingError) and not alone:
                return replace(left_out, error=str(error))
            return CheckResult(path=place, code=exit_codes.of_error(error), error=str(error))
        failed = NO_OTHER in (found.reason or "")  # the one solver for it that is there failed
        return replace(left_out, error=found.reason) if failed and not alone else found

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

    # -- plans ------------------------------------------------------------------------------------

    def _schedule(
        self, of: Subject, unclear: tuple[str, ...] = (), *, compares: bool = True
    ) -> CheckResult:
        """Check an external schedule, and store what it was checked against if that is asked for.

        ``compares``: whether it is also stated how far it is from the best that a solver finds.
        """
        assert self.solution is not None
        certificate, opinion = self._certified(of, self.solution)
        certificate = with_gaps(certificate, unclear)
        if self.out is not None:
            exact, solver = self.proofs.exact, self.proofs.second_solver
            stored = KeptSchedule(self.solution, self.reading, unclear, exact, solver, opinion)
            keep_check(self.out, certificate, stored, of.problem, of.blueprint, of.folder)
        return self._judged(of, self.solution, certificate, compares=compares)

    def _solved(self, of: Subject) -> CheckResult:
        """Solve a blueprint, or compute what it defines, and have the plan judged."""
        blueprint = of.blueprint
        assert blueprint is not None
        if blueprint.kind == "definitions":
            results = computed(blueprint, of.data)
            return CheckResult.of(of.path, self._certified(of, results)[0])
        error = static_findings(expand(blueprint), of.data).error
        if error is not None:
            raise error
        solution, account = solve_program(compile_blueprint(blueprint, of.data), self.options)
        if account.status == "interrupted":
            raise KeyboardInterrupt
        found = self._judged(of, solution, self._certified(of, solution)[0])
        code = exit_codes.of_verdict(found.verdict, account.status)
        return replace(
            found, code=code, reason=None if account.status == "optimal" else account.reason
        )

    def _certified(self, of: Subject, solution: Any) -> tuple[Certificate, Opinion | None]:
        """Return the certificate of a plan, and what a second solver says if one is asked."""
        about: dict[str, Any] = {"name": of.name, "mapping": self.reading}
        opinion = self.proofs.opinion(
            of.problem, solution, of.blueprint, self.options, folder=of.data, **about
        )
        certificate = certify(
            of.problem,
            solution,
            of.blueprint,
            folder=of.folder,
            exact=self.proofs.exact,
            opinion=opinion,
            disturb=self.disturb,
            requirements=self.requirements,
            reading=self.text,
            overrides=self.overrides,
            spread=None if self.spread == DEFAULT else self.spread,
            **about,
        )
        return certificate, opinion

    def _judged(
        self, of: Subject, solution: Any, certificate: Certificate, *, compares: bool = False
    ) -> CheckResult:
        """Return the result that a certificate is, with the key figures of its plan."""
        blueprint, goal = of.blueprint, certificate.objective
        found = CheckResult.of(of.path, certificate)
        if compares:
            found = replace(found, best=find_best(blueprint, of.data, self.options))
        if blueprint is None or blueprint.kind == "definitions" or goal is None:
            return found
        source, expanded = source_of(of.problem, blueprint, of.folder, certificate.problem)
        assert expanded is not None
        about: dict[str, Any] = {"folder": of.data, "mapping": self.reading, "goal": goal}
        figures = partial(figures_of_schedule, source, solution, expanded, **about)
        return replace(found, figures=figures)

    # -- kinds ------------------------------------------------------------------------------------

    def _run(self, path: Path) -> CheckResult:
        """Check a run again from what its folder holds."""
        problem = stored_problem(path)
        blueprint = Blueprint.load(path / BLUEPRINT) if (path / BLUEPRINT).is_file() else None
        record = read_record(path)
        of = Subject(path, problem, blueprint, path / PROBLEM, str(record["problem"]))
        if self.solution is not None:
            return self._schedule(of)
        stored = kept_schedule(path)
        if stored is None:
            return self._without_schedule(of)
        recorded = (record.get("asked") or {}).get("overrides")
        again = replace(
            self,
            reading=stored.reading,
            proofs=replace(
                self.proofs,
                exact=self.proofs.exact or stored.exact,
                second_solver=self.proofs.second_solver or stored.second_solver,
            ),
            requirements=stored.requirements,
            text=None if stored.requirements else _read_again(of, stored.path),
            overrides=recorded if isinstance(recorded, dict) else {},
            disturb=self.disturb or disturbances_in(path / CERTIFICATE),
        )
        certificate = with_gaps(again._certified(of, stored.path)[0], stored.not_understood)
        external = stored.path.name != SOLUTION
        return again._judged(of, stored.path, certificate, compares=external)

    def _without_schedule(self, of: Subject) -> CheckResult:
        """Say again of a run without a schedule what its certificate says, for the same inputs."""
        reason = "the run has no schedule to check"
        stored = of.path / CERTIFICATE
        if of.problem is None or not stored.is_file():
            return CheckResult.without_plan(of.path, of.name, reason)
        given = read_certificate(_text(stored), str(stored))
        names = ("missing", "not_understood", "contradictions")
        again = without_schedule(of.problem, of.blueprint, *(given[name] for name in names))
        return replace(CheckResult.of(of.path, again), reason=reason)

    def _blueprint(self, path: Path) -> CheckResult:
        """Check a schedule against a blueprint, or solve the blueprint and check that."""
        of = Subject.at(path, problem_beside(path), Blueprint.load(path))
        return self._schedule(of) if self.solution is not None else self._solved(of)

    def _problem(self, path: Path) -> CheckResult:
        """Check an external schedule, or the problem's own expert material."""
        problem = Problem.load(path)
        if self.solution is not None:
            blueprint, found = against(problem)
            if found is not None and (blueprint is None or found.missing):
                nothing = without_schedule(problem, blueprint, found.lacking, found.unclear)
                return CheckResult.of(path, nothing)
            unclear = () if found is None else found.unclear
            return self._schedule(Subject.at(path, problem, blueprint), unclear)
        if problem.expert is None:
            stated = read_plant(problem)
            if stated is not None and stated.blueprint is not None:
                return self._solved(Subject.at(path, problem, stated.blueprint))
            raise InputError(
                "there is nothing to check the problem against",
                str(path),
                expected="--solution FILE, or expert/ beside it; 'engiagent run' solves it",
            )
        before = self.seen.setdefault(problem.id, str(path))
        twin = [] if before == str(path) else [f"the id {problem.id!r} is that of {before} too"]
        return self._annotated(path, problem, problem.expert, twin)

    # -- problems of the corpus -------------------------------------------------------------------

    def _annotated(
        self, path: Path, problem: Problem, expert: Path, disagreements: list[str]
    ) -> CheckResult:
        """Check that blueprint and answer of a corpus problem agree with the certificate."""
        other = annotated_otherwise(problem)
        blueprint: Blueprint | None = None
        if (expert / BLUEPRINT).is_file():
            blueprint = Blueprint.load(expert / BLUEPRINT)
            disagreements = [*quotes_astray(blueprint.to_dict(), problem.text), *disagreements]
        if other is not None:
            astray = (f"the expert files are of another text: {other}", *disagreements)
            result = self._of_another_text(path, problem, other)
            return replace(result, code=ExitCode.VIOLATED, disagreements=astray)
        if blueprint is None:
            result = _read_offline(path, problem)
        else:
            result = self._solved_or_missing(path, problem, blueprint)
        needed = (name for name in (REQUIREMENTS, ANSWER) if not (expert / name).is_file())
        disagreements += (f"there is no {EXPERT}/{name}" for name in needed)
        if (expert / REQUIREMENTS).is_file():
            disagreements += numbers_astray(load_requirements(expert / REQUIREMENTS), problem)
        if (expert / ANSWER).is_file():
            answer = loads_strict(_text(expert / ANSWER), f"{EXPERT}/{ANSWER}")
            goal, bound = result.objective or {}, result.certificate.get("bound")
            disagreements += against_answer(result.verdict, goal, result.missing, answer)
            disagreements += against_bound(result.verdict, bound, answer)
            disagreements += self._stored(Subject.at(path, problem, blueprint), expert, answer)
        code = ExitCode.VIOLATED if disagreements else ExitCode.FEASIBLE
        return replace(result, code=code, disagreements=tuple(disagreements))

    def _of_another_text(self, path: Path, problem: Problem, reason: str) -> CheckResult:
        """Check what the stored reading makes of a text that the experts did not annotate.

        Neither their requirements nor their answer belong to it.
        """
        from engiagent.readings.stored import reread

        found = reread(problem)
        assert found is not None  # it says what was annotated
        if found.blueprint is None or found.not_understood:
            gap = found.not_understood[0]
            said = "; ".join(filter(None, (reason, " | ".join(gap.quotes), gap.reason)))
            return CheckResult.without_plan(path, problem.id, said)
        result = self._solved_or_missing(path, problem, found.blueprint)
        plan = "verdict" in result.certificate
        return replace(result, reason=reason if plan else f"{reason}; {result.reason}")

    def _solved_or_missing(self, path: Path, problem: Problem, blueprint: Blueprint) -> CheckResult:
        try:
            return self._solved(Subject.at(path, problem, blueprint))
        except MissingDataError as error:
            missing = tuple(slots_of(blueprint, error.names))
            return CheckResult.without_plan(path, problem.id, str(error), missing)

    def _stored(self, of: Subject, expert: Path, answer: Any) -> Iterator[str]:
        """Yield what is wrong with the schedules that are stored beside the answer.

        A schedule on its own may prove no optimum, so that ``feasible`` is as good as
        ``certified``.
        """
        mapping = expert / MAPPING
        reading = load_mapping(mapping) if mapping.is_file() else None
        for file in schedules_in(expert):
            again = replace(self, solution=file, reading=reading, out=None)
            result = again._schedule(of, compares=False)
            if result.verdict not in USABLE:
                reasons = [item_text(item) for item in result.violations]
                wrong = "; ".join([f"the verdict is {result.verdict}", *reasons[:3]])
                yield f"{file.name}: {wrong}"
                continue
            expected = answer.get("objective") if isinstance(answer, dict) else None
            if isinstance(expected, dict) and expected.get("value") is not None:
                allowed = answer.get("relative_tolerance")
                found = objectives(result.objective or {}, expected, allowed)
                yield from (f"{file.name}: {text}" for text in found)


def _examined_there(
    shared: "tuple[Examiner, bool]", task: tuple[Target, bool, dict[str, str]]
) -> CheckResult:
    """Return the result of one target on a worker."""
    (examiner, figures), (target, alone, before) = shared, task
    found = replace(examiner, seen=before)._timed(target, alone)
    known = found.figures() if figures and found.figures is not None else None
    return replace(found, figures=None if known is None else partial(_as_found, known))


def _as_found(figures: KeyFigures) -> KeyFigures:
    return figures


def against(problem: Problem) -> tuple[Blueprint | None, ProblemReading | None]:
    """Return the blueprint that an external schedule is held to, beside annotations.

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


def _read_offline(path: Path, problem: Problem) -> CheckResult:
    """Return what the plant block of a problem without a blueprint leaves open."""
    from engiagent.readings.read import read

    found = read(problem)
    posed = "ill-posed" if found.missing or found.contradictions else None
    verdict = "undecided" if found.not_understood else posed
    reason = "no blueprint of the experts; read by the offline engine"
    nothing = CheckResult.without_plan(path, problem.id, reason, found.lacking)
    return replace(nothing, verdict=verdict, code=exit_codes.of_verdict(verdict))


def _read_again(of: Subject, schedule: Path) -> TextReading | None:
    """Return what a new meeting of a run's two readings shows; None where it had one only."""
    if not (of.path / MEETING).exists():
        return None
    from engiagent.agents.verifier import read_again  # here, for it brings the agents and solvers

    return read_again(of.path, of.problem, of.blueprint, schedule)


def disturbances_in(path: Path) -> Disturbances | None:
    """Return what the certificate in a file was disturbed by, None without one."""
    if not path.is_file():
        return None
    return disturbances_of(read_certificate(_text(path), str(path)))


def _text(path: Path) -> str:
    return open_inside(path.parent, path.name).decode("utf-8", errors="replace")
