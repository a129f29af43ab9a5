"""What ``engiagent check`` does with one path: which kind it is, and the result of looking."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.cli import exit_codes
from engiagent.cli.annotations import (
    ANSWER,
    MAPPING,
    absent_files,
    numbers_astray,
    stored_schedules,
)
from engiagent.cli.answers import (
    against_answer,
    against_bound,
    against_schedule,
    quotes_astray,
)
from engiagent.cli.checked import CheckResult, of_certificate, read_offline, undecided_result
from engiagent.cli.exit_codes import ExitCode
from engiagent.errors import EngiagentError, InputError
from engiagent.files import open_inside
from engiagent.jsontext import loads_strict
from engiagent.kept import KeptSchedule, keep_check, kept_schedule
from engiagent.proofs import PLAIN, Proofs
from engiagent.reverify import compare
from engiagent.runfolder import (
    BLUEPRINT,
    CERTIFICATE,
    PROBLEM,
    is_run_folder,
    read_record,
)
from engiagent.runinputs import (
    EXPERT,
    REQUIREMENTS,
    name_of,
    problem_beside,
    problem_folder_of,
    slots_of,
    stored_problem,
)
from engiagent.verify.certificate import read_certificate

if TYPE_CHECKING:
    from engiagent.problems import Problem
    from engiagent.solvers.result import SolveOptions
    from engiagent.verify import Certificate
    from engiagent.verify.disturbances import Disturbances
    from engiagent.verify.foreign import Reading
    from engiagent.verify.opinions import Opinion
    from engiagent.verify.requirements import Requirements


@dataclass(frozen=True)
class Examiner:
    """Checks paths of every kind; the settings are the same for all of them.

    Attributes
    ----------
    options
        For problems and blueprints that have to be solved first.
    solution, reading
        Somebody's schedule, and how it is to be read.
    certificate
        A stored certificate, which the result then has to be.
    out
        A new folder in which the check of somebody's schedule is kept.
    proofs, opinion
        What is asked beyond the plain check, and what a second solver said when it was asked.
    disturb
        What is to turn out another way in runs beside the check.
    requirements
        What an engine took from the text of the run that is checked again.
    seen
        The ids of the corpus problems looked at so far, and where each was.
    """

    options: "SolveOptions"
    solution: Path | None = None
    reading: "Reading | None" = None
    certificate: Path | None = None
    out: Path | None = None
    proofs: Proofs = PLAIN
    opinion: "Opinion | None" = None
    disturb: "Disturbances | None" = None
    requirements: "Requirements | None" = None
    seen: dict[str, str] = field(default_factory=dict, compare=False)

    def examine(self, path: Path) -> Iterator[CheckResult]:
        """Yield one result for a path, or one for each problem of a corpus folder."""
        if self.certificate is not None and self.disturb is None:
            again = replace(self, disturb=_disturbances(self.certificate))
            if again.disturb is not None:
                yield from again.examine(path)
                return
        for target, check in self._targets(path):
            try:
                yield self._compared(check(target))
            except MissingDataError as error:
                yield CheckResult(
                    path=str(target),
                    code=ExitCode.UNDECIDED,
                    verdict="undecided",
                    reason=str(error),
                    missing=error.names,
                )
            except EngiagentError as error:
                yield CheckResult(
                    path=str(target), code=exit_codes.of_error(error), error=str(error)
                )

    def _compared(self, result: CheckResult) -> CheckResult:
        """Compare what was found with the stored certificate, if there is one."""
        stored = self.certificate
        more = (
            self.proofs != PLAIN or self.disturb is not None
        )  # than what the stored one was asked for
        if (
            stored is None
            and not more
            and self.solution is None
            and is_run_folder(Path(result.path))
        ):
            stored = Path(result.path) / CERTIFICATE
            if not stored.is_file():
                return result
        if stored is None:
            return result
        if result.certificate is None:
            raise EngiagentError(f"there is no schedule that {stored.name} could be of")
        text = open_inside(stored.parent, stored.name).decode("utf-8", errors="replace")
        compared = replace(result, differences=compare(text, result.certificate, str(stored)))
        if not compared.verified:
            return replace(compared, code=exit_codes.worst([result.code, ExitCode.VIOLATED]))
        return compared if self.certificate is None else replace(compared, code=ExitCode.FEASIBLE)

    def _targets(self, path: Path) -> Iterator[tuple[Path, Any]]:
        if not path.exists():
            raise InputError("there is no such file or folder", str(path))
        if path.is_file():
            if path.suffix == ".json":
                yield path, self._blueprint
            elif path.suffix in (".md", ".txt"):
                yield path, self._problem
            else:
                raise InputError(
                    "this is nothing to check",
                    str(path),
                    expected="a problem (.md, .txt), a blueprint (.json) or a folder",
                )
        elif is_run_folder(path):
            yield path, self._run
        elif (path / "problem.md").is_file() or (path / "problem.txt").is_file():
            yield path, self._problem
        else:
            yield from self._corpus(path)

    def _corpus(self, path: Path) -> Iterator[tuple[Path, Any]]:
        from engiagent.problems import find_problems

        found = find_problems(path)
        annotated = [place for place in found if place.is_dir() and (place / EXPERT).is_dir()]
        if len(found) == 1 and not annotated:
            yield found[0], self._problem
            return
        if not annotated:
            raise InputError("there is neither a run nor a problem with expert/", str(path))
        if self.solution is not None:
            raise EngiagentError("--solution belongs to one problem, not to a corpus folder")
        for place in annotated:
            if is_run_folder(place.parent):
                yield place.parent, self._run
            else:
                yield place, self._problem

    def _run(self, path: Path) -> CheckResult:
        """Check a run again from what its folder holds."""
        problem = stored_problem(path)
        blueprint = Blueprint.load(path / BLUEPRINT) if (path / BLUEPRINT).is_file() else None
        name = str(read_record(path)["problem"])
        kept = kept_schedule(path)
        if self.solution is None and kept is None:
            return self._without_schedule(path, problem, blueprint, name)
        if self.solution is not None or kept is None:
            return self._schedule(path, problem, blueprint, folder=path / PROBLEM, name=name)
        from engiagent.certify import with_gaps

        folder = path / PROBLEM
        again = replace(
            self, reading=kept.reading, opinion=kept.opinion, requirements=kept.requirements
        )
        again = again._informed(problem, kept.path, blueprint, folder, name)
        again = replace(again, proofs=replace(self.proofs, exact=self.proofs.exact or kept.exact))
        again = replace(again, disturb=self.disturb or _disturbances(path / CERTIFICATE))
        certificate = again._certificate(problem, kept.path, blueprint, folder, name)
        return of_certificate(path, with_gaps(certificate, kept.not_understood))

    def _without_schedule(
        self, path: Path, problem: "Problem | None", blueprint: Blueprint | None, name: str
    ) -> CheckResult:
        """Say again of a run without a schedule what its certificate says, for the same inputs."""
        reason = "the run has no schedule to check"
        stored = path / CERTIFICATE
        if problem is None or not stored.is_file():
            return undecided_result(path, name, reason)
        from engiagent.certify import without_schedule

        text = open_inside(path, CERTIFICATE).decode("utf-8", errors="replace")
        given = read_certificate(text, str(stored))
        again = without_schedule(problem, blueprint, given["missing"], given["not_understood"])
        return replace(of_certificate(path, again), reason=reason)

    def _blueprint(self, path: Path) -> CheckResult:
        """Check a schedule against a blueprint, or solve the blueprint and check that."""
        blueprint = Blueprint.load(path)
        problem = problem_beside(path)
        if self.solution is not None:
            return self._schedule(path, problem, blueprint)
        return self._solved(path, problem, blueprint)

    def _problem(self, path: Path) -> CheckResult:
        """Check somebody's schedule, or the problem's own expert material."""
        from engiagent.problems import Problem

        problem = Problem.load(path)
        if self.solution is not None:
            return self._foreign(path, problem)
        if problem.expert is None:
            raise InputError(
                "there is nothing to check the problem against",
                str(path),
                expected="--solution FILE, or expert/ beside it; 'engiagent run' solves it",
            )
        return self._expert(path, problem, problem.expert)

    def _foreign(self, path: Path, problem: "Problem") -> CheckResult:
        """Check somebody's schedule with the expert's blueprint, or what can be read offline."""
        from engiagent.agents.offline import analyse
        from engiagent.certify import without_schedule
        from engiagent.stages import gaps

        expert = problem.expert
        if expert is not None and (expert / BLUEPRINT).is_file():
            return self._schedule(path, problem, Blueprint.load(expert / BLUEPRINT))
        if expert is not None and (expert / REQUIREMENTS).is_file():
            return self._schedule(path, problem, None)
        analysis = analyse(problem, {})
        missing, not_understood = gaps(analysis)
        if analysis.blueprint is None or missing:
            nothing = without_schedule(problem, analysis.blueprint, missing, not_understood)
            return of_certificate(path, nothing)
        return self._schedule(path, problem, analysis.blueprint, tuple(not_understood))

    def _schedule(
        self,
        path: Path,
        problem: "Problem | None",
        blueprint: Blueprint | None,
        not_understood: tuple[str, ...] = (),
        *,
        folder: Path | None = None,
        name: str | None = None,
    ) -> CheckResult:
        """Check somebody's schedule, and keep what it was checked against if that is asked for."""
        from engiagent.certify import with_gaps

        assert self.solution is not None
        folder = folder or problem_folder_of(path)
        name = name or name_of(path)
        again = self._informed(problem, self.solution, blueprint, folder, name)
        certificate = with_gaps(
            again._certificate(problem, self.solution, blueprint, folder, name), not_understood
        )
        if self.out is not None:
            exact, opinion = self.proofs.exact, again.opinion
            kept = KeptSchedule(self.solution, self.reading, not_understood, exact, opinion)
            keep_check(self.out, certificate, kept, problem, blueprint, folder)
        return of_certificate(path, certificate)

    def _expert(self, path: Path, problem: "Problem", expert: Path) -> CheckResult:
        """Check that blueprint and answer of a corpus problem agree with the certificate."""
        disagreements: list[str] = []
        if (expert / BLUEPRINT).is_file():
            blueprint = Blueprint.load(expert / BLUEPRINT)
            disagreements += quotes_astray(blueprint, problem.text)
            try:
                result = self._solved(path, problem, blueprint)
            except MissingDataError as error:
                missing = tuple(slots_of(blueprint, error.names))
                result = undecided_result(path, problem.id, str(error), missing)
        else:
            result = read_offline(path, problem)
        disagreements += absent_files(expert)
        disagreements += self._taken(problem.id, path)
        if (expert / REQUIREMENTS).is_file():
            from engiagent.verify.requirements import load_requirements

            stated = load_requirements(expert / REQUIREMENTS)
            disagreements += numbers_astray(stated, problem)
        if (expert / ANSWER).is_file():
            content = open_inside(expert, ANSWER).decode("utf-8", errors="replace")
            answer = loads_strict(content, f"{EXPERT}/{ANSWER}")
            disagreements += against_answer(
                result.verdict,
                result.certified("objective") or {},
                result.missing or result.certified("missing") or (),
                answer,
            )
            disagreements += against_bound(result.verdict, result.certified("bound"), answer)
            disagreements += self._stored(path, problem, expert, answer)
        code = ExitCode.VIOLATED if disagreements else ExitCode.FEASIBLE
        return replace(result, code=code, disagreements=tuple(disagreements))

    def _taken(self, name: str, path: Path) -> Iterator[str]:
        """Yield that another problem has the same id."""
        before = self.seen.setdefault(name, str(path))
        if before != str(path):
            yield f"the id {name!r} is that of {before} too"

    def _stored(self, path: Path, problem: "Problem", expert: Path, answer: Any) -> Iterator[str]:
        """Yield what is wrong with the schedules that are kept beside the answer."""
        from engiagent.verify.foreign import Reading, load_mapping

        files = stored_schedules(expert)
        if not files:
            return
        reading: Reading | None = None
        if (expert / MAPPING).is_file():
            reading = load_mapping(expert / MAPPING)
        blueprint = expert / BLUEPRINT
        given = Blueprint.load(blueprint) if blueprint.is_file() else None
        for file in files:
            again = replace(self, solution=file, reading=reading, out=None)
            found = again._schedule(path, problem, given)
            yield from (f"{file.name}: {text}" for text in against_schedule(found, answer))

    def _solved(self, path: Path, problem: "Problem | None", blueprint: Blueprint) -> CheckResult:
        from engiagent.formulations import compile_blueprint, expand
        from engiagent.stages import solve_program, static_findings

        folder = problem.folder if problem is not None else problem_folder_of(path)
        if blueprint.kind == "definitions":
            from engiagent.stages import computed

            return self._certified(path, problem, computed(blueprint, folder), blueprint)
        error = static_findings(expand(blueprint), folder).error
        if error is not None:
            raise error
        program = compile_blueprint(blueprint, folder)
        solution, account = solve_program(program, self.options)
        solution = self.proofs.claimed(solution, program)
        if account.status == "interrupted":
            raise KeyboardInterrupt
        result = self._certified(path, problem, solution, blueprint)
        code = exit_codes.of_verdict(result.verdict, account.status)
        reason = None if account.status == "optimal" else account.reason
        return replace(result, code=code, reason=reason)

    def _certified(
        self,
        path: Path,
        problem: "Problem | None",
        solution: Any,
        blueprint: Blueprint | None,
    ) -> CheckResult:
        folder = problem_folder_of(path)
        name = name_of(path)
        again = self._informed(problem, solution, blueprint, folder, name)
        return of_certificate(path, again._certificate(problem, solution, blueprint, folder, name))

    def _informed(
        self,
        problem: "Problem | None",
        solution: Any,
        blueprint: Blueprint | None,
        folder: Path,
        name: str,
    ) -> "Examiner":
        """Return the examiner with what a second solver says, if one is asked."""
        data = folder if problem is None else problem.folder
        said = self.proofs.opinion(
            problem, solution, blueprint, self.options,
            folder=data, name=name, mapping=self.reading,
        )  # fmt: skip
        return self if said is None else replace(self, opinion=said)

    def _certificate(
        self,
        problem: "Problem | None",
        solution: Any,
        blueprint: Blueprint | None,
        folder: Path,
        name: str,
    ) -> "Certificate":
        from engiagent.certify import certify

        return certify(
            problem, solution, blueprint, mapping=self.reading, folder=folder, name=name,
            exact=self.proofs.exact, opinion=self.opinion, disturb=self.disturb,
            requirements=self.requirements,
        )  # fmt: skip


def _disturbances(path: Path) -> "Disturbances | None":
    """Return what the certificate in a file was disturbed by, None without one."""
    from engiagent.verify.disturbances import disturbances_of

    if not path.is_file():
        return None
    text = open_inside(path.parent, path.name).decode("utf-8", errors="replace")
    return disturbances_of(read_certificate(text, str(path)))
