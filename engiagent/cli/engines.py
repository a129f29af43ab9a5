"""``engiagent run``: who reads the problem, what that may take, and what a dry run shows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click
from click.core import ParameterSource

from engiagent.agents.coordinator import Guidance
from engiagent.agents.engines.asking import Asking, rehearsed
from engiagent.agents.memory import Memory, default_path
from engiagent.agents.protocol import Budget
from engiagent.agents.routing import Policy
from engiagent.blueprint import Blueprint
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import RUN
from engiagent.cli.output import print_json, say, say_items
from engiagent.errors import InputError
from engiagent.formulations.classify import classify
from engiagent.formulations.compile import compile_blueprint
from engiagent.formulations.expansion import expand
from engiagent.run.folder import PROBLEM, read_record
from engiagent.run.inputs import name_of, problem_beside, problem_folder_of
from engiagent.run.stages import choice_of, static_findings
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem

ENGINES: Final = ("offline", "anthropic")
EXEMPLARS: Final = 1
NO_MEMORY: Final = "none"
ENGINE_OPTIONS: Final = (
    "engine",
    "model",
    "base_url",
    "prices",
    "exemplars",
    "max_cost",
    "max_tokens",
    "max_minutes",
    "readings",
    "memory",
    "replay",
    "resume",
    "dry_run",
    "allow_code",
)
"""The keywords in which the options arrive."""
_OF_A_MODEL: Final = ("model", "base_url", "prices", "exemplars", "replay")
"""Options that say nothing to the offline engine."""


def engines(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options about the engine; they arrive as keywords."""
    positive = click.FloatRange(min=0, min_open=True)
    for option in (
        click.option(
            "--dry-run",
            is_flag=True,
            help="Say what would be done, of a language model the first prompts with tokens and "
            "cost; solve nothing, ask no model, write nothing.",
        ),
        click.option(
            "--allow-code",
            is_flag=True,
            help="Where the blueprint language cannot say a problem, let a script of the model "
            "run in the sandbox; its schedule is checked like any other.",
        ),
        click.option("--resume", type=RUN, metavar="RUN", help="Go on with a run that was cut."),
        click.option(
            "--replay",
            type=RUN,
            metavar="RUN",
            help="Answer from the exchanges that an earlier run recorded; asks no model.",
        ),
        click.option(
            "--memory", metavar="FILE|none", help="What runs have learnt, or nothing of it."
        ),
        click.option(
            "--readings",
            type=click.IntRange(1, 2),
            help="How often the text is read; 2 without it. After a single reading the verdict is "
            "'solved' at best.",
        ),
        click.option("--max-minutes", type=positive, help="Of the run, solver included."),
        click.option(
            "--max-tokens", type=click.IntRange(min=1), help="Of all prompts and replies together."
        ),
        click.option("--max-cost", type=positive, metavar="USD", help="Of all replies together."),
        click.option(
            "--prices",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="What tokens cost, in place of the packaged prices.",
        ),
        click.option(
            "--exemplars",
            type=click.IntRange(0, 3),
            metavar="N",
            help="How many solved problems that resemble to show at most; 1 without it.",
        ),
        click.option("--base-url", metavar="URL", help="A server that speaks the Messages API."),
        click.option("--model", metavar="NAME", help="Who answers, for every agent."),
        click.option(
            "--engine",
            type=click.Choice(ENGINES),
            help="Who reads the problem: no model (offline, the default: its plant block or its "
            "stored reading counts), or a language model, with the key in ANTHROPIC_API_KEY.",
        ),
    ):
        command = option(command)
    return command


def without_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without what comes from settings and does not belong here.

    A run that goes on does so as it was asked for, one that is replayed asks as before, and the
    offline engine asks nobody.
    """
    context = click.get_current_context()
    before = given["resume"] is not None
    silent = given["replay"] is not None or given["engine"] in (None, "offline")
    result = dict(given)
    for name in given:
        of_settings = context.get_parameter_source(name) is ParameterSource.DEFAULT_MAP
        if of_settings and (before or (silent and name in (*_OF_A_MODEL, "engine"))):
            result[name] = None
    return result


def engine_of(given: Mapping[str, Any]) -> str:
    """Return the engine that is asked for."""
    engine = str(given["engine"] or ("anthropic" if given["replay"] is not None else "offline"))
    said = [name for name in _OF_A_MODEL if given[name] is not None]
    said += ["allow_code"] if given["allow_code"] else []
    if engine == "offline" and said:
        option = f"--{said[0].replace('_', '-')}"
        raise click.UsageError(f"{option} is of a language model; add --engine anthropic")
    return engine


def asking_of(given: Mapping[str, Any]) -> Asking:
    """Return whom the options ask."""
    said = {name: given[name] for name in _OF_A_MODEL if given[name] is not None}
    if given["replay"] is None:
        return Asking(**{"exemplars": EXEMPLARS, **said})
    # The same request is made again: by the same model's name, with the same exemplars.
    before = Asking.of_record(read_record(given["replay"])["asked"])
    return replace(Asking(before.model, exemplars=before.exemplars), **said)


def asking_again(before: Mapping[str, Any], given: Mapping[str, Any]) -> Asking:
    """Return whom a run that goes on asks: as before, but for what is said anew."""
    known = Asking.of_record(before)
    said = {name: given[name] for name in _OF_A_MODEL if given[name] is not None}
    return replace(known, **said)


def guidance_of(given: Mapping[str, Any], engine: str) -> Guidance:
    """Return how agents work together by the options."""
    return Guidance(_policy(given), budget_of(given), _memory(given, engine))


def budget_of(given: Mapping[str, Any]) -> Budget | None:
    """Return what the run may take, None where nothing was said."""
    named = {"tokens": "max_tokens", "cost": "max_cost", "minutes": "max_minutes"}
    said = {name: given[option] for name, option in named.items() if given[option] is not None}
    return Budget(**said) if said else None


def _policy(given: Mapping[str, Any]) -> Policy | None:
    said = given["allow_code"] or given["readings"]
    return Policy(given["allow_code"], given["readings"] or 2) if said else None


def _memory(given: Mapping[str, Any], engine: str) -> Memory | None:
    said = given["memory"]
    if said == NO_MEMORY or (said is None and engine == "offline"):
        return None
    return Memory(default_path() if said is None else Path(said), engine=engine)


def rehearse(
    problem: Path, given: Mapping[str, Any], overrides: dict[str, str], as_json: bool
) -> int:
    """Print what would be asked first, and what it would cost."""
    asking, budget = asking_of(given), budget_of(given) or Budget()
    found = rehearsed(Problem.load(problem), asking, budget, overrides)
    dated = asking.known_prices().dated
    if as_json:
        requests = [item.to_dict() for item in found]
        print_json(
            {"schema": "engiagent-rehearsal/1", "prices_of": str(dated), "requests": requests}
        )
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


def problem_of(problem: Path | None, given: Mapping[str, Any]) -> Path:
    """Return the problem's path, or that of the copy in the run that is replayed."""
    if problem is not None:
        return problem
    if given["replay"] is None:
        raise click.UsageError("Missing argument 'PROBLEM'.")
    copy: Path = given["replay"] / PROBLEM
    if not copy.is_dir():
        raise InputError("the run has no copy of a problem", str(given["replay"]))
    return copy


PLACE = "a new folder below runs/"


@dataclass(frozen=True)
class Rehearsed:
    """What would be done: ``choice`` says which solver would get the program, and why.

    ``program`` has class, convexity and size; it is None where nothing comes to be solved.
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
        """Whether it would come to a schedule, as far as can be told before."""
        return self.kind is not None and not self.missing and not self.not_understood

    def to_json(self) -> dict[str, Any]:
        """Return it as an object of the schema ``engiagent-dry-run/1``."""
        return {"schema": "engiagent-dry-run/1", **vars(self), "ready": self.ready}


def rehearse_problem(
    path: Path, overrides: dict[str, str], options: SolveOptions, out: Path | None
) -> Rehearsed:
    """Take the plant block or the stored reading of a problem and compile it."""
    from engiagent.readings.read import read

    problem = Problem.load(path)
    found = read(problem, overrides)
    blueprint, program = found.blueprint, None
    choice: tuple[str, ...] = ()
    if blueprint is not None and not found.lacking:
        program, choice = _compiled(blueprint, problem.folder, options)
    kind, place = None if blueprint is None else blueprint.kind, str(out or PLACE)
    return Rehearsed(problem.id, kind, found.lacking, found.unclear, program, choice, place)


def rehearse_blueprint(path: Path, options: SolveOptions, out: Path | None) -> Rehearsed:
    """Compile a blueprint."""
    blueprint, problem = Blueprint.load(path), problem_beside(path)
    program, choice = _compiled(blueprint, problem_folder_of(path), options)
    name = name_of(path) if problem is None else problem.id
    return Rehearsed(name, blueprint.kind, (), (), program, choice, str(out or PLACE))


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
