"""What ``engiagent check`` does with one path: which kind it is, and the result of looking."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engiagent.blueprint import Blueprint
from engiagent.blueprint.diagnostics import MissingDataError
from engiagent.cli import exit_codes
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import summary
from engiagent.errors import EngiagentError, InputError
from engiagent.jsontext import loads_strict
from engiagent.runfolder import BLUEPRINT, CERTIFICATE, SOLUTION, is_run_folder
from engiagent.runinputs import EXPERT, problem_beside, problem_folder_of, slots_of, stored_problem

if TYPE_CHECKING:
    from engiagent.problems import Problem
    from engiagent.solvers.result import SolveOptions

ANSWER = "answer.json"
DEFAULT_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """What a check of one path found; ``disagreements`` are with the stored answer."""

    path: str
    code: ExitCode
    problem: str | None = None
    certificate: Mapping[str, Any] | None = None
    verdict: str | None = None
    reason: str | None = None
    missing: tuple[str, ...] = ()
    disagreements: tuple[str, ...] = ()
    error: str | None = None

    @property
    def violations(self) -> list[Any]:
        """Broken requirements, then disagreements with the stored answer."""
        found = list((self.certificate or {}).get("violations") or ())
        return found + [
            {"level": "answer", "check": ANSWER, "message": text} for text in self.disagreements
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``--json`` prints for one path."""
        found = self.certificate or {}
        bound = found.get("bound")
        return summary(
            problem=self.problem,
            verdict=self.verdict,
            objective=found.get("objective"),
            bound=bound.get("value") if isinstance(bound, Mapping) else None,
            missing=found.get("missing") or self.missing,
            not_understood=found.get("not_understood") or (),
            violations=self.violations,
            run=self.path,
            error=self.error,
        )


@dataclass(frozen=True)
class Examiner:
    """Checks paths of every kind; the settings are the same for all of them."""

    options: "SolveOptions"
    solution: Path | None = None
    mapping: Mapping[str, str] | None = None

    def examine(self, path: Path) -> Iterator[CheckResult]:
        """Yield one result for a path, or one for each problem of a corpus folder."""
        for target, check in self._targets(path):
            try:
                yield check(target)
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
            yield place, self._problem

    def _run(self, path: Path) -> CheckResult:
        """Check a run again from what its folder holds."""
        problem = stored_problem(path)
        blueprint = Blueprint.load(path / BLUEPRINT) if (path / BLUEPRINT).is_file() else None
        solution = self.solution or (path / SOLUTION)
        if not solution.is_file():
            raise InputError("the run has no solution to check", str(path))
        text, result = self._certified(path, problem, solution, blueprint)
        stored = path / CERTIFICATE
        if self.solution is None and stored.is_file() and stored.read_text("utf-8") != text:
            return replace(
                result,
                code=exit_codes.worst([result.code, ExitCode.VIOLATED]),
                disagreements=("the stored certificate is not what the check gives now",),
            )
        return result

    def _blueprint(self, path: Path) -> CheckResult:
        """Check a schedule against a blueprint, or solve the blueprint and check that."""
        blueprint = Blueprint.load(path)
        problem = problem_beside(path)
        if self.solution is not None:
            return self._certified(path, problem, self.solution, blueprint)[1]
        return self._solved(path, problem, blueprint)

    def _problem(self, path: Path) -> CheckResult:
        """Check somebody's schedule, or the problem's own expert material."""
        from engiagent.problems import Problem

        problem = Problem.load(path)
        expert = problem.folder / EXPERT
        if self.solution is not None:
            blueprint = _any_blueprint(problem)
            return self._certified(path, problem, self.solution, blueprint)[1]
        if not expert.is_dir():
            raise InputError(
                "there is nothing to check the problem against",
                str(path),
                expected="--solution FILE, or expert/ beside it; 'engiagent run' solves it",
            )
        return self._expert(path, problem, expert)

    def _expert(self, path: Path, problem: "Problem", expert: Path) -> CheckResult:
        """Check that blueprint and answer of a corpus problem agree with the certificate."""
        disagreements: list[str] = []
        if (expert / BLUEPRINT).is_file():
            blueprint = Blueprint.load(expert / BLUEPRINT)
            disagreements += quotes_astray(blueprint, problem.text)
            try:
                result = self._solved(path, problem, blueprint)
            except MissingDataError as error:
                result = CheckResult(
                    path=str(path),
                    code=ExitCode.UNDECIDED,
                    problem=problem.id,
                    verdict="undecided",
                    reason=str(error),
                    missing=tuple(slots_of(blueprint, error.names)),
                )
        else:
            result = _read_offline(path, problem)
        if (expert / ANSWER).is_file():
            answer = loads_strict((expert / ANSWER).read_text("utf-8"), f"{EXPERT}/{ANSWER}")
            disagreements += against_answer(result, answer)
            code = ExitCode.VIOLATED if disagreements else ExitCode.FEASIBLE
        else:
            code = exit_codes.worst(
                [result.code, ExitCode.VIOLATED if disagreements else ExitCode.FEASIBLE]
            )
        return replace(result, code=code, disagreements=tuple(disagreements))

    def _solved(self, path: Path, problem: "Problem | None", blueprint: Blueprint) -> CheckResult:
        from engiagent.formulations import compile_blueprint, expand
        from engiagent.runs import solve_program, static_findings

        folder = problem.folder if problem is not None else problem_folder_of(path)
        error = static_findings(expand(blueprint), folder).error
        if error is not None:
            raise error
        solution, account = solve_program(compile_blueprint(blueprint, folder), self.options)
        if account.status == "interrupted":
            raise KeyboardInterrupt
        _, result = self._certified(path, problem, solution, blueprint)
        code = exit_codes.of_verdict(result.verdict, account.status)
        reason = None if account.status == "optimal" else account.reason
        return replace(result, code=code, reason=reason)

    def _certified(
        self, path: Path, problem: "Problem | None", solution: Any, blueprint: Blueprint | None
    ) -> tuple[str, CheckResult]:
        from engiagent.certify import certify

        folder = problem_folder_of(path) if path.is_file() else path
        name = problem.id if problem is not None else path.stem
        certificate = certify(
            problem, solution, blueprint, mapping=self.mapping, folder=folder, name=name
        )
        return certificate.to_json(), CheckResult(
            path=str(path),
            code=exit_codes.of_verdict(certificate.verdict),
            problem=certificate.problem,
            certificate=certificate.to_dict(),
            verdict=certificate.verdict,
        )


def _any_blueprint(problem: "Problem") -> Blueprint | None:
    """Return the expert's blueprint, else the offline engine's, else None."""
    path = problem.folder / EXPERT / BLUEPRINT
    if path.is_file():
        return Blueprint.load(path)
    from engiagent.agents.offline import analyse

    blueprint: Blueprint | None = analyse(problem, {}).blueprint
    return blueprint


def _read_offline(path: Path, problem: "Problem") -> CheckResult:
    """Return what the offline engine makes of a problem that has no blueprint."""
    from engiagent.agents.offline import analyse
    from engiagent.runs import gaps

    missing, not_understood = gaps(analyse(problem, {}))
    return CheckResult(
        path=str(path),
        code=ExitCode.UNDECIDED,
        problem=problem.id,
        verdict="undecided" if missing or not_understood else None,
        missing=missing,
        reason="no blueprint; read by the offline engine",
    )


def quotes_astray(blueprint: Blueprint, text: str) -> Iterator[str]:
    """Yield a sentence for every quote that does not stand at its place in the text."""
    for quote, span in _quotes(blueprint.to_dict()):
        start, stop = span
        if text[start:stop] != quote:
            yield f"the quote {quote!r} is not at {start}:{stop}, where {text[start:stop]!r} stands"


def _quotes(value: Any) -> Iterator[tuple[str, tuple[int, int]]]:
    if isinstance(value, dict):
        span, quote = value.get("span"), value.get("quote")
        if isinstance(quote, str) and isinstance(span, list) and len(span) == 2:
            yield quote, (span[0], span[1])
        for item in value.values():
            yield from _quotes(item)
    elif isinstance(value, list):
        for item in value:
            yield from _quotes(item)


def against_answer(result: CheckResult, answer: Any) -> Iterator[str]:
    """Yield a sentence for everything in which a result differs from the stored answer."""
    if not isinstance(answer, dict):
        yield "the answer is no JSON object"
        return
    if result.verdict != answer.get("verdict"):
        yield f"the verdict is {result.verdict}, the answer says {answer.get('verdict')}"
    expected = answer.get("objective") or {}
    if expected.get("value") is not None:
        found = (result.certificate or {}).get("objective") or {}
        yield from _objectives(found, expected, answer.get("relative_tolerance"))
    names = {str(item) for item in answer.get("missing") or ()}
    given = set(result.missing or (result.certificate or {}).get("missing", ()))
    if names != given:
        yield f"missing is {sorted(given)}, the answer says {sorted(names)}"


def _objectives(
    found: Mapping[str, Any], expected: Mapping[str, Any], tolerance: float | None
) -> Iterator[str]:
    from engiagent.blueprint.units import convert, parse_unit

    value = found.get("value")
    if value is None:
        yield f"there is no objective, the answer says {expected['value']}"
        return
    unit, wanted = str(found.get("unit") or "1"), str(expected.get("unit") or "1")
    value = convert(float(value), parse_unit(unit), parse_unit(wanted))
    allowed = (tolerance or DEFAULT_TOLERANCE) * max(1.0, abs(expected["value"]))
    if not abs(value - expected["value"]) <= allowed:
        yield f"the objective is {value:.10g} {wanted}, the answer says {expected['value']:.10g}"
    if found.get("sense") != expected.get("sense"):
        yield f"the sense is {found.get('sense')}, the answer says {expected.get('sense')}"
