"""``engiagent import``."""

from pathlib import Path

import click

from engiagent.cli.output import print_json, say
from engiagent.formulations.exchange import import_model as read
from engiagent.io.files import write_atomic


@click.command("import")
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Blueprint to write; standard output otherwise.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; needs --out.")
def import_model(model: Path, out: Path | None, as_json: bool) -> None:
    """Read MODEL, an LP or MPS file, into a blueprint.

    MODEL ends in .lp, .mps, .lp.gz or .mps.gz. Names such as x[3] or flow_a_b become indexed
    variables and constraints; every number stays as it is in the file. Read are linear constraints
    and a linear or quadratic objective; special ordered sets, conditions and quadratic constraints
    are refused with their line.
    """
    if as_json and out is None:
        raise click.UsageError("--json needs --out, since the blueprint is JSON too.")
    blueprint = read(model)
    core = blueprint.core
    sizes = {
        "variables": len(core.decision_variables),
        "constraints": len(core.constraints),
        "sets": len(core.sets),
        "parameters": len(core.parameters),
    }
    if out is None:
        click.echo(blueprint.to_json(), nl=False)
        return
    write_atomic(out, blueprint.to_json())
    say(f"written to {out}: " + ", ".join(f"{count} {name}" for name, count in sizes.items()))
    extended = blueprint.extended_analysis_and_robustness
    assumptions = [item["content"] for item in extended.key_assumptions] if extended else []
    for text in assumptions:
        say(f"  assumed: {text}")
    if as_json:
        print_json(
            {
                "schema": "engiagent-import/1",
                "blueprint": str(out),
                **sizes,
                "assumptions": assumptions,
            }
        )
