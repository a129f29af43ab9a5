"""A recorded session: what is audited, solved, checked and explained is the same."""

import json
import re
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp import Client

from engiagent.tools.mcp import make_server
from tests.mcp.recording import RECORD, differences, played, workspace

RECORDED: Final = json.loads(RECORD.read_text("utf-8"))


def as_recorded(found: list[dict[str, Any]]) -> None:
    assert list(differences(found, RECORDED)) == []


def test_the_recorded_session_reaches_a_certificate() -> None:
    by_tool = {exchange["tool"]: exchange["answer"] for exchange in reversed(RECORDED)}
    assert by_tool["audit"]["verdict"] == "complete"
    assert by_tool["check"]["verdict"] == "certified"
    assert by_tool["explain"]["kind"] == "plan"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_in_process(tmp_path: Path, mode: str) -> None:
    async def session() -> list[dict[str, Any]]:
        async with Client(make_server(workspace(tmp_path)), mode=mode) as client:
            return await played(client)

    as_recorded(anyio.run(session))


def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/mcp.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    exec(compile(code, "mcp.md", "exec"), {"workspace": workspace(tmp_path)})
