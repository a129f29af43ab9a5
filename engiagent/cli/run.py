"""``engiagent run`` and ``engiagent solve``: who reads the problem, and how it ended."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import click

from engiagent.agents.coordinator import Guidance
from engiagent.agents.engines.asking import Asking, rehearsed
from engiagent.agents.memory import Memory, default_path
from engiagent.agents.protocol import Budget
from engiagent.agents.routing import Policy
from engiagent.agents.running import RunOutcome
from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import COUNT, POSITIVE, PROBLEM, RUN, parse_settings, solve_options
from engiagent.cli.output import number, percent, print_json, say, say_error, say_items, summary
from engiagent.cli.verdicts import figures_line, observers, say_verdict
from engiagent.errors import InputError
from engiagent.run import folder as run_folder
from engiagent.run.folder import read_record
from engiagent.run.proofs import Proofs
from engiagent.text import Problem

_OF_A_MODEL: Final = ("model", "base_url", "prices", "exemplars", "replay")
"""Options of a language model, by which it is asked."""
ENGINE_OPTIONS: Final = (
    *("engine", *_OF_A_MODEL, "max_cost", "max_tokens", "max_minutes", "readings"),
    *("memory", "resume", "dry_run", "allow_code"),
)
"""The keywords in which the options arrive."""

engines = options.added(
    click.option(
        "--engine",
        type=click.Choice(("offline", "anthropic")),
        help="Who reads the problem: no model (offline, the default: its plant block or its "
        "stored reading counts), or a language model, with the key in ANTHROPIC_API_KEY.",
    ),
    click.option("--model", metavar="NAME", help="Who answers, for every agent."),
    click.option("--base-url", metavar="URL", help="A server that speaks the Messages API."),
    click.option(
        "--exemplars",
        type=click.IntRange(0, 3),
        metavar="N",
        help="How many solved problems that resemble to show at most; 1 without it.",
    ),
    click.option(
        "--prices",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="What tokens cost, in place of the packaged prices.",
    ),
    click.option("--max-cost", type=POSITIVE, metavar="USD", help="Of all replies together."),
    click.option("--max-tokens", type=COUNT, help="Of all prompts and replies together."),
    click.option("--max-minutes", type=POSITIVE, help="Of the run, solver included."),
    click.option(
        "--readings",
        type=click.IntRange(1, 2),
        help="How often the text is read; 2 without it. After a single reading the verdict is "
        "'solved' at best.",
    ),
    click.option("--memory", metavar="FILE|none", help="What runs have learnt, or nothing of it."),
    click.option(
        "--replay",
        type=RUN,
        metavar="RUN",
        help="Answer from the exchanges that an earlier run recorded; asks no model.",
    ),
    click.option("--resume", type=RUN, metavar="RUN", help="Go on with a run that was cut."),
    click.option(
        "--allow-code",
        is_flag=True,
        help="Where the blueprint language cannot say a problem, let a script of the model "
        "run in the sandbox; its schedule is checked like any other.",
    ),
    click.option(
        "--dry-run",
        is_flag=True,
        help="Print the first prompts for the language model with tokens and cost; ask no model.",
    ),
)


@click.command(epilog=exit_codes.table())
@click.argument("problem", type=PROBLEM, required=False)
@options.settings()
@engines
@options.outputs
@options.further_proofs
@options.limits
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
@options.further_proofs
@options.limits
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
    figures = outcome.figures
    if outcome.error is not None:
        code = exit_codes.of_error(outcome.error)
        say_error(f"engiagent: {outcome.error}")
    else:
        code = exit_codes.of_verdict(outcome.verdict, outcome.solver_status)
        say_verdict(outcome, figures=figures_line(figures))
    code = ExitCode.INTERRUPTED if outcome.state == "interrupted" else code
    failed = outcome.error is not None or code in (ExitCode.LIMIT, ExitCode.INTERRUPTED)
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
        further = {"reason": outcome.reason, "why_missing": outcome.why_missing}
        further["figures"] = figures.to_dict()["figures"]
        error = outcome.reason or str(outcome.error) if failed else None
        place = str(outcome.folder) if stays else None
        print_json(summary(outcome, run=place, error=error, cases=outcome.cases, further=further))
    return int(code)


# -- the engine by its options -------------------------------------------------------------------


def engine_of(given: Mapping[str, Any]) -> str:
    """Return the engine that is asked for."""
    engine = str(given["engine"] or ("anthropic" if given["replay"] is not None else "offline"))
    said = [name for name in _OF_A_MODEL if given[name] is not None]
    said += [name for name in ("allow_code", "dry_run") if given[name]]
    if engine == "offline" and said:
        option = f"--{said[0].replace('_', '-')}"
        raise click.UsageError(f"{option} is of a language model; add --engine anthropic")
    return engine


def asking_of(given: Mapping[str, Any], before: Mapping[str, Any] | None = None) -> Asking:
    """Return whom the options ask; of a run that goes on as ``before``, but for what is new."""
    said = {name: given[name] for name in _OF_A_MODEL if given[name] is not None}
    if before is not None:
        return replace(Asking.of_record(before), **said)
    if given["replay"] is None:
        return Asking(**{"exemplars": 1, **said})
    # The same request is made again: by the same model's name, with the same exemplars.
    known = Asking.of_record(read_record(given["replay"])["asked"])
    return replace(Asking(known.model, exemplars=known.exemplars), **said)


def guidance_of(given: Mapping[str, Any], engine: str) -> Guidance:
    """Return how agents work together by the options."""
    policy = Policy(given["allow_code"], given["readings"] or 2)
    stated = given["allow_code"] or given["readings"]
    place, memory = given["memory"], None
    if place != "none" and (place is not None or engine != "offline"):
        memory = Memory(default_path() if place is None else Path(place), engine=engine)
    return Guidance(policy if stated else None, budget_of(given), memory)


def budget_of(given: Mapping[str, Any]) -> Budget | None:
    """Return what the run may take, None where the options do not limit it."""
    named = {"tokens": "max_tokens", "cost": "max_cost", "minutes": "max_minutes"}
    said = {name: given[option] for name, option in named.items() if given[option] is not None}
    return Budget(**said) if said else None


def problem_of(problem: Path | None, given: Mapping[str, Any]) -> Path:
    """Return the problem's path, or that of the copy in the run that is replayed."""
    if problem is not None:
        return problem
    if given["replay"] is None:
        raise click.UsageError("Missing argument 'PROBLEM'.")
    copy: Path = given["replay"] / run_folder.PROBLEM
    if not copy.is_dir():
        raise InputError("the run has no copy of a problem", str(given["replay"]))
    return copy


def rehearse(
    problem: Path, given: Mapping[str, Any], overrides: dict[str, str], as_json: bool
) -> int:
    """Print what would be asked first, and what it would cost."""
    asking, budget = asking_of(given), budget_of(given) or Budget()
    found = rehearsed(Problem.load(problem), asking, budget, overrides)
    dated = str(asking.known_prices().dated)
    if as_json:
        requests = [item.to_dict() for item in found]
        print_json({"schema": "engiagent-rehearsal/1", "prices_of": dated, "requests": requests})
        return 0
    for item in found:
        request = item.request
        for text in (*request.system, *(turn.text for turn in request.turns)):
            click.echo(text)
        cost = "no price known" if item.cost is None else f"{item.cost:.4f} USD"
        most = "" if item.most is None else f", at most {item.most:.2f} USD with its reply"
        say(f"  {request.label}: {request.model}, about {item.tokens} tokens, {cost}{most}")
        if item.refused:
            say(f"  the budget would not let it go out: {item.refused}")
    say(f"  prices of {dated}; no model was asked")
    return 0
