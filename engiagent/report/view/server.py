"""The viewer's server: this computer only, read only, nothing outside the folder of runs.

Whoever asks has to be on this computer and has to name it as such: a page from elsewhere that has
its own name point here is refused by the name in ``Host``, one that asks for a part of a page by
``Sec-Fetch-Site``.
"""

from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from engiagent.errors import InputError
from engiagent.report.view.answers import Answer, answer, failure
from engiagent.report.view.library import Library

HOST: Final = "127.0.0.1"
PORT: Final = 8765
NAMES: Final = ("127.0.0.1", "localhost", "::1")
_GONE: Final = (BrokenPipeError, ConnectionResetError, ConnectionAbortedError, TimeoutError)


@dataclass(frozen=True)
class View:
    """A viewer that serves until it is closed; see :func:`open_view`."""

    root: Path
    server: "_Server"

    @property
    def address(self) -> str:
        """Where it is served, as ``http://127.0.0.1:8765/``."""
        return f"http://{HOST}:{self.server.server_port}/"

    def run(self) -> None:
        """Serve until somebody interrupts or closes it."""
        try:
            self.server.serve_forever(poll_interval=0.2)
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving and give the port back."""
        self.server.shutdown()
        self.server.server_close()


def open_view(root: Path | str, port: int | None = None) -> View:
    """Return a viewer of the runs below a folder; it listens, and answers once it runs.

    ``port`` is 0 for any that is free, None for 8765, or any that is free when that is taken.
    """
    folder = Path(root)
    if not folder.is_dir():
        raise InputError("there is no such folder", str(folder), expected="a folder of runs")
    library = Library(folder)
    wanted = PORT if port is None else port
    try:
        return View(folder, _Server(library, wanted))
    except (OSError, OverflowError) as error:
        if port is not None:
            said = getattr(error, "strerror", None) or error
            raise InputError(
                f"port {port} cannot be had: {said}", expected="another one, or 0 for any"
            ) from None
        return View(folder, _Server(library, 0))


class _Server(ThreadingHTTPServer):
    """A thread for each connection; none of them keeps the process alive."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, library: Library, port: int) -> None:
        self.library = library
        super().__init__((HOST, port), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Pass over whoever hung up; nothing of a request reaches the terminal."""


class _Handler(BaseHTTPRequestHandler):
    """One request. Only looking is possible: GET and HEAD."""

    server: _Server
    protocol_version = "HTTP/1.1"
    server_version = "engiagent"
    sys_version = ""
    timeout = 30.0

    def do_GET(self) -> None:
        """Answer with a page, a file or a stream."""
        try:
            self._send(self._found())
        except _GONE:
            self.close_connection = True

    def do_HEAD(self) -> None:
        """Answer with the head of what GET answers."""
        self.do_GET()

    def _found(self) -> Answer:
        refusal = self._refusal()
        if refusal:
            return failure(HTTPStatus.FORBIDDEN, refusal)
        try:
            return answer(self.server.library, self.path)
        except Exception as error:  # a page that cannot be made must not end the viewer
            message = f"This page cannot be made ({type(error).__name__})."
            return failure(HTTPStatus.INTERNAL_SERVER_ERROR, message)

    def _refusal(self) -> str:
        """Return why somebody who asks is not answered; nothing where they are."""
        hosts = self.headers.get_all("Host") or []
        if len(hosts) != 1 or _name_of(hosts[0]) not in NAMES:
            return "The viewer answers to the names of this computer only, as localhost."
        site = self.headers.get("Sec-Fetch-Site", "none")
        is_visit = self.headers.get("Sec-Fetch-Mode", "navigate") == "navigate"
        if site not in ("same-origin", "none") and not is_visit:
            return "The viewer answers its own pages only."
        return ""

    def _send(self, found: Answer) -> None:
        self.send_response(found.status)
        for name, value in (
            ("Content-Type", found.kind),
            ("Content-Security-Policy", found.policy),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("Content-Length", str(len(found.body))),
        ):
            self.send_header(name, value)
        if found.saved_as:
            name = quote(found.saved_as, errors="replace")
            self.send_header("Content-Disposition", f"attachment; filename*=UTF-8''{name}")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(found.body)

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the terminal quiet."""


def _name_of(host: str) -> str:
    """Return the name in a ``Host`` header without its port; nothing where it is none."""
    try:
        return (urlsplit(f"//{host}").hostname or "").casefold()
    except ValueError:
        return ""
