"""What a client sees of the server: tools with hints, resources, and closed doors."""

import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

from engiagent.tools import tools
from engiagent.tools.mcp import make_server
from engiagent.tools.registry import Outcome, State, Tool, Watch
from tests.mcp.recording import workspace

HARD: Any = {"path": "brewery"}


def text_of(found: Any) -> str:
    """Return the text of what was read, or said first."""
    return str((found.contents if hasattr(found, "contents") else found.content)[0].text)


def asked(folder: Path, work: Any, **more: Any) -> Any:
    """Let a client in this process do some work."""

    async def session() -> Any:
        async with Client(make_server(folder, **more)) as client:
            return await work(client)

    return anyio.run(session)


def test_every_tool_is_offered_with_hints_and_schemas(tmp_path: Path) -> None:
    found = asked(tmp_path, lambda client: client.list_tools(), chosen=["all"]).tools
    assert [tool.name for tool in found] == list(tools())
    for tool in found:
        for schema in (tool.input_schema, tool.output_schema):
            assert schema["type"] == "object"
            Draft202012Validator.check_schema(schema)
        hints = tool.annotations
        assert hints.read_only_hint == (tools()[tool.name].access == "read")
        assert not hints.open_world_hint
        assert not (hints.read_only_hint and hints.destructive_hint)
    assert [tool.name for tool in found if tool.annotations.destructive_hint] == [
        "pose_problem",
        "simulation_remove",
        "wo_confirm",
        "wo_import",
    ]


def test_sessions_of_different_names_do_not_meet(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        await client.call_tool("load_problem", {**HARD, "session": "one"})
        other = await client.call_tool("analyse", {"session": "two"})
        assert (other.is_error, other.structured_content["status"]) == (True, "blocked")
        mine = await client.call_tool("analyse", {"session": "one"})
        assert not mine.is_error
        for name in ("", "a b", "../x", 3):
            answer = await client.call_tool("analyse", {"session": name})
            assert answer.is_error

    asked(workspace(tmp_path), work)


def test_a_client_can_pose_a_problem_and_see_it(tmp_path: Path) -> None:
    text = "# Store\n\nA battery stores 10 kWh. Prices are in prices.csv.\n"
    arguments = {"folder": "store", "text": text, "files": {"prices.csv": "p [EUR/kWh]\n1\n2\n"}}

    async def work(client: Client) -> None:
        made = await client.call_tool("pose_problem", arguments)
        assert made.structured_content["files"] == ["problem.md", "prices.csv"]
        assert (tmp_path / "store/problem.md").read_text() == text
        again = await client.call_tool("pose_problem", arguments)
        assert "already" in text_of(again)
        changed = {**arguments, "text": text.replace("10", "20"), "overwrite": True}
        assert not (await client.call_tool("pose_problem", changed)).is_error
        assert not (await client.call_tool("load_problem", {"path": "store"})).is_error
        copied = {"name": "battery/merchant_day", "folder": "mine"}
        copy = await client.call_tool("copy_problem", copied)
        assert "day_ahead.csv" in copy.structured_content["files"]
        assert not (tmp_path / "mine/expert").exists()
        names = (await client.call_tool("list_problems", {})).structured_content["problems"]
        assert names == ["mine", "store"]

    asked(tmp_path, work)
    assert "20 kWh" in (tmp_path / "store/problem.md").read_text()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("load_problem", {"path": "../secret"}),
        ("load_problem", {"path": "/etc/passwd"}),
        ("load_problem", {"path": "link"}),
        ("load_problem", {"path": "brewery/../.."}),
        ("pose_problem", {"folder": "../out", "text": "x"}),
        ("pose_problem", {"folder": "/tmp/out", "text": "x"}),
        ("pose_problem", {"folder": "link", "text": "x", "overwrite": True}),
        ("pose_problem", {"folder": "a", "text": "x", "files": {"../../out.csv": "x"}}),
        ("copy_problem", {"name": "../engiagent", "folder": "a"}),
        ("copy_problem", {"name": "battery/merchant_day", "folder": "link/a"}),
        ("copy_problem", {"name": "battery/merchant_day/expert", "folder": "a"}),
        ("read_artefact", {"run": "..", "name": "secret"}),
        ("read_artefact", {"run": "link", "name": "problem.md"}),
    ],
)
def test_no_call_leads_out_of_the_workspace(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    outer = tmp_path / "secret"
    outer.mkdir()
    (outer / "problem.md").write_text("secret")
    (inner / "link").symlink_to(outer)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    answer = asked(inner, lambda client: client.call_tool(tool, arguments))
    assert answer.is_error
    assert "secret" not in (outer / "problem.md").read_text().replace("secret", "", 1)
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_resources_are_the_language_and_nothing_else(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        known = [r.uri for r in (await client.list_resources()).resources]
        for uri in known:
            assert (await client.read_resource(uri)).contents
        page = await client.read_resource("engiagent://language/reference.md")
        assert "piecewise" in text_of(page)
        for bad in ("engiagent://language/../grammar.py", "file:///etc/passwd", f"{known[0]}?x=1"):
            with pytest.raises(MCPError):
                await client.read_resource(bad)

    asked(tmp_path, work)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Put a tool in the registry that works until it is told to stop; say how it ended."""
    ended: list[str] = []

    def work(state: State, arguments: dict[str, Any]) -> Outcome:
        watch: Watch = state.watch
        assert watch.said is not None
        assert watch.cancel is not None
        started = time.monotonic()
        while time.monotonic() - started < 20:
            watch.said(time.monotonic() - started, "half way")
            if watch.cancel.wait(0.05):
                ended.append("cancelled")
                break
            if arguments.get("short") and time.monotonic() - started > 0.7:
                ended.append("done")
                break
        return Outcome({})

    from engiagent.tools import registry

    flag = registry.Argument("short", {"type": "boolean"}, "Whether to end soon.")
    made = Tool("slow", "read", "Works.", work, {"type": "object"}, (flag,), group="runs")
    tools()
    monkeypatch.setitem(registry.REGISTRY, "slow", made)
    return ended


def test_who_asks_hears_how_far_a_call_has_come(tmp_path: Path, slow: list[str]) -> None:
    heard: list[tuple[float, str | None]] = []

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, message))

    asked(tmp_path, lambda c: c.call_tool("slow", {"short": True}, progress_callback=listen))
    assert slow == ["done"]
    assert heard[-1][1] == "half way"
    assert [seconds for seconds, _ in heard] == sorted({seconds for seconds, _ in heard})


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_who_gives_up_stops_the_work(tmp_path: Path, slow: list[str], mode: str) -> None:
    async def session() -> None:
        async with Client(make_server(tmp_path), mode=mode) as client:
            with anyio.move_on_after(0.5) as scope:
                await client.call_tool("slow", {})
            assert scope.cancelled_caught
            with anyio.fail_after(5):
                while not slow:
                    await anyio.sleep(0.05)
            assert not (await client.call_tool("list_runs", {})).is_error

    anyio.run(session)
    assert slow == ["cancelled"]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_an_open_argument_is_asked_of_the_user(tmp_path: Path, mode: str) -> None:
    shown = []

    async def answer(context: Any, params: Any) -> ElicitResult:
        shown.append(params)
        return ElicitResult(action="accept", content={"name": "office"})

    async def decline(context: Any, params: Any) -> ElicitResult:
        return ElicitResult(action="decline")

    async def session(reply: Any) -> Any:
        server = make_server(tmp_path, chosen=["all"])
        async with Client(server, mode=mode, elicitation_callback=reply) as client:
            return await client.call_tool("config_create", {})

    made = anyio.run(session, answer)
    if shown:  # the protocol of 2026 gives a server of this kind no way to ask back
        assert not made.is_error
        assert made.structured_content["configuration"] == "office"
        assert "config_create needs name" in shown[0].message
    else:
        assert made.is_error
    refused = anyio.run(session, decline)
    assert refused.is_error
    assert "name" in text_of(refused)
    assert shown or mode == "auto"
