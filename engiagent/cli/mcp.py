"""``engiagent mcp``."""

from pathlib import Path

import click

from engiagent.cli import exit_codes
from engiagent.errors import EngiagentError


@click.command(epilog=exit_codes.table())
@click.option(
    "--workspace",
    type=click.Path(path_type=Path, file_okay=False),
    default=".",
    metavar="DIR",
    help="The folder that holds all that clients can read and write; by default this one.",
)
@click.option(
    "--tools",
    metavar="GROUP[,GROUP]",
    help="The groups of tools to offer, as 'engiagent tool --list' shows them, or all; by default "
    "those from a text to a certified schedule.",
)
def mcp(workspace: Path, tools: str | None) -> int:
    """Offer engiagent's tools to language-model clients over the Model Context Protocol.

    It speaks over standard input and output, as desktop clients start it.
    """
    try:
        import mcp as sdk  # noqa: F401
    except ImportError:
        raise EngiagentError("this needs the extra mcp: pip install 'engiagent[mcp]'") from None
    from engiagent.tools.mcp import make_server, serve_stdio

    chosen = {} if tools is None else {"chosen": [group.strip() for group in tools.split(",")]}
    serve_stdio(make_server(workspace, **chosen))
    return 0
