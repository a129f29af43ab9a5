"""``engiagent pareto``."""

from pathlib import Path
from typing import Any

import click

from engiagent.cli import exit_codes
from engiagent.cli.studying import (
    finish,
    folder_of,
    progress,
    read_source,
    setting_of,
    study_options,
)
from engiagent.study.fronts import parse_goal
from engiagent.study.pareto import Method, run_pareto


@click.command(epilog=exit_codes.table())
@click.option(
    "--goal",
    "texts",
    multiple=True,
    metavar="NAME=min:EXPR",
    help="A further goal, or max:EXPR, beside those of the blueprint's objective; repeatable.",
)
@click.option(
    "--method",
    type=click.Choice(["epsilon", "weighted", "lexicographic", "exact"]),
    default="epsilon",
    show_default=True,
    help="How points are found; exact: all corners, of a linear programme with two goals.",
)
@click.option(
    "--points",
    type=click.IntRange(min=2),
    default=11,
    show_default=True,
    help="Limits or weights along each side of the front.",
)
@study_options
def pareto(
    source: Path,
    texts: tuple[str, ...],
    method: Method,
    points: int,
    settings: tuple[str, ...],
    show: tuple[str, ...],
    out: Path | None,
    force: bool,
    certify: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Find the front between two or three goals of a problem or a blueprint.

    Points that another one makes pointless, or that come twice, are marked as not efficient. Cut
    off at any time and started again, the study goes on and ends with the same result.
    """
    goals = tuple(parse_goal(text) for text in texts)
    blueprint, data, name = read_source(source, settings)
    setting = setting_of(data, name, certify, given)
    asked = [texts, method, points, show, certify, blueprint.sha256]
    folder = folder_of(out, "pareto", name, asked)
    with progress() as on_point:
        found = run_pareto(
            blueprint,
            goals,
            setting,
            folder,
            method=method,
            points=points,
            show=show,
            force=force,
            on_point=on_point,
        )
    return finish(found, folder, name, as_json=as_json, certify=certify)
