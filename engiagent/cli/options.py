"""Arguments and options that several commands take."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from engiagent.errors import InputError
from engiagent.solvers.result import SolveOptions
from engiagent.text import locate
from engiagent.text.corpus import corpus_root, find_problems

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
VALUE = "Give a missing value or replace one, as battery.charge_efficiency=0.95"

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def settings(said: str = VALUE) -> Decorator:
    """Return the option ``--set``; its pairs arrive as ``settings``."""
    shown = f"{said}; repeatable."
    return click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help=shown)


def file_option(name: str, said: str) -> Decorator:
    """Return an option that names a file."""
    kind = click.Path(path_type=Path, dir_okay=False)
    return click.option(name, type=kind, metavar="FILE", help=said)


class ProblemPath(click.Path):
    """A path; where there is none of that name, the problem of the corpus that has it.

    A name that is neither stays as it is, and the command says what it misses.
    """

    def convert(
        self,
        value: str | os.PathLike[str],
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Path:
        """Return the path of what is named."""
        path = Path(value)
        if path.exists():
            return path
        try:
            return locate(str(value))
        except InputError:
            return path

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return problems of the corpus whose name begins so, and let the shell add files."""
        root = corpus_root()
        names = [place.relative_to(root).as_posix() for place in find_problems(root)]
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="file")]


PROBLEM = ProblemPath(path_type=Path)


class RunPath(click.Path):
    """The folder of a run; a shell completes those below ``runs/``."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return runs whose path begins so, and let the shell add folders."""
        records = sorted(Path("runs").glob("*/run.json"), reverse=True)
        names = [record.parent.as_posix() for record in records]
        found = [CompletionItem(name) for name in names if name.startswith(incomplete)]
        return [*found, CompletionItem(incomplete, type="dir")]


RUN = RunPath(exists=True, file_okay=False, path_type=Path)


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
        click.option(
            "--time-limit", type=positive, metavar="S", help="Wall-clock limit of a solve."
        ),
    ):
        command = option(command)
    return command


def further_proofs(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for what a certificate can say beyond the plain check."""
    for option in (
        click.option(
            "--second-solver",
            metavar="NAME",
            help="Also have highs or scip solve what is stated, and report if they agree.",
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
