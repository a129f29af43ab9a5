"""``engiagent mcp``."""

from pathlib import Path

import click

from engiagent.cli import exit_codes, options
from engiagent.cli.output import say
from engiagent.errors import EngiagentError


@click.command(epilog=exit_codes.table())
@click.option(
    "--http",
    metavar="HOST:PORT",
    help="Serve streamable HTTP there, as 127.0.0.1:8765, instead of standard input and output.",
)
@options.file_option(
    "--token-file", "The token that HTTP clients must bring; needed beyond this machine."
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="A further name under which HTTP clients reach the server; repeatable.",
)
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
def mcp(
    http: str | None,
    token_file: Path | None,
    hosts: tuple[str, ...],
    workspace: Path,
    tools: str | None,
) -> int:
    """Offer engiagent's tools to language-model clients over the Model Context Protocol.

    Without --http it speaks over standard input and output, as desktop clients start it.
    """
    if http is None and (token_file is not None or hosts):
        raise click.UsageError("--token-file and --allow-host belong to --http")
    try:
        import mcp as sdk  # noqa: F401
    except ImportError:
        raise EngiagentError("this needs the extra mcp: pip install 'engiagent[mcp]'") from None
    from engiagent.tools.mcp import Address, make_server, serve_http, serve_stdio
    from engiagent.tools.mcp.transport import read_token

    chosen = {} if tools is None else {"chosen": [group.strip() for group in tools.split(",")]}
    server = make_server(workspace, named=http is not None, **chosen)
    if http is None:
        serve_stdio(server)
        return 0
    token = None if token_file is None else read_token(token_file)
    serve_http(
        server, Address.parse(http), token, hosts, lambda url: say(f"engiagent listens at {url}")
    )
    return 0
