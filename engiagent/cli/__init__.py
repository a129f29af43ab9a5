"""The command line. Results go to standard output, what is said to people to standard error."""

from typing import NoReturn

from engiagent.cli.app import app


def main() -> NoReturn:
    """Run the command line; the entry point of the ``engiagent`` script."""
    app.main(prog_name="engiagent")
    raise AssertionError("click always exits")
