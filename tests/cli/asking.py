"""What the tests of commands share: a command line in this process, and what it prints."""

import json
import sys
from typing import Any, Final

import pytest
from click.testing import CliRunner, Result

from engiagent.cli.app import app

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs what only Linux has")

OUTCOME: Final = (
    *("schema", "problem", "verdict", "plan", "reading", "overrides", "objective", "bound"),
    *("missing", "contradictions", "not_understood", "violations", "run"),
)
"""The fields that every outcome has, in their order."""


def invoke(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def answer(result: Result) -> dict[str, Any]:
    """Return the one object on standard output."""
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value
