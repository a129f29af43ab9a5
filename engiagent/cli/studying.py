"""What the commands ``sweep``, ``pareto`` and ``sensitivity`` share."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import exit_codes
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import number, print_json, say
from engiagent.cli.places import PROBLEM
from engiagent.cli.progress import moving_line
from engiagent.cli.run import limits, parse_settings, solve_options
from engiagent.cli.study_page import page
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import sha256_bytes, write_atomic
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.run.folder import BLUEPRINT, is_run_folder
from engiagent.run.inputs import name_of, problem_folder_of
from engiagent.study.live import Setting
from engiagent.study.outcome import Outcome
from engiagent.text import Problem

OnPoint = Callable[[int, int, dict[str, Any]], None]
CODES = {
    "optimal": ExitCode.FEASIBLE,
    "feasible": ExitCode.FEASIBLE,
    "infeasible": ExitCode.FEASIBLE,
    "limit": ExitCode.LIMIT,
    "interrupted": ExitCode.INTERRUPTED,
}
"""That a point has no plan is a result of a study, not a failure of it."""


def study_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the argument and the options of every study."""
    for option in (
        click.option(
            "--certify", is_flag=True, help="Let the checker judge the plan of each point."
        ),
        click.option("--force", is_flag=True, help="Begin anew in a folder with another study."),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="Folder of the study; by default one below studies/ named by what is asked.",
        ),
        click.option(
            "--show", multiple=True, metavar="EXPR", help="Also report an expression; repeatable."
        ),
        click.option(
            "--set",
            "settings",
            multiple=True,
            metavar="NAME=VALUE",
            help="Give a problem's missing value, as run --set does; repeatable.",
        ),
        click.argument("source", type=PROBLEM, metavar="PROBLEM|BLUEPRINT"),
    ):
        command = option(command)
    return limits(command)


def read_source(source: Path, settings: tuple[str, ...]) -> tuple[Blueprint, Path, str]:
    """Return the blueprint that a path stands for, the folder of its data, and its name.

    A JSON file is a blueprint, a run folder has one, and of a problem its plant block or its stored
    reading is taken.

    Raises
    ------
    EngiagentError
        When there is none, or the problem is not understood in full.
    """
    if not source.exists():
        raise InputError("there is no such file or folder", str(source))
    if is_run_folder(source):
        source = source / BLUEPRINT
    if source.suffix != ".json":
        return _understood(source, settings)
    if settings:
        raise EngiagentError("--set gives values of a problem; this is a blueprint: use --vary")
    folder = problem_folder_of(source)
    name = folder.name if source.stem == "blueprint" else name_of(source)
    return Blueprint.load(source), folder, name


def _understood(source: Path, settings: tuple[str, ...]) -> tuple[Blueprint, Path, str]:
    from engiagent.readings.read import read

    problem = Problem.load(source)
    found = read(problem, parse_settings(settings))
    if found.blueprint is None or not found.complete:
        said = [f"missing: {', '.join(found.lacking)}"] if found.missing else []
        said += [f"not understood: {text}" for text in found.unclear[:5]]
        raise EngiagentError(
            "\n  ".join(
                [
                    f"{problem.id} is not understood in full, so that a study would mislead",
                    *said,
                    "give values with --set, or a blueprint instead of the problem",
                ]
            )
        )
    return found.blueprint, problem.folder, problem.id


def setting_of(folder: Path, name: str, certify: bool, given: dict[str, Any]) -> Setting:
    """Return how points are solved, from the options of a command."""
    return Setting(folder, solve_options(**given), certify=certify, name=name)


def folder_of(out: Path | None, kind: str, name: str, asked: object) -> Path:
    """Return the study's folder: the one given, or one that the request itself names.

    The same request then goes on where it was cut off, and another one does not get in its way.
    """
    if out is not None:
        return out
    return Path("studies") / f"{kind}-{name}-{sha256_bytes(dumps_canonical(asked).encode())[:8]}"


@contextmanager
def progress() -> Iterator[OnPoint | None]:
    """Give an observer that shows how far a study is, on a terminal only."""
    with moving_line() as show:
        if show is None:
            yield None
            return

        def on_point(done: int, total: int, found: dict[str, Any]) -> None:
            show(f"{done} of {total} points, the last one {found['status']}")

        yield on_point


def finish(outcome: Outcome, folder: Path, name: str, *, as_json: bool, certify: bool) -> int:
    """Write what was found, print it, and return the exit code."""
    for row in outcome.rows:
        say(_line(row, outcome.unit))
    for note in outcome.notes:
        say(f"  note       {note}")
    if not certify:
        say("  note       the plans are not certified; --certify lets the checker judge each")
    paths = [*outcome.write(folder), folder / f"{outcome.kind}.html"]
    write_atomic(paths[-1], page(outcome, name))
    for path in paths:
        say(f"  written    {path}")
    if as_json:
        print_json(loads_strict(outcome.to_json()))
    return int(exit_codes.worst(map(code_of, outcome.rows)))


def code_of(row: dict[str, Any]) -> ExitCode:
    """Return the exit code of one point."""
    if row.get("verdict") == "violated":
        return ExitCode.VIOLATED
    return CODES.get(row["status"], ExitCode.UNDECIDED)


def _line(row: dict[str, Any], unit: str) -> str:
    at = ", ".join(
        f"{k} = {number(v) if isinstance(v, float) else v}" for k, v in row["at"].items()
    )
    parts = [f"{at}: {row['status']}"]
    if row.get("objective") is not None:
        parts.append(number(row["objective"], unit))
    elif row.get("reason"):
        parts.append(f"({row['reason']})")
    units = row.get("goal_units") or row.get("units") or {}
    for label, value in (row.get("goals") or row.get("values") or {}).items():
        parts.append(f"{label} {number(value, units.get(label))}")
    if row.get("verdict"):
        parts.append(str(row["verdict"]))
    return "  ".join(parts)
