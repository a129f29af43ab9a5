"""One session over every transport: what is audited, solved, checked and explained is the same."""

import json
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from engiagent.tools.mcp import make_server
from tests.mcp.recording import RECORD, differences, played, workspace

TOKEN: Final = "a-token-that-nobody-can-guess"
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


@contextmanager
def served(folder: Path, *options: str) -> Iterator[str]:
    """Run the server over HTTP in a process of its own and give its URL."""
    server = f"-m engiagent mcp --http 127.0.0.1:0 --workspace {folder}"
    command = [sys.executable, *server.split(), *options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            found = re.search(r"http://\S+", process.stderr.readline())
            assert found is not None
            yield found[0]
        finally:
            process.terminate()
            process.stderr.read()


def test_over_http_with_a_token(tmp_path: Path) -> None:
    folder = workspace(tmp_path / "work")
    token = tmp_path / "token"
    token.write_text(TOKEN + "\n")
    token.chmod(0o600)
    with served(folder, "--token-file", str(token)) as url:
        as_recorded(anyio.run(_over_http, url))
        assert refused(url) == 401
        assert refused(url, authorization=f"Bearer {TOKEN[:-1]}") == 401
        assert refused(url, authorization=f"Basic {TOKEN}") == 401
        known = {"authorization": f"Bearer {TOKEN}"}
        assert refused(url, **known, host="evil.example") == 421
        assert refused(url, **known, origin="https://evil.example") == 403
        assert refused(url, **known, origin=url.removesuffix("/mcp")) is None


async def _over_http(url: str) -> list[dict[str, Any]]:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with httpx2.AsyncClient(headers=headers, timeout=60) as connection:
        transport = streamable_http_client(url, http_client=connection)
        async with Client(transport) as client:
            nobody = await client.call_tool("load_problem", {"path": "brewery"})
            assert nobody.is_error
            assert "names its session" in str(nobody.content)
            return await played(client, "alice")


def refused(url: str, **headers: str) -> int | None:
    """Return the status with which a request is turned away, None where it is let in."""
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    accept = {"accept": "application/json, text/event-stream"}
    answer = httpx2.post(url, json=body, headers={**accept, **headers}, timeout=10)
    return None if answer.status_code == 200 else answer.status_code


def test_nobody_else_can_take_the_port(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        command = [sys.executable, "-m", "engiagent", "mcp", "--http", address]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert "cannot listen there" in done.stderr


def test_the_python_of_the_page_runs(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/mcp.md").read_text("utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    exec(compile(code, "mcp.md", "exec"), {"workspace": workspace(tmp_path)})
