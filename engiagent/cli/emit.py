"""``engiagent emit`` and ``engiagent report``."""

from pathlib import Path

import click

from engiagent.cli.output import print_json, say


@click.command()
@click.argument("blueprint", type=click.Path(path_type=Path))
@click.option("--to", type=click.Choice(["pyomo"]), required=True, help="The form.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; standard output otherwise.",
)
def emit(blueprint: Path, to: str, output: Path | None) -> None:
    """Write BLUEPRINT as a script that runs without engiagent."""
    from engiagent.blueprint import Blueprint
    from engiagent.files import write_atomic
    from engiagent.formulations import emit_pyomo
    from engiagent.runinputs import problem_folder_of

    emitters = {"pyomo": emit_pyomo}
    text = emitters[to](Blueprint.load(blueprint), problem_folder_of(blueprint))
    if output is None:
        click.echo(text, nl=not text.endswith("\n"))
    else:
        write_atomic(output, text)
        say(f"written to {output}")


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def report(run: Path, as_json: bool) -> None:
    """Write the report of RUN, a run folder, again."""
    from engiagent.report import write_report

    path = write_report(run)
    say(f"written to {path}")
    if as_json:
        print_json({"report": str(path)})
