"""``engiagent study``."""

from pathlib import Path
from typing import Any

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import exit_codes
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import number, print_json, say
from engiagent.cli.run import limits, solve_options
from engiagent.io.jsontext import loads_strict
from engiagent.run.inputs import problem_folder_of
from engiagent.study.running import run_study
from engiagent.study.study import Point

CODES = {
    "optimal": ExitCode.FEASIBLE,
    "feasible": ExitCode.FEASIBLE,
    "infeasible": ExitCode.INFEASIBLE,
    "limit": ExitCode.LIMIT,
    "interrupted": ExitCode.INTERRUPTED,
}


@click.command(epilog=exit_codes.table())
@click.argument("blueprint", type=click.Path(path_type=Path))
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="Write CSV and JSON files there."
)
@click.option(
    "--points",
    type=click.IntRange(min=2),
    default=11,
    show_default=True,
    help="Points of a front between two goals.",
)
@limits
def study(blueprint: Path, out: Path | None, points: int, as_json: bool, **limits: Any) -> int:
    """Solve BLUEPRINT with the cases and sweeps of its report, side by side.

    No solution is certified here; solve and run do that. With --out the table is written as
    study.csv, every number asked for as values.csv, and all of it as study.json.
    """
    found = run_study(
        Blueprint.load(blueprint),
        problem_folder_of(blueprint),
        solve_options(**limits),
        points=points,
        on_point=lambda point: say(_line(point)),
    )
    for note in found.notes:
        say(f"  note:      {note}")
    if out is not None:
        for path in found.write(out):
            say(f"  written    {path}")
    if as_json:
        print_json(loads_strict(found.to_json()))
    return int(_code(found.points))


def _line(point: Point) -> str:
    place = point.case if point.sweep is None else f"{point.sweep} = {_text(point.sweep_value)}"
    if point.sweep is not None and point.sweep_unit != "1":
        place += f" {point.sweep_unit}"
    if point.point is not None:
        place += f", point {point.point}"
    result = point.status
    if point.objective is not None:
        result += f"  {number(point.objective)} {point.objective_unit}"
    elif point.reason:
        result += f"  ({point.reason})"
    numbers = [
        f"{v.label} {number(v.value)}" + (f" {v.unit}" if v.unit != "1" else "")
        for v in point.values
        if not v.index
    ]
    return "  ".join([f"{place}: {result}", *numbers])


def _text(value: object) -> str:
    return number(float(value)) if isinstance(value, int | float) else str(value)


def _code(points: tuple[Point, ...]) -> ExitCode:
    """Return the worst of all points; that a case or a value is infeasible is a result."""
    codes = []
    for position, point in enumerate(points):
        code = CODES.get(point.status, ExitCode.UNDECIDED)
        result = code is ExitCode.INFEASIBLE and position > 0
        codes.append(ExitCode.FEASIBLE if result else code)
    return exit_codes.worst(codes)
