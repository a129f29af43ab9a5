"""A viewer of a few runs, on a port of its own."""

import http.client
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engiagent.report.view import open_view

Put = Callable[..., Path]


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    headers: dict[str, str]
    text: str


@dataclass(frozen=True)
class Caller:
    """Asks the viewer, by default as a browser on the same computer does."""

    port: int

    def __call__(self, path: str, method: str = "GET", **headers: str) -> Reply:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, headers=named)
            found = connection.getresponse()
            body = found.read().decode("utf-8", errors="replace")
            return Reply(found.status, {k.lower(): v for k, v in found.getheaders()}, body)
        finally:
            connection.close()


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Return a function that writes a run folder below ``runs``."""

    def write(name: str, **record: Any) -> Path:
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        whole = {"schema": "engiagent-run/1", "problem": folder.name, "state": "done"} | record
        (folder / "run.json").write_text(json.dumps(whole), encoding="utf-8")
        return folder

    return write


@pytest.fixture
def call(tmp_path: Path) -> Iterator[Caller]:
    """Return what asks a viewer of ``runs``."""
    root = tmp_path / "runs"
    root.mkdir(exist_ok=True)
    view = open_view(root, 0)
    thread = threading.Thread(target=view.run, daemon=True)
    thread.start()
    try:
        yield Caller(view.server.server_port)
    finally:
        view.close()
        thread.join(10)
        assert not thread.is_alive()
