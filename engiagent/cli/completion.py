"""``engiagent completion``: what a shell needs to complete commands, options and names."""

import click
from click.shell_completion import get_completion_class

PROGRAM = "engiagent"
VARIABLE = "_ENGIAGENT_COMPLETE"
"""In it click finds the shell that asks; the scripts below set it."""


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script that lets SHELL complete engiagent's commands, options and problems.

    Put it where your shell looks, or evaluate it in its start-up file. Bash must be 4.4 or newer.
    """
    made = get_completion_class(shell)
    assert made is not None
    root = context.find_root().command
    # Not source(), which would look for a bash to ask its version.
    script = made(root, {}, PROGRAM, VARIABLE)
    click.echo(script.source_template % script.source_vars())
