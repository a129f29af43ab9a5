"""``engiagent view``."""

from pathlib import Path

import click

from engiagent.cli import exit_codes
from engiagent.cli.output import print_json, say
from engiagent.report.view import open_view


@click.command(epilog=exit_codes.table())
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"), metavar="[DIR]")
@click.option(
    "--port", type=click.IntRange(0, 65535), metavar="N", help="0 for any; by default 8765 if free."
)
@click.option("--open", "opens", is_flag=True, help="Also open it in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
def view(folder: Path, port: int | None, opens: bool, as_json: bool) -> int:
    """Show the runs in DIR, by default runs/, in a browser: a list, each run, some side by side.

    The page of a run under way loads itself again. Only this computer is answered, and nothing can
    be changed. From elsewhere, forward the port: ssh -L 8765:localhost:8765 HOST.
    """
    server = open_view(folder, port)
    say(f"runs in {folder}: {server.address} (Ctrl-C ends it)")
    if as_json:
        print_json({"schema": "engiagent-view/1", "view": server.address, "folder": str(folder)})
    if opens:
        import webbrowser

        webbrowser.open(server.address)
    try:
        server.run()
    except KeyboardInterrupt:
        say("ended")
    return 0
