"""Blueprints for other tools, and their models as blueprints: ``emit`` and ``import``."""

from pathlib import Path

import click

from engiagent.blueprint import Blueprint
from engiagent.cli import options
from engiagent.cli.output import print_json, say, written
from engiagent.formulations.exchange import import_model as read
from engiagent.report import write_batch, write_report
from engiagent.report.artefacts import holds_run
from engiagent.run.inputs import problem_folder_of
from engiagent.tools.planning import FORMS, emitted


@click.command()
@click.argument("blueprint", type=click.Path(path_type=Path))
@click.option("--to", type=click.Choice(FORMS), required=True, help="The form.")
@click.option("-o", "--output", type=options.FILE, help="File to write; standard output otherwise.")
def emit(blueprint: Path, to: str, output: Path | None) -> None:
    """Write BLUEPRINT in a form that other tools read.

    pyomo, casadi and cvxpy are scripts that run without engiagent, lp and mps are model files for
    any solver, and latex is a document that says what the blueprint says.
    """
    text = emitted(Blueprint.load(blueprint), problem_folder_of(blueprint), to)
    written(text if text.endswith("\n") else f"{text}\n", output)


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@options.as_json
def report(run: Path, as_json: bool) -> None:
    """Write the report of RUN, a run folder, again, or that of a folder of runs.

    For a folder of runs it is a page of all of them, with what came of each.
    """
    path = write_report(run) if holds_run(run) or not run.is_dir() else write_batch(run)
    say(f"written to {path}")
    if as_json:
        print_json({"schema": "engiagent-report/1", "report": str(path)})


@click.command("import")
@click.argument("model", metavar="MODEL", type=click.Path(path_type=Path))
@click.option(
    "-o", "--out", type=options.FILE, help="Blueprint to write; standard output otherwise."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; needs --out.")
def import_model(model: Path, out: Path | None, as_json: bool) -> None:
    """Read MODEL, an LP or MPS file, into a blueprint.

    MODEL ends in .lp or .mps. Names such as x[3] or flow_a_b become indexed variables and
    constraints; every number stays as it is in the file. Read are linear constraints, a linear
    objective, bounds and integrality; everything else is refused with its line.
    """
    if as_json and out is None:
        raise click.UsageError("--json needs --out, since the blueprint is JSON too.")
    blueprint = read(model)
    core, extended = blueprint.core, blueprint.extended_analysis_and_robustness
    sizes = {
        "variables": len(core.decision_variables),
        "constraints": len(core.constraints),
        "sets": len(core.sets),
        "parameters": len(core.parameters),
    }
    written(blueprint.to_json(), out)
    if out is None:
        return
    say("  " + ", ".join(f"{count} {name}" for name, count in sizes.items()))
    assumptions = [item["content"] for item in extended.key_assumptions] if extended else []
    for text in assumptions:
        say(f"  assumed: {text}")
    if as_json:
        about = {"schema": "engiagent-import/1", "blueprint": str(out)}
        print_json({**about, **sizes, "assumptions": assumptions})
