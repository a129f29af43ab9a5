"""``engiagent explain``."""

from pathlib import Path
from typing import Any

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.exit_codes import ExitCode
from engiagent.cli.options import PROBLEM, parse_settings
from engiagent.cli.output import clean, print_json, say
from engiagent.explain import Explanation
from engiagent.explain import explain as explained
from engiagent.explain.text import lines_of
from engiagent.solvers.result import SolveOptions

_STYLES = {
    "plan": "bold green",
    "infeasible": "bold magenta",
    "unbounded": "bold red",
    "stopped": "bold yellow",
    "undecided": "bold yellow",
}


@click.command(epilog=exit_codes.table())
@click.argument("source", type=PROBLEM)
@options.settings("Give a missing value of a problem or replace one")
@options.as_json
@click.option("--backend", metavar="NAME", help="The solver, as highs or scip.")
@click.option("--gap", type=click.FloatRange(min=0), help="Relative gap of a branch and bound.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="S",
    help="For the solve, and again for all that is solved to explain.",
)
def explain(
    source: Path,
    settings: tuple[str, ...],
    as_json: bool,
    backend: str | None,
    gap: float | None,
    time_limit: float,
) -> int:
    """Say why SOURCE has no plan, has no best plan, or has just this one.

    SOURCE is a blueprint (.json), a problem file or folder, or a run folder. Where no plan exists:
    the smallest set of requirements that clash and the least changes that let a plan exist, each
    solved again. Where the objective has no end: what grows, and which limit is missing. Else: the
    active limits by worth: what a step beyond each would bring.
    """
    given = {"backend": backend, "gap": gap, "time_limit": time_limit}
    options = SolveOptions(**_present(given))
    overrides = parse_settings(settings)
    found = explained(source, overrides=overrides, options=options, seconds=time_limit)
    code = exit_code(found)
    tell(found)
    if as_json:
        print_json({**found.to_dict(), "exit_code": int(code)})
    return int(code)


def _present(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def exit_code(found: Explanation) -> ExitCode:
    """Return the exit code: 3 where it was shown that there is no plan."""
    if found.kind == "plan":
        return ExitCode.FEASIBLE
    if any(clash.proof.get("checked") for clash in found.clashes):
        return ExitCode.INFEASIBLE
    if found.kind == "stopped":
        return ExitCode.LIMIT
    return ExitCode.UNDECIDED


def tell(found: Explanation) -> None:
    """Print an explanation for people."""
    say(f"{found.problem}: {found.summary}", _STYLES[found.kind])
    for line in lines_of(found):
        say(clean(line), "bold" if line.depth == 0 else None)
