"""``engiagent memory``: what runs have learnt about who mends which fault, and how to forget it."""

from collections.abc import Sequence
from pathlib import Path

import click

from engiagent.agents.memory import Memory, Rate, default_path
from engiagent.cli import options
from engiagent.cli.output import clean, print_json, say
from engiagent.errors import EngiagentError

_FILE = click.option(
    "--memory",
    "path",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The memory; by default ENGIAGENT_MEMORY, else the one in your state folder.",
)


@click.group()
def memory() -> None:
    """Show or clear what runs have learnt about repairs."""


@memory.command("show")
@_FILE
@options.as_json
def show(path: Path | None, as_json: bool) -> None:
    """Show how often each agent repaired each kind of fault, with Wilson's interval at 95 %."""
    store = _memory(path)
    rates = store.rates() if store.path.exists() else ()
    if as_json:
        print_json(
            {
                "schema": "engiagent-memory/1",
                "memory": str(store.path),
                "rates": [dict(vars(rate)) for rate in rates],
            }
        )
        return
    for line in table(rates):
        click.echo(line)
    attempts = sum(rate.attempts for rate in rates)
    say(f"{attempts} attempts in {store.path}")


@memory.command("clear")
@_FILE
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; needs --yes.")
def clear(path: Path | None, yes: bool, as_json: bool) -> None:
    """Forget every attempt."""
    store = _memory(path)
    if not yes and as_json:
        raise EngiagentError("nothing is cleared: with --json nothing is asked; add --yes")
    if not yes:
        click.confirm(f"forget everything in {clean(store.path)}?", abort=True)
    forgotten = store.clear() if store.path.exists() else 0
    if as_json:
        print_json(
            {
                "schema": "engiagent-memory-cleared/1",
                "memory": str(store.path),
                "forgotten": forgotten,
            }
        )
    else:
        say(f"{forgotten} attempts forgotten")


def table(rates: Sequence[Rate]) -> list[str]:
    """Return rates as lines of Markdown."""
    lines = [
        "| agent | kind of fault | attempts | repaired | share | 95 % interval |",
        "|---|---|---:|---:|---:|---|",
    ]
    for rate in rates:
        lines.append(
            f"| {clean(rate.agent)} | {clean(rate.kind)} | {rate.attempts} | {rate.mended} "
            f"| {rate.mended / rate.attempts:.2f} | {rate.low:.2f} to {rate.high:.2f} |"
        )
    return lines


def _memory(path: Path | None) -> Memory:
    return Memory(path or default_path())
