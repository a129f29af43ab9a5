"""``engiagent sandbox``: what this machine can hold a script to, and a script held to it."""

import tempfile
from dataclasses import replace
from pathlib import Path

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import exit_codes, options
from engiagent.cli.checking import CheckResult, against, of_certificate
from engiagent.cli.options import PROBLEM
from engiagent.cli.output import print_json, say, summary
from engiagent.cli.verdicts import say_verdict
from engiagent.io.files import open_inside
from engiagent.run.certify import with_gaps
from engiagent.run.sandbox.limits import Limits
from engiagent.run.sandbox.running import layers
from engiagent.run.sandbox.solving import ScriptSolution, solve_by_script
from engiagent.run.stored import KeptSchedule, keep_check
from engiagent.text import Problem

_SHOWN = 20


@click.group()
def sandbox() -> None:
    """Run a script where it can touch nothing but its own folder."""


@sandbox.command(epilog=exit_codes.table())
@options.as_json
def probe(as_json: bool) -> int:
    """Say which guarantees this machine gives, found by confining a process.

    Exit code 7 when one is missing without which no script is run.
    """
    found = layers()
    say(str(found), "bold red" if found.missing else "bold green")
    if found.missing:
        say(f"  no {' and no '.join(found.missing)}: scripts are refused")
    code = exit_codes.ExitCode.SANDBOX if found.missing else exit_codes.ExitCode.FEASIBLE
    if as_json:
        shown = {name: getattr(found, name) for name in found.__dataclass_fields__}
        print_json(
            {
                "schema": "engiagent-sandbox/1",
                "layers": shown,
                "missing": found.missing,
                "exit_code": int(code),
            }
        )
    return int(code)


@sandbox.command(epilog=exit_codes.table())
@click.argument("script", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("problem", type=PROBLEM)
@options.file_option(
    "--blueprint",
    "Check against this blueprint; by default the expert's, or that of the plant block.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Keep the schedule, what it was checked against and its certificate in a new folder.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="S",
    help="Wall-clock limit.",
)
@click.option(
    "--memory-limit",
    type=click.IntRange(min=64),
    default=2048,
    show_default=True,
    metavar="MB",
    help="Address space.",
)
@click.option(
    "--unsafe", is_flag=True, help="Run it also where the machine cannot hold it in its folder."
)
@options.as_json
def run(
    script: Path,
    problem: Path,
    blueprint: Path | None,
    out: Path | None,
    time_limit: float,
    memory_limit: int,
    unsafe: bool,
    as_json: bool,
) -> int:
    """Run SCRIPT in the sandbox and check its schedule against PROBLEM.

    The script finds the problem's data files beside itself and writes an object of numbers by
    quantity into the file that its first argument names. Exit code 7 when the machine lacks
    Landlock or seccomp; nothing is run then.
    """
    posed = Problem.load(problem)
    given, unclear = _against(posed) if blueprint is None else (Blueprint.load(blueprint), ())
    real = script.resolve()  # the user's own link may be followed
    limits = Limits.within(time_limit, memory_limit)
    text = open_inside(real.parent, real.name).decode("utf-8", errors="replace")
    found = solve_by_script(
        text, posed, blueprint=given, limits=limits, isolation="unsafe" if unsafe else "auto"
    )
    if found.certificate is not None:
        found = replace(found, certificate=with_gaps(found.certificate, unclear))
        if out is not None:
            _keep(out, found, posed, given, unclear)
    return _tell(found, posed, as_json)


def _against(problem: Problem) -> tuple[Blueprint | None, tuple[str, ...]]:
    """Return what a schedule is held to beside annotations, and what of the text is open."""
    blueprint, found = against(problem)
    if found is None:
        return blueprint, ()
    return (None if found.missing else blueprint), (*found.lacking, *found.unclear)


def _keep(
    out: Path,
    found: ScriptSolution,
    problem: Problem,
    blueprint: Blueprint | None,
    unclear: tuple[str, ...],
) -> None:
    assert found.certificate is not None
    assert found.answer is not None
    with tempfile.TemporaryDirectory(prefix="engiagent-") as place:
        schedule = Path(place) / "schedule.json"
        schedule.write_text(found.answer, encoding="utf-8")
        kept = KeptSchedule(schedule, not_understood=unclear)
        keep_check(out, found.certificate, kept, problem, blueprint, problem.folder)


def _tell(found: ScriptSolution, problem: Problem, as_json: bool) -> int:
    """Print what became of a script and return the exit code."""
    result = found.result
    if found.certificate is None:
        limited = result.status == "limit"
        code = exit_codes.ExitCode.LIMIT if limited else exit_codes.ExitCode.UNDECIDED
        shown = CheckResult(path="", code=code, problem=problem.id)
        say(f"{problem.id}: no schedule: {result.reason}", "bold red")
        for line in result.output.strip().splitlines()[-_SHOWN:]:
            say(f"  {line}")
    else:
        shown = replace(of_certificate(Path(), found.certificate), problem=problem.id)
        say_verdict(shown)
    say(f"  sandbox    {result.layers}")
    if as_json:
        value = summary(shown, error=result.reason if found.certificate is None else None)
        print_json({**value, "sandbox": str(result.layers), "exit_code": int(shown.code)})
    return int(shown.code)
