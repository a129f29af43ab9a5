"""What a client sees of the server: tools with hints, resources, prompts, and closed doors."""

import json
import time
from pathlib import Path
from typing import Any

import anyio
import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceLink, TextContent

from engiagent.errors import InputError
from engiagent.tools import tools
from engiagent.tools.mcp import Address, make_server
from engiagent.tools.mcp.transport import application, read_token, security
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
        flags = (
            hints.read_only_hint,
            hints.destructive_hint,
            hints.idempotent_hint,
            hints.open_world_hint,
        )
        assert all(isinstance(flag, bool) for flag in flags)
        assert hints.read_only_hint == (tools()[tool.name].access == "read")
        assert not hints.open_world_hint
        assert not (hints.read_only_hint and hints.destructive_hint)
    assert [tool.name for tool in found if tool.annotations.destructive_hint] == [
        "pose_problem",
        "simulation_remove",
    ]


def test_sessions_of_different_names_do_not_meet(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        await client.call_tool("load_problem", {**HARD, "session": "one"})
        other = await client.call_tool("analyse", {"session": "two"})
        assert (other.is_error, other.structured_content["status"]) == (True, "blocked")
        mine = await client.call_tool("analyse", {"session": "one"})
        assert not mine.is_error
        calls = await client.read_resource("engiagent://sessions/one/calls.json")
        assert [call["tool"] for call in json.loads(text_of(calls))["calls"]] == [
            "load_problem",
            "analyse",
        ]
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
        link = made.content[1]
        assert isinstance(link, ResourceLink)
        shown = await client.read_resource(link.uri)
        assert text_of(shown) == text
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


def test_resources_show_problems_runs_and_the_language_and_nothing_else(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "inner")
    (folder / ".env").write_text("KEY=secret")
    (folder / "notes.csv").write_text("secret")
    (folder / "brewery/expert/answer.json").write_text("{}")
    (tmp_path / "out.md").write_text("secret")
    (folder / "link.md").symlink_to(tmp_path / "out.md")

    async def work(client: Client) -> None:
        known = [r.uri for r in (await client.list_resources()).resources]
        assert "engiagent://problems/brewery/problem.md" in known
        for uri in known:
            assert (await client.read_resource(uri)).contents
        page = await client.read_resource("engiagent://language/reference.md")
        assert "piecewise" in text_of(page)
        packaged = "engiagent://packaged/battery/merchant_day/"
        assert (await client.read_resource(packaged + "day_ahead.csv")).contents
        for bad in (
            "problems/.env",
            "problems/notes.csv",
            "problems/brewery/expert/answer.json",
            "problems/link.md",
            "problems/../out.md",
            "problems/%2e%2e/out.md",
            "runs/brewery/problem.md",
            "runs/run.json",
            "language/../grammar.py",
            "sessions/nobody/calls.json",
            "nothing/x",
            "problems/brewery",
            "packaged/battery/merchant_day/expert/answer.json",
        ):
            with pytest.raises(MCPError):
                await client.read_resource(f"engiagent://{bad}")
        for bad in ("file:///etc/passwd", "engiagent://problems/brewery/problem.md?x=1"):
            with pytest.raises(MCPError):
                await client.read_resource(bad)
        forms = (await client.list_resource_templates()).resource_templates
        assert {form.uri_template.split("://")[0] for form in forms} == {"engiagent"}

    asked(folder, work)


def test_long_lists_come_in_pages(tmp_path: Path) -> None:
    for number in range(120):
        (tmp_path / f"p{number:03}.md").write_text("# A\n\nText.\n")

    async def work(client: Client) -> None:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        assert len(first.resources) == 100
        assert len(first.resources) + len(second.resources) == 123
        with pytest.raises(MCPError):
            await client.list_resources(cursor="-1")

    asked(tmp_path, work)


def test_prompts_hold_their_arguments_and_are_completed(tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        known = {prompt.name: prompt for prompt in (await client.list_prompts()).prompts}
        assert {"solve_problem", "audit_problem", "write_problem", "why"} == set(known)
        for name, prompt in known.items():
            arguments = {argument.name: f"<{argument.name}>" for argument in prompt.arguments or ()}
            (message,) = (await client.get_prompt(name, arguments)).messages
            assert isinstance(message.content, TextContent)
            for value in arguments.values():
                assert value in message.content.text
            assert "{" not in message.content.text
            with pytest.raises(MCPError):
                await client.get_prompt(name, {})
        with pytest.raises(MCPError):
            await client.get_prompt("nothing", {})
        reference = PromptReference(type="ref/prompt", name="solve_problem")
        found = await client.complete(reference, {"name": "path", "value": "bre"})
        assert found.completion.values == ["brewery"]

    asked(workspace(tmp_path), work)


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
            calls = await client.read_resource("engiagent://sessions/main/calls.json")
            made = json.loads(text_of(calls))["calls"]
            assert [call["tool"] for call in made] == ["list_runs"]

    anyio.run(session)
    assert slow == ["cancelled"]


@pytest.mark.parametrize(
    ("text", "host", "port", "local"),
    [
        ("127.0.0.1:8765", "127.0.0.1", 8765, True),
        ("localhost:1", "localhost", 1, True),
        ("[::1]:80", "::1", 80, True),
        (":8000", "127.0.0.1", 8000, True),
        ("0", "127.0.0.1", 0, True),
        ("0.0.0.0:80", "0.0.0.0", 80, False),
        ("192.168.1.4:80", "192.168.1.4", 80, False),
        ("plan.example.org:80", "plan.example.org", 80, False),
    ],
)
def test_addresses(text: str, host: str, port: int, local: bool) -> None:
    address = Address.parse(text)
    assert (address.host, address.port, address.local) == (host, port, local)


@pytest.mark.parametrize("text", ["", "host", "host:x", "1:2:3", "a b:80", "127.0.0.1:65536"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        Address.parse(text)


def test_beyond_this_machine_a_token_and_a_name_are_needed(tmp_path: Path) -> None:
    server = make_server(tmp_path, named=True)
    with pytest.raises(InputError, match="without a token"):
        application(server, Address("192.168.1.4", 80))
    with pytest.raises(InputError, match="under which name"):
        application(server, Address("0.0.0.0", 80), "a-long-enough-token")
    for bad in ("*", "http://x", "a b"):
        with pytest.raises(InputError, match="no host name"):
            security(Address("127.0.0.1", 80), [bad])
    allowed = security(Address("0.0.0.0", 80), ["plan.example.org"])
    assert allowed.allowed_hosts == ["plan.example.org", "plan.example.org:*"]
    made = application(server, Address("0.0.0.0", 80), "a-long-enough-token", ["x.org"])
    assert made.__name__ == "guard"


def test_a_token_is_long_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    file = tmp_path / "token"
    with pytest.raises(InputError, match="cannot read"):
        read_token(file)
    for text, mode, said in (
        ("short", 0o600, "no token"),
        ("x y" * 20, 0o600, "no token"),
        ("x" * 40, 0o644, "others can read"),
    ):
        file.write_text(text)
        file.chmod(mode)
        with pytest.raises(InputError, match=said):
            read_token(file)
    file.chmod(0o600)
    assert read_token(file) == "x" * 40
