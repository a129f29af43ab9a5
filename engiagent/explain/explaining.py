"""The way in: from a blueprint, a problem or a run folder to an explanation."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import numpy as np

from engiagent.blueprint import Blueprint
from engiagent.errors import EngiagentError, InputError
from engiagent.explain.conflicts import Statements
from engiagent.explain.explanation import Explanation, Tight
from engiagent.explain.limits import Limits
from engiagent.explain.places import Text
from engiagent.explain.plans import explain_plan
from engiagent.explain.text import clash_sentence
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.formulations.program import Program
from engiagent.io.jsontext import loads_strict
from engiagent.run.folder import BLUEPRINT, EXPLANATION, PROBLEM, is_run_folder, read_record
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of, stored_problem
from engiagent.run.stages import choice_of
from engiagent.solvers.result import SolveOptions, SolverResult
from engiagent.solvers.solving import solve
from engiagent.text import Problem

SECONDS: Final = 30.0
"""For everything that is solved to explain, besides the solve itself."""
RUN_SECONDS: Final = 10.0
"""The same in a run."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """What is explained: an expanded blueprint, where its data lie if it has any, and its words."""

    blueprint: Blueprint
    folder: Path | None
    problem: Problem | None = None
    name: str = "blueprint"

    @property
    def text(self) -> Text:
        """Where places are found in."""
        return Text(self.problem, folder=self.folder)


def explain(
    source: Blueprint | Path | str,
    folder: Path | str | None = None,
    *,
    problem: Problem | None = None,
    overrides: Mapping[str, str] | None = None,
    options: SolveOptions | None = None,
    seconds: float = SECONDS,
) -> Explanation:
    """Say why a problem has no plan, has no best plan, or has just this one.

    ``source``: a blueprint, the path of one (``.json``), a problem file or folder, or a run folder,
    whose explanation of a plan is taken as stored. ``folder``: where the data files of a blueprint
    lie that is given as an object. ``problem``: the problem that such a blueprint belongs to, for
    the words behind it. ``overrides``: values of the user for a problem, as for a run. ``options``:
    limits and settings of the solve. ``seconds``: for everything that is solved again to explain.
    Raises EngiagentError when something cannot be read or compiled.
    """
    options = options or SolveOptions()
    if isinstance(source, Blueprint):
        place = None if folder is None else Path(folder)
        given = Given(blueprint=source, folder=place, problem=problem)
        return _solved(given, options, seconds)
    path = Path(source)
    if path.is_dir() and is_run_folder(path):
        return _explain_run(path, options, seconds)
    if Blueprint.is_in(path):
        return _solved(_of_file(path), options, seconds)
    return _explain_problem(path, overrides, options, seconds)


def explain_result(
    given: Given,
    program: Program,
    result: SolverResult,
    *,
    seconds: float,
    choice: str | None = None,
) -> Explanation:
    """Explain how a solve ended.

    ``seconds`` are for what is solved again: with 0 nothing is, and an infeasible problem is not
    explained. ``choice`` says which solver was chosen and why, for a solve that came to no end.
    """
    if result.status == "infeasible":
        from engiagent.explain.infeasible import explain_infeasible  # most runs have a plan

        return explain_infeasible(
            given.blueprint, given.folder, given.text, name=given.name, seconds=seconds
        )
    if result.status == "unbounded":
        return _unbounded(given, program, result)
    if result.status == "optimal":
        return _plan(given, program, result)
    return _stopped(given, program, result, choice)


def _of_file(path: Path) -> Given:
    problem = problem_beside(path)
    return Given(
        blueprint=Blueprint.load(path),
        folder=problem_folder_of(path),
        problem=problem,
        name=problem.id if problem is not None else name_of(path),
    )


def _explain_problem(
    path: Path, overrides: Mapping[str, str] | None, options: SolveOptions, seconds: float
) -> Explanation:
    from engiagent.readings.read import read

    problem = Problem.load(path)
    found = read(problem, overrides)
    if found.blueprint is None or not found.complete:
        missing = (f"missing: {name}" for name in found.lacking)
        unclear = (f"not understood: {text}" for text in found.unclear)
        return Explanation(
            problem=problem.id,
            kind="undecided",
            summary="nothing was solved, because the problem is not understood in full; "
            "`engiagent audit` says more",
            notes=(*missing, *unclear),
        )
    place = problem.folder
    given = Given(blueprint=found.blueprint, folder=place, problem=problem, name=problem.id)
    return _solved(given, options, seconds)


def _explain_run(path: Path, options: SolveOptions, seconds: float) -> Explanation:
    """Return what a run said of its plan; where it has none, solve its blueprint again."""
    if (path / EXPLANATION).is_file():
        stored = loads_strict((path / EXPLANATION).read_text("utf-8"), EXPLANATION)
        found = Explanation.from_dict(stored)
        if found.kind == "plan":
            return found
    file = path / BLUEPRINT
    if not file.is_file():
        raise InputError("the run came to no blueprint, so there is nothing to explain", str(path))
    given = replace(
        _of_file(file), problem=stored_problem(path), name=str(read_record(path)["problem"])
    )
    if not (path / PROBLEM).is_dir():
        given = replace(given, folder=path)
    return _solved(given, options, seconds)


def _solved(given: Given, options: SolveOptions, seconds: float) -> Explanation:
    if given.blueprint.kind == "definitions":
        raise InputError(
            "definitions are computed, not solved: there is nothing to explain", given.name
        )
    given = replace(given, blueprint=expand(given.blueprint))
    program: Program = compile_blueprint(given.blueprint, given.folder)
    result = solve(program, options)
    choice = choice_of(program, options) if result.status not in ("optimal", "infeasible") else None
    return explain_result(given, program, result, seconds=seconds, choice=choice)


def _unbounded(given: Given, program: Program, result: SolverResult) -> Explanation:
    from engiagent.explain.infeasible import explain_unbounded  # most runs have a plan

    goal = program.objective_name
    summary = f"the objective ({goal}) improves without end: a limit is missing"
    if result.ray is None:
        notes = (f"the solver gave no direction: {result.reason}",)
        return Explanation(problem=given.name, kind="unbounded", summary=summary, notes=notes)
    found = explain_unbounded(program, result.ray)
    return Explanation(problem=given.name, kind="unbounded", summary=summary, unbounded=found)


def _plan(given: Given, program: Program, result: SolverResult) -> Explanation:
    statements = Statements(given.blueprint, given.folder or Path(), given.text)
    return explain_plan(Limits(program, statements), result, name=given.name)


def _stopped(
    given: Given, program: Program, result: SolverResult, choice: str | None
) -> Explanation:
    """Say how far a solver came that ended without a proof, and what could help."""
    notes = [f"{result.solver} {result.solver_version}".strip() + f" for {result.seconds:.3g} s"]
    if result.gap is not None and np.isfinite(result.gap):
        notes.append(f"the plan is proven to within {100 * result.gap:.3g} % of the best")
    notes += [line.strip() for line in (choice or "").splitlines()]
    if result.status in ("limit", "feasible"):
        gap = ", or a larger gap with --gap, as 1e-3" if program.is_mip else ""
        notes.append(f"allow more time with --time-limit{gap}")
    elif result.status == "error":
        notes.append("try another solver with --backend; engiagent doctor lists those installed")
    tight: tuple[Tight, ...] = ()
    if result.x is not None:
        with suppress(EngiagentError):
            known = _plan(given, program, result)
            tight, notes = known.tight, [*notes, *known.notes]
    return Explanation(
        problem=given.name,
        kind="stopped",
        summary=f"the solver came to no end: {result.reason}",
        tight=tight,
        notes=tuple(notes),
    )


def explained(
    blueprint: Blueprint,
    program: Program,
    result: SolverResult,
    folder: Path,
    problem: Problem | None,
    *,
    name: str,
    choice: str | None = None,
    seconds: float = RUN_SECONDS,
) -> Explanation:
    """Return why a solve of a run ended as it did."""
    given = Given(blueprint=blueprint, folder=folder, problem=problem, name=name)
    seconds = min(seconds, RUN_SECONDS)
    return explain_result(given, program, result, seconds=seconds, choice=choice)


def reasons(found: Explanation) -> tuple[str, ...]:
    """Return the demands that cannot hold, or what grows without end, a sentence each."""
    if found.unbounded is not None:
        return tuple(growth.text for growth in found.unbounded.growths)
    return tuple(clash_sentence(clash) for clash in found.clashes)
