"""``engiagent study``: one problem solved many times, in four ways."""

from pathlib import Path
from typing import Any

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import POSITIVE, PROBLEM, added, limits, parse_settings, solve_options
from engiagent.cli.output import moving_line, number, print_json, say
from engiagent.errors import EngiagentError, InputError
from engiagent.io.files import sha256_bytes, write_atomic
from engiagent.io.jsontext import dumps_canonical, loads_strict
from engiagent.report.studied import page
from engiagent.run.folder import BLUEPRINT, LOOP, SIMULATION, is_run_folder
from engiagent.run.inputs import name_of, problem_folder_of
from engiagent.scale import Spread
from engiagent.study import Cases, Pareto, Sensitivity, Setting, Sweep, run_study
from engiagent.study.live import Variation, parse_factor
from engiagent.study.modes import parse_goal
from engiagent.study.outcome import Asked
from engiagent.text import Problem

CODES = {
    **dict.fromkeys(("optimal", "feasible", "infeasible"), ExitCode.FEASIBLE),
    **{"limit": ExitCode.LIMIT, "interrupted": ExitCode.INTERRUPTED},
}
"""That a point has no plan is a result of a study, not a failure of it."""


@click.group()
def study() -> None:
    """Solve a problem many times: its cases, a sweep, a front between goals, a sensitivity.

    Cut off at any time and started again, a study goes on with the points that it lacks.
    """


_options = added(
    click.argument("source", type=PROBLEM, metavar="PROBLEM|BLUEPRINT"),
    options.settings("Give a problem's missing value, as run --set does"),
    click.option(
        "--show", multiple=True, metavar="EXPR", help="Also report an expression; repeatable."
    ),
    options.folder_option(
        "--out", "Folder of the study; by default one below studies/ named by what is asked."
    ),
    click.option("--force", is_flag=True, help="Begin anew in a folder with another study."),
    click.option("--certify", is_flag=True, help="Let the checker judge the plan of each point."),
    options.places,
    limits,
)
"""The argument and the options of every study."""


_points = click.option(
    "--points",
    type=click.IntRange(min=2),
    default=11,
    show_default=True,
    help="Limits along each side of a front.",
)


@study.command(epilog=exit_codes.table())
@_points
@_options
def cases(points: int, **given: Any) -> int:
    """Solve the base, the cases and the sweeps of a blueprint's report, side by side."""
    return _study(Cases(points), **given)


@study.command(epilog=exit_codes.table())
@click.option(
    "--vary",
    "texts",
    multiple=True,
    required=True,
    metavar="NAME=SPEC",
    help="A parameter and its values, as E_max=1..4:7[MWh], wear=1,2,5 or price=*0.8..1.2:5 "
    "(factors); repeatable.",
)
@_options
def sweep(texts: tuple[str, ...], **given: Any) -> int:
    """Solve at every point of a grid of values.

    NAME is a parameter or a component's slot, as battery.energy_capacity.
    """
    return _study(Sweep(tuple(map(Variation.parse, texts))), **given)


@study.command(epilog=exit_codes.table())
@click.option(
    "--goal",
    "texts",
    multiple=True,
    metavar="NAME=min:EXPR",
    help="A further goal, or max:EXPR, beside those of the blueprint's objective; repeatable.",
)
@_points
@_options
def pareto(texts: tuple[str, ...], points: int, **given: Any) -> int:
    """Find the front between two or three goals, the first at evenly spaced limits of the others.

    Points that another one makes pointless, or that come twice, are marked as not efficient.
    """
    return _study(Pareto(tuple(map(parse_goal, texts)), points), texts, **given)


@study.command(epilog=exit_codes.table())
@click.option(
    "--factor",
    "texts",
    multiple=True,
    metavar="NAME[=LOW..HIGH]",
    help="A factor, with ends of its own, as E_max=1..4[MWh] or price=*0.8..1.2; repeatable. By "
    "default the blueprint's sensitivity_factors, or else all parameters.",
)
@click.option(
    "--range",
    "percent",
    type=POSITIVE,
    default=10.0,
    show_default=True,
    metavar="PERCENT",
    help="To either side, for factors without ends of their own.",
)
@_options
def sensitivity(texts: tuple[str, ...], percent: float, **given: Any) -> int:
    """Move one factor at a time and show its effect on the objective."""
    return _study(Sensitivity(tuple(map(parse_factor, texts)), percent / 100), **given)


def _study(
    asked: Asked,
    texts: tuple[str, ...] = (),
    *,
    source: Path,
    settings: tuple[str, ...],
    show: tuple[str, ...],
    out: Path | None,
    force: bool,
    certify: bool,
    as_json: bool,
    workers: int | None,
    scheduler: str | None,
    **given: Any,
) -> int:
    """Run a study of a source, write and print what it found, and return the exit code.

    Without --out the request names the folder: the same one goes on where it was cut off.
    """
    blueprint, data, name = read_source(source, settings)
    request = [asked.to_json(), texts, show, certify, blueprint.sha256]
    mark = sha256_bytes(dumps_canonical(request).encode())[:8]
    kind, options = asked.kind, solve_options(**given)
    folder = out or Path("studies") / f"{kind}-{name}-{mark}"
    with moving_line() as line:
        setting = Setting(
            data,
            options,
            certify=certify,
            name=name,
            show=show,
            out=folder,
            force=force,
            spread=None if workers is None and scheduler is None else Spread(scheduler, workers),
            on_point=line and (lambda done, total, found: line(f"{done} of {total} points")),
        )
        found = run_study(asked, blueprint, setting)
    for row in found.rows:
        say(_line(row, found.unit))
    for note in found.notes:
        say(f"  note       {note}")
    if not certify:
        say("  note       the plans are not certified; --certify lets the checker judge each")
    paths = [*found.write(folder), folder / f"{kind}.html"]
    write_atomic(paths[-1], page(found, name))
    for path in paths:
        say(f"  written    {path}")
    if as_json:
        print_json(loads_strict(found.to_json()))
    if kind == "cases" and found.rows[0]["status"] == "infeasible":
        return int(ExitCode.INFEASIBLE)
    return int(exit_codes.worst(map(_code, found.rows)))


def read_source(source: Path, settings: tuple[str, ...]) -> tuple[Blueprint, Path, str]:
    """Return the blueprint that a path stands for, the folder of its data, and its name.

    A JSON file is a blueprint, a run folder has one, and of a problem its plant block or its stored
    reading is taken.
    """
    if not source.exists():
        raise InputError("there is no such file or folder", str(source))
    if is_run_folder(source) or any((source / own).is_file() for own in (LOOP, SIMULATION)):
        source = source / BLUEPRINT
    if Blueprint.is_in(source):
        if settings:
            raise EngiagentError("--set gives values of a problem; this is a blueprint: use sweep")
        folder = problem_folder_of(source)
        name = folder.name if source.stem == "blueprint" else name_of(source)
        return Blueprint.load(source), folder, name
    from engiagent.readings.read import read

    problem = Problem.load(source)
    found = read(problem, parse_settings(settings))
    if found.blueprint is None or not found.complete:
        missing = [f"missing: {', '.join(found.lacking)}"] if found.missing else []
        unclear = [f"not understood: {text}" for text in found.unclear[:5]]
        lines = [
            f"{problem.id} is not understood in full, so that what is made of it would mislead",
            *missing,
            *unclear,
            "give values with --set, or a blueprint instead of the problem",
        ]
        raise EngiagentError("\n  ".join(lines))
    return found.blueprint, problem.folder, problem.id


def _code(row: dict[str, Any]) -> ExitCode:
    if row.get("verdict") == "violated":
        return ExitCode.VIOLATED
    return CODES.get(row["status"], ExitCode.UNDECIDED)


def _line(row: dict[str, Any], unit: str) -> str:
    shown = {k: number(v) if isinstance(v, float) else v for k, v in row["at"].items()}
    at = ", ".join(f"{k} = {v}" for k, v in shown.items())
    parts = [f"{at}: {row['status']}"]
    if row.get("objective") is not None:
        parts.append(number(row["objective"], row.get("objective_unit", unit)))
    elif row.get("reason"):
        parts.append(f"({row['reason']})")
    units = row.get("goal_units") or row.get("units") or {}
    for label, value in (row.get("goals") or row.get("values") or {}).items():
        parts.append(f"{label} {number(value, units.get(label))}")
    if row.get("verdict"):
        parts.append(str(row["verdict"]))
    return "  ".join(parts)
