"""``engiagent check``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engiagent.cli import exit_codes
from engiagent.cli.output import clean, number, print_json, say, say_verdict
from engiagent.cli.run import limits, solve_options

if TYPE_CHECKING:
    from engiagent.cli.checking import CheckResult


@click.command(epilog=exit_codes.table())
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH…")
@click.option(
    "--solution",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="A schedule made by anybody: CSV, JSON or netCDF.",
)
@click.option(
    "--map",
    "mappings",
    multiple=True,
    metavar="QUANTITY=COLUMN",
    help="Which column of the schedule is which quantity; repeatable.",
)
@click.option(
    "--junit",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the results as JUnit XML.",
)
@limits
def check(
    paths: tuple[Path, ...],
    solution: Path | None,
    mappings: tuple[str, ...],
    junit: Path | None,
    as_json: bool,
    **limits: Any,
) -> int:
    """Check schedules, runs, blueprints or a whole corpus.

    PATH is a problem with --solution, a run folder (checked again from what it holds), a blueprint
    (solved, then checked), or a problem or a folder of problems with expert/ beside them: these are
    right when certificate and stored answer agree, and the exit code is then 0 even where the
    answer is that no schedule exists.
    """
    from engiagent.cli.checking import Examiner
    from engiagent.cli.run import parse_settings

    if solution is not None and len(paths) > 1:
        raise click.UsageError("--solution belongs to one PATH")
    if mappings and solution is None:
        raise click.UsageError("--map needs --solution")
    mapping = parse_settings(mappings, "--map", "battery.charge=P_ch") if mappings else None
    examiner = Examiner(solve_options(**limits), solution, mapping)
    results: list[CheckResult] = []
    for path in paths:
        for result in examiner.examine(path):
            results.append(result)
            tell(result)
    code = exit_codes.worst(result.code for result in results)
    if len(results) > 1:
        tell_table(results)
    if junit is not None:
        from engiagent.cli.junit import write_junit

        write_junit(results, junit)
    if as_json:
        only = len(results) == 1
        print_json(results[0].to_json() if only else overall(results, code))
    return int(code)


def overall(results: Sequence["CheckResult"], code: exit_codes.ExitCode) -> dict[str, object]:
    """Return the JSON object of several results; the verdict is that of the worst."""
    worst = next((result for result in results if result.code == code), None)
    return {
        "verdict": worst.verdict if worst is not None else None,
        "exit_code": int(code),
        "results": [
            {"path": result.path, **result.to_json(), "exit_code": int(result.code)}
            for result in results
        ],
    }


def tell(result: "CheckResult") -> None:
    """Print one result for people."""
    found = result.to_json()
    title = result.problem or Path(result.path).name
    if result.error is not None:
        say(f"{result.path}: {result.error}", "bold red")
        return
    say_verdict(
        title,
        result.verdict,
        reason=result.reason,
        objective=found["objective"],
        bound=found["bound"],
        missing=found["missing"],
        not_understood=found["not_understood"],
        violations=found["violations"],
        certificate=result.certificate,
    )


def tell_table(results: Sequence["CheckResult"]) -> None:
    """Print a line for each of several results."""
    say("")
    width = max(len(result.path) for result in results)
    for result in results:
        goal = result.to_json()["objective"]
        value = "" if goal["value"] is None else number(goal["value"], goal["unit"])
        state = "ok  " if result.code is exit_codes.ExitCode.FEASIBLE else f"({int(result.code)}) "
        verdict = result.verdict or ("error" if result.error else "no verdict")
        say(clean(f"{state} {result.path:<{width}}  {verdict:<18} {value}"))
    good = sum(result.code is exit_codes.ExitCode.FEASIBLE for result in results)
    say(f"{good} of {len(results)} as they should be")
