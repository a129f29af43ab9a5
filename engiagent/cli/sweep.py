"""``engiagent sweep``."""

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
from engiagent.study.sweep import SweepRequest, run_sweep
from engiagent.study.variation import Design, Variation


@click.command(epilog=exit_codes.table())
@click.option(
    "--vary",
    "texts",
    multiple=True,
    required=True,
    metavar="NAME=SPEC",
    help="A parameter and its values, as E_max=1..4:7[MWh], wear=1,2,5 or price=*0.8..1.2:5 "
    "(factors); repeatable.",
)
@click.option(
    "--lhs",
    "samples",
    type=click.IntRange(min=1),
    metavar="N",
    help="N points of a Latin hypercube between the ends, instead of a grid.",
)
@click.option(
    "--lhs-seed", type=click.IntRange(min=0), default=0, help="Which Latin hypercube; 0 by default."
)
@study_options
def sweep(
    source: Path,
    texts: tuple[str, ...],
    samples: int | None,
    lhs_seed: int,
    settings: tuple[str, ...],
    show: tuple[str, ...],
    out: Path | None,
    force: bool,
    certify: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Solve a problem or a blueprint at every point of a grid.

    NAME is a parameter, a component's slot (battery.energy_capacity), the level of a CVaR
    (risk.alpha), or the budget or deviation of an uncertain parameter (load.budget). Cut off at
    any time and started again, a sweep goes on and ends with the same result.
    """
    variations = tuple(Variation.parse(text) for text in texts)
    design: Design = "grid" if samples is None else "lhs"
    request = SweepRequest(variations, design, samples or 0, lhs_seed, show)
    blueprint, data, name = read_source(source, settings)
    setting = setting_of(data, name, certify, given)
    asked = {**request.to_dict(), "certify": certify, "blueprint": blueprint.sha256}
    folder = folder_of(out, "sweep", name, asked)
    with progress() as on_point:
        found = run_sweep(blueprint, request, setting, folder, force=force, on_point=on_point)
    return finish(found, folder, name, as_json=as_json, certify=certify)
