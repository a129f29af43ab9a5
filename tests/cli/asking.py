"""What the tests of commands share: a command line in this process, and what it prints."""

import json
from typing import Any

from click.testing import CliRunner, Result

from engiagent.cli.app import app


def invoke(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def answer(result: Result) -> dict[str, Any]:
    """Return the one object on standard output."""
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value
