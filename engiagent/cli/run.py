"""``engiagent run`` and ``engiagent solve``."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engiagent.cli import exit_codes
from engiagent.cli.output import (
    clean,
    console,
    number,
    print_json,
    say,
    say_items,
    say_verdict,
    summary,
)

if TYPE_CHECKING:
    from engiagent.runfolder import StageEvent
    from engiagent.runs import RunOutcome
    from engiagent.solvers.result import Progress, SolveOptions

ENGINES = ("offline", "anthropic")


def limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every command with a solve takes."""
    positive = click.FloatRange(min=0, min_open=True)
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option(
            "--memory-limit",
            type=positive,
            metavar="MB",
            help="What the solver may take beyond its bare process.",
        ),
        click.option("--time-limit", type=positive, metavar="S", help="Wall-clock limit."),
    ):
        command = option(command)
    return command


def outputs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where the run folder goes."""
    for option in (
        click.option("--force", is_flag=True, help="Replace an earlier run in DIR."),
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            metavar="DIR",
            help="Run folder, new or empty; by default a new one below runs/.",
        ),
    ):
        command = option(command)
    return command


@click.command(epilog=exit_codes.table())
@click.argument("problem", type=click.Path(path_type=Path))
@click.option(
    "--engine", type=click.Choice(ENGINES), default="offline", help="Who reads the problem."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Give a missing value or replace one, as battery.charge_efficiency=0.95; repeatable.",
)
@outputs
@limits
def run(
    problem: Path,
    engine: str,
    settings: tuple[str, ...],
    out: Path | None,
    force: bool,
    time_limit: float | None,
    memory_limit: float | None,
    as_json: bool,
) -> int:
    """Take PROBLEM to a certified schedule.

    PROBLEM is a file or a folder. The run folder holds every artefact and the report.
    """
    if engine != "offline":
        raise click.UsageError(f"the engine {engine} is not available yet; use --engine offline")
    overrides = parse_settings(settings)
    from engiagent.runs import run_problem

    options = solve_options(time_limit, memory_limit)
    with observers() as (on_event, on_progress):
        outcome = run_problem(
            problem,
            engine,
            out,
            overrides,
            options,
            force=force,
            on_event=on_event,
            on_progress=on_progress,
        )
    return finish(outcome, as_json)


@click.command(epilog=exit_codes.table())
@click.argument("blueprint", type=click.Path(path_type=Path))
@outputs
@limits
def solve(
    blueprint: Path,
    out: Path | None,
    force: bool,
    time_limit: float | None,
    memory_limit: float | None,
    as_json: bool,
) -> int:
    """Solve BLUEPRINT, a JSON file, and check the schedule."""
    from engiagent.runs import solve_blueprint

    options = solve_options(time_limit, memory_limit)
    with observers() as (on_event, on_progress):
        outcome = solve_blueprint(
            blueprint, out, options, force=force, on_event=on_event, on_progress=on_progress
        )
    return finish(outcome, as_json)


def solve_options(time_limit: float | None, memory_limit: float | None) -> "SolveOptions":
    """Return the solver's options of a command."""
    from engiagent.solvers.result import SolveOptions

    return SolveOptions(time_limit=time_limit, memory_limit_mb=memory_limit)


def parse_settings(
    settings: tuple[str, ...],
    option: str = "--set",
    example: str = "battery.charge_efficiency=0.95",
) -> dict[str, str]:
    """Return ``name=value`` pairs as a dictionary; a name may come only once."""
    result: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        name, value = name.strip(), value.strip()
        if not (equals and name and value):
            raise click.BadParameter(
                f"{setting!r} is no pair; write as {example}", param_hint=option
            )
        if name in result:
            raise click.BadParameter(f"{name} is set twice", param_hint=option)
        result[name] = value
    return result


@contextmanager
def observers() -> Iterator[
    tuple[Callable[["StageEvent"], None] | None, Callable[["Progress"], None] | None]
]:
    """Give observers that show progress, on a terminal only."""
    screen = console()
    if not screen.is_terminal:
        yield None, None
        return
    with screen.status("starting") as status:

        def on_event(event: "StageEvent") -> None:
            if event.kind == "start":
                status.update(f"{event.stage} …")

        def on_progress(progress: "Progress") -> None:
            status.update(clean(progress_text(progress)))

        yield on_event, on_progress


def progress_text(progress: "Progress") -> str:
    """Return a line on how far the solver has come."""
    parts = [f"solve … {progress.elapsed:.0f} s"]
    if progress.nodes:
        parts.append(f"{progress.nodes} nodes")
    elif progress.iterations:
        parts.append(f"{progress.iterations} iterations")
    if progress.objective is not None:
        parts.append(f"best {number(progress.objective)}")
    if progress.bound is not None:
        parts.append(f"bound {number(progress.bound)}")
    if progress.gap is not None:
        parts.append(f"gap {100 * progress.gap:.3g} %")
    return ", ".join(parts)


def finish(outcome: "RunOutcome", as_json: bool) -> int:
    """Print how a run ended and return its exit code."""
    code = exit_codes.of_outcome(outcome)
    failed = outcome.error is not None or code in (
        exit_codes.ExitCode.LIMIT,
        exit_codes.ExitCode.INTERRUPTED,
    )
    if outcome.error is not None:
        say(f"engiagent: {outcome.error}")
    else:
        say_verdict(
            outcome.problem,
            outcome.verdict,
            reason=outcome.reason,
            objective=outcome.objective,
            bound=outcome.bound,
            missing=outcome.missing,
            not_understood=outcome.not_understood,
            violations=outcome.violations,
            certificate=outcome.certificate,
        )
    say_items("note", outcome.notes)
    report = outcome.folder / "report.html"
    say(f"  {'report' if report.exists() else 'run   '}     "
        f"{report if report.exists() else outcome.folder}")  # fmt: skip
    if as_json:
        error = outcome.reason or str(outcome.error) if failed else None
        print_json(
            summary(
                problem=outcome.problem,
                verdict=outcome.verdict,
                objective=outcome.objective,
                bound=outcome.bound,
                missing=outcome.missing,
                not_understood=outcome.not_understood,
                violations=outcome.violations,
                run=str(outcome.folder),
                error=error,
            )
        )
    return int(code)
