"""``--dry-run``: what a run or a solve would do, found without solving or writing anything."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engiagent.blueprint import Blueprint
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import print_json, say, say_items
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of
from engiagent.run.stages import choice_of, static_findings
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem

PLACE = "a new folder below runs/"


@dataclass(frozen=True)
class Rehearsed:
    """What would be done.

    Attributes
    ----------
    missing, not_understood
        Of the text, when there is one.
    program
        Class, convexity and size; None where it does not come so far, or nothing is solved.
    choice
        Which solver would get it, and why, in lines.
    out
        Where the run would go.
    """

    problem: str
    kind: str | None
    missing: tuple[str, ...]
    not_understood: tuple[str, ...]
    program: dict[str, Any] | None
    choice: tuple[str, ...]
    out: str

    @property
    def ready(self) -> bool:
        """Whether it would come to a schedule, as far as can be said before."""
        return self.kind is not None and not self.missing and not self.not_understood

    def to_json(self) -> dict[str, Any]:
        """Return it as an object of the schema ``engiagent-dry-run/1``."""
        return {
            "schema": "engiagent-dry-run/1",
            "problem": self.problem,
            "ready": self.ready,
            "kind": self.kind,
            "missing": list(self.missing),
            "not_understood": list(self.not_understood),
            "program": self.program,
            "choice": list(self.choice),
            "out": self.out,
        }


def rehearse_problem(
    path: Path, overrides: dict[str, str], options: SolveOptions, out: Path | None
) -> Rehearsed:
    """Take the plant block or the stored reading of a problem and compile it.

    Raises
    ------
    EngiagentError
        When it cannot be read or compiled.
    """
    from engiagent.readings.read import read

    problem = Problem.load(path)
    found = read(problem, overrides)
    missing, unclear, blueprint = found.lacking, found.unclear, found.blueprint
    place = PLACE if out is None else str(out)
    if blueprint is None or missing:
        kind = None if blueprint is None else blueprint.kind
        return Rehearsed(problem.id, kind, missing, unclear, None, (), place)
    program, choice = _compiled(blueprint, problem.folder, options)
    return Rehearsed(problem.id, blueprint.kind, missing, unclear, program, choice, place)


def rehearse_blueprint(path: Path, options: SolveOptions, out: Path | None) -> Rehearsed:
    """Compile a blueprint.

    Raises
    ------
    EngiagentError
        When it cannot be read or compiled, or data are missing.
    """
    blueprint, problem = Blueprint.load(path), problem_beside(path)
    program, choice = _compiled(blueprint, problem_folder_of(path), options)
    name = name_of(path) if problem is None else problem.id
    return Rehearsed(
        name, blueprint.kind, (), (), program, choice, PLACE if out is None else str(out)
    )


def _compiled(
    blueprint: Blueprint, folder: Path, options: SolveOptions
) -> tuple[dict[str, Any] | None, tuple[str, ...]]:
    if blueprint.kind == "definitions":
        return None, ("computed, not solved",)
    found = static_findings(expand(blueprint), folder)
    if found.error is not None:
        raise found.error
    program = compile_blueprint(blueprint, folder)
    kind = classify(program)
    size = {"columns": len(program.column_lower), "rows": len(program.row_lower)}
    shown = {"class": kind.problem_class, "convexity": kind.convexity, **size}
    return shown, tuple(choice_of(program, options).splitlines())


def _code(found: Rehearsed) -> ExitCode:
    """Return the exit code, as the run itself would return it."""
    if found.ready:
        return ExitCode.FEASIBLE
    lacking = bool(found.missing) and not found.not_understood
    return ExitCode.ILL_POSED if lacking else ExitCode.UNDECIDED


def tell(found: Rehearsed, as_json: bool) -> int:
    """Print what would be done and return the exit code."""
    state = "would be solved" if found.ready else "would not come to a certified schedule"
    say(f"{found.problem}: {state}", "bold green" if found.ready else "bold yellow")
    say_items("missing", found.missing)
    say_items("not understood", found.not_understood)
    if found.program is not None:
        size = f"{found.program['columns']} columns, {found.program['rows']} rows"
        say(f"  program    {found.program['class']}, {found.program['convexity']}, {size}")
    for line in found.choice:
        say(f"  {line}")
    say(f"  would go   to {found.out}; nothing was solved or written")
    if as_json:
        print_json(found.to_json())
    return int(_code(found))
