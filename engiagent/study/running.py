"""Running a study: the base case, the cases and the sweeps of a blueprint's report."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from engiagent.blueprint.analysis import analyse
from engiagent.blueprint.diagnostics import BlueprintError, Diagnostic
from engiagent.blueprint.document import Blueprint, ReportDef, SweepDef, thaw
from engiagent.blueprint.reporting import BASE, case_of
from engiagent.errors import EngiagentError
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.parametric import ParametricProgram, compile_parametric
from engiagent.formulations.program import Program
from engiagent.solvers.goals import frontier
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.session import Session
from engiagent.solvers.solving import solve
from engiagent.study.requests import Requests
from engiagent.study.study import Point, Study

OnPoint = Callable[[Point], None]
PATH = "core_model_elements.report"


def run_study(
    blueprint: Blueprint,
    folder: Path | str | None = None,
    options: SolveOptions | None = None,
    *,
    isolate: bool = True,
    points: int = 11,
    on_point: OnPoint | None = None,
) -> Study:
    """Solve a blueprint, its cases and its sweeps, and return all of them side by side.

    Parameters
    ----------
    blueprint
        A programme; without a ``report`` it is solved once.
    folder
        Where its data files lie.
    options
        Limits and settings of each single solve.
    isolate
        Solve each case in a process of its own. Sweeps whose parameter changes in place stay in
        this process, where each solve starts from the one before, unless a memory limit is set.
    points
        How many points of a front between two goals.
    on_point
        Called after each solve.

    Raises
    ------
    BlueprintError
        When the blueprint, or that of a case, is wrong; nothing has been solved then.
    MissingDataError
        When parameters are declared as missing.
    EngiagentError
        When it is a blueprint of definitions.
    """
    if blueprint.kind == "definitions":
        raise EngiagentError("definitions are computed once; a study needs a programme")
    place = Path(folder) if folder is not None else None
    report = blueprint.core.report or ReportDef()
    variants = [(BASE, blueprint)]
    variants += [(case.name, case_of(blueprint, k)) for k, case in enumerate(report.cases)]
    requests = Requests.of(blueprint, place)
    _refuse_wrong(variants, place)
    ready = [(name, requests.added_to(variant, place)) for name, variant in variants]
    study = _Study(requests, place, options or SolveOptions(), isolate, points)
    found: list[Point] = []
    for point in study.points(ready, report.sweeps):
        found.append(point)
        if on_point is not None:
            on_point(point)
    objective = blueprint.core.objective_function
    return Study(
        blueprint.sha256,
        objective.sense if objective is not None else "minimize",
        tuple(found),
        tuple(_notes(found)),
    )


def _refuse_wrong(variants: list[tuple[str, Blueprint]], folder: Path | None) -> None:
    """Refuse errors in the base and in the cases, each at its place."""
    errors = list(analyse(expand(variants[0][1]), folder).errors)
    for position, (name, variant) in enumerate(variants[1:] if not errors else ()):
        # What a case does not have any more is left out of its rows, so it is no error there.
        asked = variant.with_core(report=None)
        try:
            texts = [str(found) for found in analyse(expand(asked), folder).errors]
        except EngiagentError as error:
            texts = [str(error)]
        path = f"{PATH}.cases[{position}].patch"
        errors += [
            Diagnostic("EB036", "error", path, f"the patched blueprint is wrong: {t}", name=name)
            for t in texts
        ]
    if errors:
        raise BlueprintError(errors)


def _notes(points: list[Point]) -> Iterator[str]:
    for case in dict.fromkeys(p.case for p in points if p.absent):
        absent = next(p.absent for p in points if p.case == case and p.absent)
        yield f"{case}: there is no {', '.join(absent)}"


@dataclass(frozen=True)
class _Study:
    """A study under way."""

    requests: Requests
    folder: Path | None
    options: SolveOptions
    isolate: bool
    count: int

    def points(
        self, variants: list[tuple[str, Blueprint]], sweeps: tuple[SweepDef, ...]
    ) -> Iterator[Point]:
        for name, blueprint in variants:
            start = _start(name)
            try:
                program = compile_blueprint(blueprint, self.folder)
            except EngiagentError as error:
                if name == BASE:
                    raise
                yield _failed(start, error)
                continue
            yield from self.solved(start, program, self.solve)
        for sweep in sweeps:
            yield from self.swept(variants[0][1], sweep)

    def solve(self, program: Program, options: SolveOptions) -> SolverResult:
        return solve(program, options, isolate=self.isolate)

    def swept(self, blueprint: Blueprint, sweep: SweepDef) -> Iterator[Point]:
        """Yield the points of a sweep, each solve warm from the last where that is possible."""
        live = compile_parametric(blueprint, self.folder, [sweep.parameter], structure="recompile")
        again = self._session(live)
        for given in sweep.values:
            value = thaw(given)
            unit = sweep.unit or live.unit(sweep.parameter)
            start = replace(_start(BASE), sweep=sweep.name, sweep_value=value, sweep_unit=unit)
            new = value if sweep.unit is None else (value, sweep.unit)
            try:
                live.update(**{sweep.parameter: new})
            except EngiagentError as error:
                yield _failed(start, error)
                continue
            yield from self.solved(start, live.program, again)

    def _session(self, live: ParametricProgram) -> Callable[[Program, SolveOptions], SolverResult]:
        if not live.in_place or live.program.goals or self.options.memory_limit_mb is not None:
            return self.solve
        session = Session(live, self.options)
        return lambda program, options: session.solve()

    def solved(
        self, start: Point, program: Program, one: Callable[[Program, SolveOptions], SolverResult]
    ) -> Iterator[Point]:
        """Yield the point of a program, or the points of its front."""
        try:
            results = self._results(program, one)
        except EngiagentError as error:
            yield _failed(start, error)
            return
        front = program.method == "frontier"
        for number, result in enumerate(results):
            values, absent = self.requests.read(program, result)
            yield replace(
                start,
                point=number if front else None,
                status=result.status,
                reason=result.reason,
                objective=result.objective,
                objective_unit=program.objective_unit,
                bound=result.bound,
                gap=result.gap,
                seconds=result.seconds,
                values=values,
                absent=absent,
            )

    def _results(
        self, program: Program, one: Callable[[Program, SolveOptions], SolverResult]
    ) -> list[SolverResult]:
        if program.method != "frontier":
            return [one(program, self.options)]
        return frontier(program, self.solve, self.options, self.count)


def _start(case: str) -> Point:
    return Point(case, None, None, None, None, "error", "", None, "", None, None, 0.0)


def _failed(start: Point, error: Exception) -> Point:
    return replace(start, status="error", reason=" ".join(str(error).split()))
