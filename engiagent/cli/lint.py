"""``engiagent lint`` and ``engiagent schema``."""

from pathlib import Path

import click

from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.output import clean, print_json, say


@click.command()
@click.argument("blueprint", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def lint(blueprint: Path, as_json: bool) -> int:
    """Analyse BLUEPRINT without solving it.

    Exit code 2 when it has errors.
    """
    from engiagent.blueprint import Blueprint
    from engiagent.blueprint.analysis import analyse
    from engiagent.formulations import expand
    from engiagent.runinputs import problem_folder_of

    found = analyse(expand(Blueprint.load(blueprint)), problem_folder_of(blueprint))
    if as_json:
        print_json(
            {
                "blueprint": str(blueprint),
                "problem_class": found.problem_class,
                "variables": found.variables,
                "constraints": found.constraints,
                "missing": list(found.missing),
                "diagnostics": [vars(item) for item in found.diagnostics],
            }
        )
    else:
        for item in found.diagnostics:
            click.echo(clean(f"{item.severity}: {item}"))
    counts = f"{found.variables} variables, {found.constraints} constraints"
    say(f"{found.problem_class or 'no class'}, {counts}, {len(found.errors)} error(s)")
    return int(ExitCode.USAGE if found.errors else ExitCode.FEASIBLE)


@click.command()
def schema() -> None:
    """Print the JSON Schema of blueprints."""
    from engiagent.blueprint.document import schema as load
    from engiagent.jsontext import dumps_canonical

    click.echo(dumps_canonical(load()), nl=False)
