"""Who is answered and what is given away: this computer, its own pages, files of runs."""

import socket
from pathlib import Path
from urllib.parse import quote

import pytest

from engiagent.errors import InputError
from engiagent.report.view import open_view
from engiagent.report.view.answers import OWN, REPORTS
from tests.view.conftest import Caller, Put


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 200),
        ("localhost", 200),
        ("LOCALHOST:9", 200),
        ("[::1]:8765", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example:80", 403),
        ("localhost@evil.example", 403),
        ("evil.example@localhost:1", 200),
        ("", 403),
        ("[::1", 403),
        ("0.0.0.0", 403),
        ("127.0.0.2", 403),
    ],
)
def test_only_the_names_of_this_computer_are_answered(host: str, status: int, call: Caller) -> None:
    assert call("/", Host=host).status == status


def test_a_request_without_or_with_two_hosts_is_refused(call: Caller) -> None:
    for hosts in ("", "Host: localhost\r\nHost: evil.example\r\n"):
        with socket.create_connection(("127.0.0.1", call.port), timeout=10) as connection:
            connection.sendall(f"GET / HTTP/1.0\r\n{hosts}\r\n".encode())
            assert b" 403 " in connection.recv(100)


@pytest.mark.parametrize(
    ("site", "mode", "status"),
    [
        ("same-origin", "cors", 200),
        ("none", "navigate", 200),
        ("cross-site", "navigate", 200),
        ("cross-site", "no-cors", 403),
        ("same-site", "cors", 403),
    ],
)
def test_parts_of_pages_from_elsewhere_are_refused(
    site: str, mode: str, status: int, call: Caller
) -> None:
    assert call("/", Sec_Fetch_Site=site, Sec_Fetch_Mode=mode).status == status


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_nothing_can_be_changed(method: str, call: Caller) -> None:
    assert call("/", method).status == 501


def test_the_head_of_a_page_has_no_body(call: Caller) -> None:
    whole, head = call("/"), call("/", "HEAD")
    assert head.text == ""
    assert head.headers["content-length"] == whole.headers["content-length"]


def test_every_answer_says_what_may_be_loaded(put: Put, call: Caller) -> None:
    folder = put("a")
    (folder / "report.html").write_text("<script>alert(1)</script>")
    (folder / "solution.nc").write_bytes(b"\x89HDF")
    for path in ("/", "/runs/a", "/static/page.css", "/nothing", "/compare?run=a&run=a"):
        headers = call(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["cache-control"] == "no-store"
    assert call("/").headers["content-security-policy"] == OWN
    # A report is somebody's file: it is shown without scripts and without an origin.
    assert call("/runs/a/-/report.html").headers["content-security-policy"] == REPORTS
    assert REPORTS.startswith("sandbox")
    assert "script-src" not in REPORTS
    saved = call("/runs/a/-/solution.nc").headers["content-disposition"]
    assert saved == "attachment; filename*=UTF-8''solution.nc"


@pytest.fixture
def secret(tmp_path: Path, put: Put) -> Path:
    folder = put("a")
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    (tmp_path / "runs" / "loose.txt").write_text("secret")
    (folder / "notes.txt").write_text("secret")
    (folder / "model.py").symlink_to(secret)
    (folder / "problem").mkdir()
    (folder / "problem" / "link.md").symlink_to(secret)
    (folder / "exchanges").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "runs" / "elsewhere").symlink_to(tmp_path, target_is_directory=True)
    return secret


@pytest.mark.parametrize(
    "path",
    [
        "/runs/a/-/../../secret.txt",
        "/runs/a/-/..%2f..%2fsecret.txt",
        "/runs/a/-/notes.txt",
        "/runs/a/-/model.py",
        "/runs/a/-/problem/link.md",
        "/runs/a/-/exchanges/secret.txt",
        "/runs/a/-/problem/../notes.txt",
        "/runs/a/-/problem/%2e%2e/notes.txt",
        "/runs/../secret.txt",
        "/runs/..",
        "/runs/%2e%2e/-/secret.txt",
        "/runs/a%2f..%2f..",
        "/runs/elsewhere/-/secret.txt",
        "/runs/a/-//etc/passwd",
        "/runs//etc",
        "/runs/a%00b",
        "/runs/-/loose.txt",
        "/static/../library.py",
        "/static/%2e%2e/server.py",
        "/static/",
        "/runs/" + "x/" * 500,
        "/secret.txt",
        "//a",
        "/runs/C:%5Ca",
        "/runs/a/-/problem/%EF%BF%BD%FF",
        "/?text=%FF&page=%00",
    ],
)
def test_nothing_outside_the_runs_files_is_given(path: str, secret: Path, call: Caller) -> None:
    reply = call(path)
    assert reply.text.count("secret") == reply.text.count("secret.txt")
    assert reply.status in (200, 404)
    if reply.status == 200:
        assert path.startswith("/?")


def test_links_are_not_listed_either(secret: Path, call: Caller) -> None:
    assert "link.md" not in call("/runs/a").text
    assert "elsewhere" not in call("/").text


def test_a_run_that_cannot_be_shown_does_not_end_the_viewer(put: Put, call: Caller) -> None:
    folder = put("a")
    (folder / "blueprint.json").write_text("{" * 100)
    (folder / "solution.nc").write_bytes(b"no netCDF")
    (folder / "trace.jsonl").write_text("{\n{}\n")
    assert call("/runs/a").status == 200
    assert call("/runs/a/-/report.html").status == 200
    assert call("/").status == 200


def test_names_of_any_kind_have_an_address(put: Put, call: Caller) -> None:
    for name in ("ä ö%20", "a?b#c", "x-", 'q"<>'):
        put(name)
        assert call(f"/runs/{quote(name)}").status == 200, name
    assert call("/").status == 200


def test_a_port_that_is_taken_is_said_or_left(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="cannot be had"):
            open_view(tmp_path, taken.getsockname()[1])
    with pytest.raises(InputError, match="no such folder"):
        open_view(tmp_path / "nothing")
