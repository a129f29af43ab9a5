"""``engiagent run`` and ``engiagent solve``."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from engiagent.agents.routing import Policy
from engiagent.agents.team import Guidance
from engiagent.cli import exit_codes, options
from engiagent.cli.engines import (
    ENGINE_OPTIONS,
    asking_of,
    budget_of,
    engine_of,
    engines,
    guidance_of,
    problem_of,
    rehearse,
)
from engiagent.cli.options import PROBLEM, further_proofs, limits, parse_settings, solve_options
from engiagent.cli.output import number, percent, print_json, say, say_error, say_items, summary
from engiagent.cli.verdicts import figures_line, observers, say_verdict
from engiagent.run.folder import read_record
from engiagent.run.outcome import RunOutcome
from engiagent.run.proofs import Proofs


@click.command(epilog=exit_codes.table())
@click.argument("problem", type=PROBLEM, required=False)
@options.settings()
@engines
@options.outputs
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
    asked = {name: given.pop(name) for name in ENGINE_OPTIONS}
    if asked["resume"] is not None:
        if problem is not None or settings or out is not None:
            raise click.UsageError("--resume goes on as the run was asked for, in its own folder")
        return _resumed(asked, as_json, explain)
    engine, overrides = engine_of(asked), parse_settings(settings)
    path = problem_of(problem, asked)
    if asked["dry_run"]:
        return rehearse(path, asked, overrides, as_json)
    from engiagent.agents.runs import run_problem

    with observers() as seen:
        outcome = run_problem(
            path,
            engine,
            out,
            overrides,
            solve_options(**given),
            force=force,
            proofs=Proofs(exact, second_solver),
            asking=None if engine == "offline" else asking_of(asked),
            guidance=guidance_of(asked, engine),
            **seen,
        )
    return finish(outcome, as_json, explain=explain)


def _resumed(asked: dict[str, Any], as_json: bool, explain: bool) -> int:
    """Go on with a run; whom it asks and what it may take can be said anew."""
    from engiagent.agents.runs import resume_run

    before = read_record(asked["resume"])["asked"]
    known = Guidance.of_record(before)
    policy = replace(known.policy or Policy(), code=True) if asked["allow_code"] else known.policy
    guidance = replace(known, budget=budget_of(asked) or known.budget, policy=policy)
    with observers() as seen:
        asking = asking_of(asked, before)
        outcome = resume_run(asked["resume"], asking=asking, guidance=guidance, **seen)
    return finish(outcome, as_json, explain=explain)


@click.command(epilog=exit_codes.table())
@click.argument("blueprint", type=click.Path(path_type=Path))
@options.outputs
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
    **limits: Any,
) -> int:
    """Solve BLUEPRINT, a JSON file, and check the schedule."""
    from engiagent.agents.runs import solve_blueprint

    proofs, given = Proofs(exact, second_solver), solve_options(**limits)
    with observers() as seen:
        outcome = solve_blueprint(blueprint, out, given, force=force, proofs=proofs, **seen)
    return finish(outcome, as_json, explain=explain)


def saving_lines(case: Mapping[str, Any]) -> Iterator[str]:
    """Yield what the plan saves beside the baseline, and what its investment earns."""
    unit = case["unit"]
    if case.get("saving") is not None:
        share = case.get("saving_share")
        part = "" if share is None else f" ({percent(share)})"
        name = ", ".join(filter(None, (case["case"], case.get("description"))))
        yield f"saving     {number(case['saving'], unit)}{part} against the {name}"
    if case.get("investment") is not None:
        back, rate = case.get("payback_years"), case.get("internal_rate")
        worth = case.get("net_present_value")
        said = [f"{number(case['investment'], unit)}"]
        said += [] if back is None else [f"paid back in {back:.1f} years"]
        said += [] if worth is None else [f"net present value {number(worth, unit)}"]
        said += [] if rate is None else [f"internal rate {percent(rate)}"]
        yield f"invested   {', '.join(said)}"


def finish(outcome: RunOutcome, as_json: bool, *, explain: bool = False) -> int:
    """Print how a run ended and return its exit code."""
    if explain and outcome.choice is not None:
        for line in outcome.choice.splitlines():
            say(f"  {line}")
    code, figures = exit_codes.of_outcome(outcome), outcome.figures
    failed = outcome.error is not None or code in (
        exit_codes.ExitCode.LIMIT,
        exit_codes.ExitCode.INTERRUPTED,
    )
    if outcome.error is not None:
        say_error(f"engiagent: {outcome.error}")
    else:
        say_verdict(outcome, figures=figures_line(figures))
    layers = ((outcome.certificate or {}).get("versions") or {}).get("sandbox")
    if layers is not None:
        say(f"  sandbox    {layers}")
    for case in outcome.cases:
        goal = number(case["objective"], case["unit"]) if case["objective"] is not None else ""
        say(f"  case       {case['case']}: {case['status']}  {goal or case['reason']}")
        for line in saving_lines(case):
            say(f"  {line}")
    say_items("note", outcome.notes)
    report, stays = outcome.folder / "report.html", outcome.folder.is_dir()
    if stays:
        shown = ("report", report) if report.exists() else ("run   ", outcome.folder)
        say(f"  {shown[0]}     {shown[1]}")
    if as_json:
        error = outcome.reason or str(outcome.error) if failed else None
        print_json(
            summary(
                outcome,
                run=str(outcome.folder) if stays else None,
                error=error,
                cases=outcome.cases,
                further={
                    "reason": outcome.reason,
                    "why_missing": outcome.why_missing,
                    "figures": figures.to_dict()["figures"],
                },
            )
        )
    return int(code)
