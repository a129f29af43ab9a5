"""``engiagent run`` and ``engiagent solve``."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from engiagent.agents.routing import Policy
from engiagent.agents.team import Guidance
from engiagent.cli import exit_codes
from engiagent.cli.engines import (
    ENGINE_OPTIONS,
    asking_again,
    asking_of,
    budget_of,
    engine_of,
    engines,
    guidance_of,
    problem_of,
    rehearse,
    without_settings,
)
from engiagent.cli.output import number, print_json, say, say_error, say_items, summary
from engiagent.cli.places import PROBLEM
from engiagent.cli.progress import observers
from engiagent.cli.rehearsal import rehearse_blueprint, rehearse_problem, tell
from engiagent.cli.verdicts import say_verdict
from engiagent.run.folder import read_record
from engiagent.run.outcome import RunOutcome
from engiagent.run.proofs import Proofs
from engiagent.solvers.result import SolveOptions


def limits(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every command with a solve takes; they arrive as keywords."""
    positive = click.FloatRange(min=0, min_open=True)
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
        click.option(
            "--speed", is_flag=True, help="Let a faster method answer, with a larger proven gap."
        ),
        click.option(
            "--solver-log", type=click.Path(), metavar="FILE", help="Keep the solver's own log."
        ),
        click.option("--seed", type=click.IntRange(min=0), help="Of the solver's random choices."),
        click.option("--threads", type=click.IntRange(min=1), help="The most threads to use."),
        click.option(
            "--gap", type=click.FloatRange(min=0), help="Relative gap that ends a branch and bound."
        ),
        click.option(
            "--backend", metavar="NAME", help="The solver, as highs, scip or pyomo:ipopt."
        ),
        click.option(
            "--memory-limit",
            type=positive,
            metavar="MB",
            help="What the solver may take beyond its process with libraries loaded.",
        ),
        click.option("--time-limit", type=positive, metavar="S", help="Wall-clock limit."),
    ):
        command = option(command)
    return command


def further_proofs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for what a certificate can say beyond the plain check."""
    for option in (
        click.option(
            "--second-solver",
            metavar="NAME",
            help="Also have highs, scip or scipy solve what is stated, and report if they agree.",
        ),
        click.option(
            "--exact", is_flag=True, help="Also check in rational arithmetic; linear parts only."
        ),
    ):
        command = option(command)
    return command


def outputs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say where the run folder goes and what is told of the run."""
    for option in (
        click.option("--explain", is_flag=True, help="Print which solver was chosen, and why."),
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
@click.argument("problem", type=PROBLEM, required=False)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="Give a missing value or replace one, as battery.charge_efficiency=0.95; repeatable.",
)
@engines
@outputs
@further_proofs
@limits
def run(
    problem: Path | None,
    settings: tuple[str, ...],
    out: Path | None,
    force: bool,
    as_json: bool,
    explain: bool,
    exact: bool,
    second_solver: str | None,
    **given: Any,
) -> int:
    """Take PROBLEM to a certified schedule.

    PROBLEM is a file or a folder. The run folder holds every artefact and the report. With --resume
    a run goes on where it was cut, as it was asked for, and no PROBLEM is needed.
    """
    asked = without_settings({name: given.pop(name) for name in ENGINE_OPTIONS})
    if asked["resume"] is not None:
        if problem is not None or settings or out is not None:
            raise click.UsageError("--resume goes on as the run was asked for, in its own folder")
        return resumed(asked, as_json, explain)
    engine, overrides = engine_of(asked), parse_settings(settings)
    path = problem_of(problem, asked)
    options = solve_options(**given)
    if asked["dry_run"] and engine == "offline":
        return tell(rehearse_problem(path, overrides, options, out), as_json)
    if asked["dry_run"]:
        return rehearse(path, asked, overrides, as_json)
    from engiagent.agents.runs import run_problem

    with observers() as (on_event, on_progress):
        outcome = run_problem(
            path,
            engine,
            out,
            overrides,
            options,
            force=force,
            proofs=Proofs(exact, second_solver),
            asking=None if engine == "offline" else asking_of(asked),
            guidance=guidance_of(asked, engine),
            on_event=on_event,
            on_progress=on_progress,
        )
    return finish(outcome, as_json, explain=explain)


def resumed(asked: dict[str, Any], as_json: bool, explain: bool) -> int:
    """Go on with a run; whom it asks and what it may take can be said anew."""
    from engiagent.agents.runs import resume_run

    before = read_record(asked["resume"])["asked"]
    known = Guidance.of_record(before)
    policy = replace(known.policy or Policy(), code=True) if asked["allow_code"] else known.policy
    guidance = replace(known, budget=budget_of(asked) or known.budget, policy=policy)
    with observers() as (on_event, on_progress):
        outcome = resume_run(
            asked["resume"],
            asking=asking_again(before, asked),
            guidance=guidance,
            on_event=on_event,
            on_progress=on_progress,
        )
    return finish(outcome, as_json, explain=explain)


@click.command(epilog=exit_codes.table())
@click.argument("blueprint", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@outputs
@further_proofs
@limits
def solve(
    blueprint: Path,
    out: Path | None,
    force: bool,
    as_json: bool,
    explain: bool,
    exact: bool,
    second_solver: str | None,
    dry_run: bool,
    **limits: Any,
) -> int:
    """Solve BLUEPRINT, a JSON file, and check the schedule."""
    options = solve_options(**limits)
    if dry_run:
        return tell(rehearse_blueprint(blueprint, options, out), as_json)
    from engiagent.agents.runs import solve_blueprint

    with observers() as (on_event, on_progress):
        outcome = solve_blueprint(
            blueprint,
            out,
            options,
            force=force,
            proofs=Proofs(exact, second_solver),
            on_event=on_event,
            on_progress=on_progress,
        )
    return finish(outcome, as_json, explain=explain)


def solve_options(
    memory_limit: float | None = None, solver_log: str | None = None, **given: Any
) -> SolveOptions:
    """Return the solver's options of a command; what was not given keeps its default."""
    named = {"memory_limit_mb": memory_limit, "log": solver_log, **given}
    return SolveOptions(**{name: value for name, value in named.items() if value is not None})


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


def finish(outcome: RunOutcome, as_json: bool, *, explain: bool = False) -> int:
    """Print how a run ended and return its exit code."""
    if explain and outcome.choice is not None:
        for line in outcome.choice.splitlines():
            say(f"  {line}")
    code = exit_codes.of_outcome(outcome)
    failed = outcome.error is not None or code in (
        exit_codes.ExitCode.LIMIT,
        exit_codes.ExitCode.INTERRUPTED,
    )
    if outcome.error is not None:
        say_error(f"engiagent: {outcome.error}")
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
    layers = ((outcome.certificate or {}).get("versions") or {}).get("sandbox")
    if layers is not None:
        say(f"  sandbox    {layers}")
    for case in outcome.cases:
        goal = number(case["objective"], case["unit"]) if case["objective"] is not None else ""
        say(f"  case       {case['case']}: {case['status']}  {goal or case['reason']}")
    say_items("note", outcome.notes)
    report = outcome.folder / "report.html"
    say(
        f"  {'report' if report.exists() else 'run   '}     "
        f"{report if report.exists() else outcome.folder}"
    )
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
                certificate=outcome.certificate,
                run=str(outcome.folder),
                error=error,
                cases=outcome.cases,
                further={"reason": outcome.reason, "why_missing": outcome.why_missing},
            )
        )
    return int(code)
