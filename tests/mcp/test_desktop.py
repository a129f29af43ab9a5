"""A language model that had never seen the project, as a client: its calls, made again."""

import json
from pathlib import Path
from typing import Any, Final

import anyio
import pytest
from mcp import Client

from engiagent.tools.mcp import make_server
from tests.mcp.recording import differences

RECORDED: Final = json.loads(Path(__file__).with_name("desktop_client.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What its calls give today."""
    folder = tmp_path_factory.mktemp("desktop")

    async def session() -> list[dict[str, Any]]:
        async with Client(make_server(folder, chosen=RECORDED["groups"])) as client:
            found = []
            for call in RECORDED["calls"]:
                answer = await client.call_tool(call["tool"], call["arguments"])
                found.append(
                    {**call, "error": answer.is_error, "answer": answer.structured_content}
                )
            return found

    return anyio.run(session)


def test_none_of_its_calls_was_wrong_and_each_gives_the_same(answers: list[dict[str, Any]]) -> None:
    assert not any(call["error"] for call in RECORDED["calls"])
    assert list(differences(answers, RECORDED["calls"])) == []


def test_the_figures_of_its_answer_are_those_of_its_calls(answers: list[dict[str, Any]]) -> None:
    compared = next(c["answer"] for c in answers if c["tool"] == "comparison_comprehensive")
    cost = next(f for f in compared["figures"] if f["name"] == "energy_cost")["values"]
    assert [f"{value:.2f}" for value in cost] == ["13.29", "8.23", "8.43"]
    assert all(f"{value:.2f}" in RECORDED["answer"] for value in cost)
