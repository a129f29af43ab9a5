"""What ``engiagent check`` does with one path: which kind it is, and the result of looking."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.cli import exit_codes
from engiagent.cli.checked import CheckResult, of_certificate, without_plan
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.expert_checks import expert_result
from engiagent.cli.judging import Judge
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import open_inside
from engiagent.plant import read_plant
from engiagent.run.certify import with_gaps, without_schedule
from engiagent.run.folder import (
    BLUEPRINT,
    CERTIFICATE,
    MEETING,
    PROBLEM,
    is_run_folder,
    read_record,
)
from engiagent.run.inputs import (
    EXPERT,
    PROBLEM_SUFFIXES,
    REQUIREMENTS,
    problem_beside,
    stored_problem,
)
from engiagent.run.proofs import PLAIN
from engiagent.run.reverify import compare
from engiagent.run.stored import kept_schedule
from engiagent.text import Problem, find_problems
from engiagent.text.problem import PLANT_FILE
from engiagent.verify.certificate import read_certificate
from engiagent.verify.claims import Reading
from engiagent.verify.disturbances import Disturbances, disturbances_of


@dataclass(frozen=True)
class Examiner(Judge):
    """Checks paths of every kind; the settings are the same for all of them.

    Attributes
    ----------
    certificate
        A stored certificate, which the result then has to be.
    seen
        The ids of the corpus problems looked at so far, and where each was.
    """

    certificate: Path | None = None
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
                yield without_plan(target, None, str(error), error.names)
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
            elif path.suffix in PROBLEM_SUFFIXES:
                yield path, self._problem
            else:
                raise InputError(
                    "this is nothing to check",
                    str(path),
                    expected="a problem (.md, .txt, .yaml), a blueprint (.json) or a folder",
                )
        elif is_run_folder(path):
            yield path, self._run
        elif any((path / name).is_file() for name in ("problem.md", "problem.txt", PLANT_FILE)):
            yield path, self._problem
        else:
            yield from self._corpus(path)

    def _taken(self, name: str, path: Path) -> Iterator[str]:
        """Yield that another problem has the same id."""
        before = self.seen.setdefault(name, str(path))
        if before != str(path):
            yield f"the id {name!r} is that of {before} too"

    def _corpus(self, path: Path) -> Iterator[tuple[Path, Any]]:
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
        )
        again = again.informed(problem, kept.path, blueprint, folder, name)
        again = replace(again, disturb=self.disturb or _disturbances(path / CERTIFICATE))
        certificate = again.certificate_of(problem, kept.path, blueprint, folder, name)
        return of_certificate(path, with_gaps(certificate, kept.not_understood))

    def _without_schedule(
        self, path: Path, problem: Problem | None, blueprint: Blueprint | None, name: str
    ) -> CheckResult:
        """Say again of a run without a schedule what its certificate says, for the same inputs."""
        reason = "the run has no schedule to check"
        stored = path / CERTIFICATE
        if problem is None or not stored.is_file():
            return without_plan(path, name, reason)
        text = open_inside(path, CERTIFICATE).decode("utf-8", errors="replace")
        given = read_certificate(text, str(stored))
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
        taken = self._taken(problem.id, path)
        return expert_result(self, path, problem, problem.expert, taken)

    def _foreign(self, path: Path, problem: Problem) -> CheckResult:
        """Check somebody's schedule with the expert's blueprint, or the problem's own reading."""
        from engiagent.readings.read import read

        expert = problem.expert
        if expert is not None and (expert / BLUEPRINT).is_file():
            return self.schedule(path, problem, Blueprint.load(expert / BLUEPRINT))
        if expert is not None and (expert / REQUIREMENTS).is_file():
            return self.schedule(path, problem, None)
        found = read(problem)
        if found.blueprint is None or found.missing:
            nothing = without_schedule(problem, found.blueprint, found.lacking, found.unclear)
            return of_certificate(path, nothing)
        return self.schedule(path, problem, found.blueprint, found.unclear)


def _read_again(
    run: Path, problem: Problem | None, blueprint: Blueprint | None, schedule: Path
) -> Reading | None:
    """Return what a new meeting of a run's two readings shows; None where it had one only."""
    if not (run / MEETING).exists():
        return None
    from engiagent.agents.second import read_again  # here, for it brings the agents and solvers

    return read_again(run, problem, blueprint, schedule)


def _disturbances(path: Path) -> Disturbances | None:
    """Return what the certificate in a file was disturbed by, None without one."""
    if not path.is_file():
        return None
    text = open_inside(path.parent, path.name).decode("utf-8", errors="replace")
    return disturbances_of(read_certificate(text, str(path)))
