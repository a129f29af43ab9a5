"""Arguments and options that several commands take."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from engiagent.errors import InputError
from engiagent.solvers.result import SolveOptions
from engiagent.text import locate

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
VALUE: Final = "Give a missing value or replace one, as battery.charge_efficiency=0.95"
POSITIVE: Final = click.FloatRange(min=0, min_open=True)
COUNT: Final = click.IntRange(min=1)
FILE: Final = click.Path(path_type=Path, dir_okay=False)
FOLDER: Final = click.Path(path_type=Path, file_okay=False)
RUN: Final = click.Path(exists=True, file_okay=False, path_type=Path)


def added(*options: Decorator) -> Decorator:
    """Return a decorator that adds options, in the order in which the help lists them."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


def settings(said: str = VALUE) -> Decorator:
    """Return the option ``--set``; its pairs arrive as ``settings``."""
    shown = f"{said}; repeatable."
    return click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help=shown)


def file_option(name: str, said: str) -> Decorator:
    """Return an option that names a file."""
    return click.option(name, type=FILE, metavar="FILE", help=said)


def folder_option(name: str, said: str) -> Decorator:
    """Return an option that names a folder."""
    return click.option(name, type=FOLDER, metavar="DIR", help=said)


def time_limit(said: str) -> Decorator:
    """Return the option ``--time-limit`` of a command that limits itself to 30 s."""
    about: dict[str, Any] = {"default": 30.0, "show_default": True, "metavar": "S", "help": said}
    return click.option("--time-limit", type=POSITIVE, **about)


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


PROBLEM: Final = ProblemPath(path_type=Path)

limits = added(
    click.option("--time-limit", type=POSITIVE, metavar="S", help="Wall-clock limit of a solve."),
    click.option(
        "--memory-limit",
        type=POSITIVE,
        metavar="MB",
        help="What the solver may take beyond its process with libraries loaded.",
    ),
    click.option("--backend", metavar="NAME", help="The solver, as highs, scip or pyomo:ipopt."),
    click.option(
        "--gap", type=click.FloatRange(min=0), help="Relative gap that ends a branch and bound."
    ),
    click.option("--threads", type=COUNT, help="The most threads to use."),
    click.option("--seed", type=click.IntRange(min=0), help="Of the solver's random choices."),
    click.option(
        "--solver-log", type=click.Path(), metavar="FILE", help="Keep the solver's own log."
    ),
    click.option(
        "--speed", is_flag=True, help="Let a faster method answer, with a larger proven gap."
    ),
    as_json,
)
"""What every command with a solve takes; see :func:`solve_options`."""

further_proofs = added(
    click.option("--exact", is_flag=True, help="Also check in rational arithmetic, linear parts."),
    click.option(
        "--second-solver",
        metavar="NAME",
        help="Also have another backend, as scip, solve what is stated, and report if they agree.",
    ),
)
"""What a certificate can say beyond the plain check."""

places = added(
    click.option(
        "--workers",
        type=click.IntRange(min=0),
        metavar="N",
        help="Processes on this machine; by default none for a few runs, else one a core.",
    ),
    click.option(
        "--scheduler",
        metavar="WHERE",
        help="A Dask cluster: tcp://HOST:PORT, a scheduler file, or local:N.",
    ),
)
"""Where many independent runs go; see :func:`engiagent.scale.map_runs`."""

outputs = added(
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Run folder, new or empty; by default a new one below runs/.",
    ),
    click.option("--force", is_flag=True, help="Replace an earlier run in DIR."),
    click.option("--explain", is_flag=True, help="Print which solver was chosen, and why."),
)
"""Where the run folder goes and what is printed of the run."""


def solve_options(
    memory_limit: float | None = None, solver_log: str | None = None, **given: Any
) -> SolveOptions:
    """Return the solver's options of a command; what was not given stays at its default."""
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
        name, equals, value = (part.strip() for part in setting.partition("="))
        if not (equals and name and value):
            wrong = f"{setting!r} is no pair; write as {example}"
            raise click.BadParameter(wrong, param_hint=option)
        if name in result:
            raise click.BadParameter(f"{name} is set twice", param_hint=option)
        result[name] = value
    return result
