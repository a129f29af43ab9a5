"""A client that has never seen the project builds, changes, simulates and compares a site."""

import json
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

from engiagent.errors import InputError
from engiagent.tools.mcp import make_server

GROUPS = ("config", "hvac", "der", "simulation", "comparison")


class Stranger:
    """A client that finds its way by names, descriptions and schemas of what is offered."""

    def __init__(self, client: Client, offered: list[Any]) -> None:
        self.client, self.offered = client, offered

    def that(self, *words: str, takes: str | None = None) -> str:
        """Return the one tool whose name and description have some words, and that takes this."""
        found = [
            tool.name
            for tool in self.offered
            if all(word in f"{tool.name} {tool.description}".lower() for word in words)
            and (takes is None or takes in tool.input_schema["properties"])
        ]
        assert len(found) == 1, found
        return str(found[0])

    async def call(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        answer = await self.client.call_tool(name, arguments)
        assert not answer.is_error, answer.content
        return dict(answer.structured_content)


def at(folder: Path, work: Any, **more: Any) -> Any:
    async def session() -> Any:
        async with Client(make_server(folder, **more)) as client:
            return await work(Stranger(client, (await client.list_tools()).tools))

    return anyio.run(session)


def test_a_client_builds_the_reference_changes_simulates_and_compares(tmp_path: Path) -> None:
    async def work(client: Stranger) -> tuple[dict[str, Any], dict[str, Any]]:
        create = client.that("config_create", "reference")
        run = client.that("run", "active configuration", "controllers")
        made = await client.call(create, name="office")
        assert made["contents"]["components"]
        first = await client.call(run)
        machines = (await client.call(client.that("hvac_query")))["entries"]
        cooler = next(n for n, e in machines.items() if "cop" in e)
        await client.call(client.that("change", "hvac", takes="cop"), id=cooler, cop=4.5)
        stores = (await client.call(client.that("der_query")))["entries"]
        battery = next(n for n, e in stores.items() if e["model"] == "battery")
        change = client.that("change", "der", takes="energy_capacity")
        await client.call(change, id=battery, energy_capacity=20)
        second = await client.call(run)
        results = [first["name"], second["name"]]
        compared = await client.call(
            client.that("compare", "peaks", "flexibility"), results=results
        )
        ranked = await client.call(client.that("rank", takes="by"), results=results)
        return compared, ranked

    compared, ranked = at(tmp_path, work, chosen=GROUPS)
    cost = next(f for f in compared["figures"] if f["name"] == "energy_cost")
    assert cost["values"][1] < cost["values"][0]
    assert cost["percent"][1] == pytest.approx(
        100.0 * (cost["values"][1] - cost["values"][0]) / cost["values"][0]
    )
    assert ranked["ranking"][0]["result"] == compared["results"][1]


def test_groups_are_offered_as_chosen_and_others_are_refused(tmp_path: Path) -> None:
    async def names(client: Stranger) -> Any:
        answer = await client.client.call_tool("load_problem", {"path": "x"})
        return {tool.name.partition("_")[0] for tool in client.offered}, answer

    offered, answer = at(tmp_path, names, chosen=GROUPS)
    assert offered == set(GROUPS)
    assert answer.is_error
    assert "not offered" in json.dumps(answer.structured_content)
    assert "load_problem" in at(tmp_path, lambda c: _names(c))
    with pytest.raises(InputError, match="comparison"):
        make_server(tmp_path, chosen=["comparisons"])


async def _names(client: Stranger) -> list[str]:
    return [tool.name for tool in client.offered]


def test_a_simulation_tells_how_far_it_is(tmp_path: Path) -> None:
    heard: list[str | None] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async def work(client: Stranger) -> None:
        await client.call("config_create", name="ref")
        await client.call("environment_update", days=120, step=15)
        await client.client.call_tool("simulation_run", {}, progress_callback=listen)

    at(tmp_path, work, chosen=["all"])
    assert any(message and message.startswith("step ") for message in heard)
