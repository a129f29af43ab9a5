"""Making certificates for ``engiagent check``: of what is solved first, and of somebody's plan."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from engiagent.blueprint import Blueprint
from engiagent.cli import exit_codes
from engiagent.cli.checked import CheckResult, of_certificate
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.run.certify import certify, with_gaps
from engiagent.run.inputs import name_of, problem_folder_of
from engiagent.run.proofs import PLAIN, Proofs
from engiagent.run.stages import computed, solve_program, static_findings
from engiagent.run.stored import KeptSchedule, keep_check
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem
from engiagent.verify.certificate import Certificate
from engiagent.verify.claims import Reading as TextReading
from engiagent.verify.disturbances import Disturbances
from engiagent.verify.foreign import Reading
from engiagent.verify.opinions import Opinion
from engiagent.verify.requirements import Requirements


@dataclass(frozen=True)
class Judge:
    """Has plans judged; the settings are the same for all of them.

    Attributes
    ----------
    options
        For problems and blueprints that have to be solved first.
    solution, reading
        Somebody's schedule, and how it is to be read.
    out
        A new folder in which the check of somebody's schedule is kept.
    proofs, opinion
        What is asked beyond the plain check, and what a second solver said when it was asked.
    disturb
        What is to turn out another way in runs beside the check.
    requirements
        What an engine took from the text of the run that is checked again.
    text
        What a new meeting of the two readings of that run shows.
    overrides
        The values that the user set in the run that is checked again.
    """

    options: SolveOptions
    solution: Path | None = None
    reading: Reading | None = None
    out: Path | None = None
    proofs: Proofs = PLAIN
    opinion: Opinion | None = None
    disturb: Disturbances | None = None
    requirements: Requirements | None = None
    text: TextReading | None = None
    overrides: Mapping[str, str] | None = None

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
        again = self.informed(problem, self.solution, blueprint, folder, name)
        certificate = with_gaps(
            again.certificate_of(problem, self.solution, blueprint, folder, name), not_understood
        )
        if self.out is not None:
            exact, solver = self.proofs.exact, self.proofs.second_solver
            kept = KeptSchedule(
                self.solution, self.reading, not_understood, exact, solver, again.opinion
            )
            keep_check(self.out, certificate, kept, problem, blueprint, folder)
        return of_certificate(path, certificate)

    def solved(self, path: Path, problem: Problem | None, blueprint: Blueprint) -> CheckResult:
        """Solve a blueprint, or compute what it defines, and have the plan judged."""
        folder = problem.folder if problem is not None else problem_folder_of(path)
        if blueprint.kind == "definitions":
            return self.certified(path, problem, computed(blueprint, folder), blueprint)
        error = static_findings(expand(blueprint), folder).error
        if error is not None:
            raise error
        program = compile_blueprint(blueprint, folder)
        solution, account = solve_program(program, self.options)
        solution = self.proofs.claimed(solution, program)
        if account.status == "interrupted":
            raise KeyboardInterrupt
        result = self.certified(path, problem, solution, blueprint)
        code = exit_codes.of_verdict(result.verdict, account.status)
        reason = None if account.status == "optimal" else account.reason
        return replace(result, code=code, reason=reason)

    def certified(
        self, path: Path, problem: Problem | None, solution: Any, blueprint: Blueprint | None
    ) -> CheckResult:
        """Have a plan judged with the data beside the path."""
        folder, name = problem_folder_of(path), name_of(path)
        again = self.informed(problem, solution, blueprint, folder, name)
        certificate = again.certificate_of(problem, solution, blueprint, folder, name)
        return of_certificate(path, certificate)

    def informed(
        self,
        problem: Problem | None,
        solution: Any,
        blueprint: Blueprint | None,
        folder: Path,
        name: str,
    ) -> Self:
        """Return the examiner with what a second solver says, if one is asked."""
        data = folder if problem is None else problem.folder
        said = self.proofs.opinion(
            problem, solution, blueprint, self.options, folder=data, name=name, mapping=self.reading
        )
        return self if said is None else replace(self, opinion=said)

    def certificate_of(
        self,
        problem: Problem | None,
        solution: Any,
        blueprint: Blueprint | None,
        folder: Path,
        name: str,
    ) -> Certificate:
        """Return the certificate of a plan."""
        return certify(
            problem,
            solution,
            blueprint,
            mapping=self.reading,
            folder=folder,
            name=name,
            exact=self.proofs.exact,
            opinion=self.opinion,
            disturb=self.disturb,
            requirements=self.requirements,
            reading=self.text,
            overrides=self.overrides,
        )
