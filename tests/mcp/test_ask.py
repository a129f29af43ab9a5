"""Whole questions over the protocol: planned by the client, or by the server's own model."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult

from engiagent.ask.archive import archive
from engiagent.ask.offered import offer
from engiagent.tools.mcp import make_server

PLAN = archive()["cop_of_the_cooling"].plan


def called(
    folder: Path, given: Any, *then: str, reply: Any = None, mode: Any = "auto"
) -> list[Any]:
    """Ask, then call more tools in the same session."""

    async def session() -> list[Any]:
        server = make_server(folder, chosen=["all"], beside=[offer(None)])
        async with Client(server, mode=mode, elicitation_callback=reply) as client:
            assert "ask" in [tool.name for tool in (await client.list_tools()).tools]
            found = [await client.call_tool("ask", given)]
            return [*found, *[await client.call_tool(name, {}) for name in then]]

    return anyio.run(session)


def test_a_plan_is_executed_in_the_clients_session(tmp_path: Path) -> None:
    asked = {"question": PLAN.question, "plan": PLAN.to_dict()}
    found, cost = called(tmp_path, asked, "analysis_cost")
    assert not found.is_error, found
    answer = found.structured_content
    assert answer["status"] == "answered"
    assert len(answer["findings"]) == len(PLAN.findings)
    assert "<svg" in (tmp_path / answer["page"]).read_text("utf-8")
    assert not cost.is_error  # of the simulation that the question left in the session


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"question": "What does it cost?"}, "who plans?"),
        ({"question": "?", "plan": {"steps": 3}}, "steps"),
        ({"question": "?", "plan": {"steps": []}, "planing": "x"}, "planing"),
        ({"plan": {}}, "question"),
    ],
)
def test_what_cannot_be_answered_says_why(tmp_path: Path, given: Any, message: str) -> None:
    [found] = called(tmp_path, given)
    assert found.is_error
    assert message in found.content[0].text
    assert not (tmp_path / "answers").exists()


def test_an_open_argument_is_asked_of_the_user(tmp_path: Path) -> None:
    steps = [{"id": "s1", "agent": "config", "tool": "config_create", "task": "", "arguments": {}}]
    asked = {"question": "Make a building.", "plan": {"steps": steps}}
    shown = []

    async def reply(context: Any, params: Any) -> ElicitResult:
        shown.append(params)
        return ElicitResult(action="accept", content={"name": "office"})

    [found] = called(tmp_path, asked, reply=reply, mode="legacy")
    assert found.structured_content["status"] == "answered", found
    assert len(shown) == 1
    [left] = called(tmp_path, asked)
    assert left.structured_content["status"] == "open"
    assert left.structured_content["questions"][0]["id"] == "s1.name"
