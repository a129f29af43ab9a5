"""``engiagent sensitivity``."""

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
from engiagent.study.sensitivity import Factor, declared_factors, every_parameter, run_sensitivity


@click.command(epilog=exit_codes.table())
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
    type=click.FloatRange(min=0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="PERCENT",
    help="To either side, for factors without ends of their own.",
)
@study_options
def sensitivity(
    source: Path,
    texts: tuple[str, ...],
    percent: float,
    settings: tuple[str, ...],
    show: tuple[str, ...],
    out: Path | None,
    force: bool,
    certify: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Move one factor at a time and show how far the objective goes with it.

    Of linear and convex programmes the local slope is told too, from the multipliers. Cut off at
    any time and started again, the study goes on and ends with the same result.
    """
    blueprint, data, name = read_source(source, settings)
    factors = tuple(Factor.parse(text) for text in texts)
    notes: tuple[str, ...] = ()
    if not factors:
        factors, notes = declared_factors(blueprint)
    if not factors:
        factors = every_parameter(blueprint)
        notes = (*notes, "the blueprint names no factors: all parameters are moved")
    setting = setting_of(data, name, certify, given)
    asked = [texts, percent, show, certify, blueprint.sha256]
    folder = folder_of(out, "sensitivity", name, asked)
    with progress() as on_point:
        found = run_sensitivity(
            blueprint,
            factors,
            setting,
            folder,
            width=percent / 100,
            show=show,
            notes=notes,
            force=force,
            on_point=on_point,
        )
    return finish(found, folder, name, as_json=as_json, certify=certify)
