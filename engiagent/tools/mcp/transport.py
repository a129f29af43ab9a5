"""How clients reach the server: over standard input and output, or over HTTP.

HTTP is for this machine unless a token is asked for. Web pages are kept out by the names that
requests may give as host and origin.
"""

import hashlib
import hmac
import ipaddress
import os
import re
import socket
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from engiagent.errors import InputError

PATH: Final = "/mcp"
_SHORTEST: Final = 16
_ANYWHERE: Final = ("0.0.0.0", "::", "")
_LOCAL: Final = ("127.0.0.1", "localhost", "[::1]")

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


@dataclass(frozen=True)
class Address:
    """Where to listen: a name or an address without brackets, and a port, 0 for any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read ``HOST:PORT``, ``[IPV6]:PORT``, ``:PORT`` or ``PORT`` of this machine."""
        found = re.fullmatch(r"(?:(\[[0-9A-Fa-f:.%]+\]|[^\s:\[\]]*):)?(\d{1,5})", text.strip())
        if found is None or int(found[2]) > 65535:
            raise InputError("this is no address", found=repr(text), expected="127.0.0.1:8765")
        return cls((found[1] or "127.0.0.1").strip("[]"), int(found[2]))

    @property
    def local(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def shown(self) -> str:
        """The host as it stands in a URL."""
        return f"[{self.host}]" if ":" in self.host else self.host


def read_token(path: Path) -> str:
    """Return the token in a file, without the white space around it."""
    try:
        text = path.read_text(encoding="utf-8").strip()
        mode = path.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the token: {error}", str(path)) from None
    if len(text) < _SHORTEST or not re.fullmatch(r"[\x21-\x7e]+", text):
        signs = "letters, digits and signs, as from 'openssl rand -hex 32'"
        expected = f"one line of {_SHORTEST} or more {signs}"
        raise InputError("this is no token", str(path), expected=expected)
    if os.name == "posix" and mode & 0o077:
        found, expected = f"mode {mode & 0o777:03o}", f"chmod 600 {path}"
        raise InputError("others can read the token", str(path), found=found, expected=expected)
    return text


def security(address: Address, hosts: Sequence[str] = ()) -> TransportSecuritySettings:
    """Return which hosts and origins requests may name."""
    named = list(hosts)
    if address.local:
        named += _LOCAL
    elif address.host not in _ANYWHERE:
        named.append(address.shown)
    if not named:
        raise InputError(
            "nobody said under which name clients reach the server",
            found=f"{address.shown}:{address.port}",
            expected="--allow-host NAME, as it stands in their URL",
        )
    for name in named:
        if not re.fullmatch(r"[A-Za-z0-9.\-]+|\[[0-9A-Fa-f:.]+\]", name):
            raise InputError("this is no host name", found=repr(name), expected="plan.example.org")
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[form for name in named for form in (name, f"{name}:*")],
        allowed_origins=[
            form
            for name in named
            for scheme in ("http", "https")
            for form in (f"{scheme}://{name}", f"{scheme}://{name}:*")
        ],
    )


def guarded(application: Application, token: str) -> Application:
    """Return an ASGI application that answers nobody who does not bring the token."""
    wanted = hashlib.sha256(token.encode()).digest()

    async def guard(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or _brings(scope, wanted):
            await application(scope, receive, send)
            return
        headers = [(b"content-type", b"text/plain"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": b"a token is needed\n"})

    return guard


def _brings(scope: Scope, wanted: bytes) -> bool:
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return False
    scheme, _, token = given[0].partition(b" ")
    found = hashlib.sha256(token.strip()).digest()
    return scheme.lower() == b"bearer" and hmac.compare_digest(found, wanted)


def application(
    server: Server[Any], address: Address, token: str | None = None, hosts: Sequence[str] = ()
) -> Application:
    """Return the ASGI application."""
    if token is None and not address.local:
        raise InputError(
            "other machines could reach the server without a token",
            found=f"{address.shown}:{address.port}",
            expected="--token-file FILE, or 127.0.0.1",
        )
    checked = security(address, hosts)
    made = server.streamable_http_app(
        streamable_http_path=PATH, transport_security=checked, host=address.host
    )
    return made if token is None else guarded(made, token)


def serve_http(
    server: Server[Any],
    address: Address,
    token: str | None = None,
    hosts: Sequence[str] = (),
    on_ready: Callable[[str], None] | None = None,
) -> None:
    """Serve over HTTP until the process is told to end.

    Parameters
    ----------
    token
        What clients have to send as bearer token; may be None on this machine alone.
    hosts
        Further names under which clients reach the server.
    on_ready
        Called with the URL once the port is taken.
    """
    import uvicorn

    made = application(server, address, token, hosts)
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((address.host, address.port))
            listener.listen()  # who hears of the address may come at once
        except OSError as error:
            raise InputError(
                f"cannot listen there: {error.strerror}", found=f"{address.shown}:{address.port}"
            ) from None
        if on_ready is not None:
            on_ready(f"http://{address.shown}:{listener.getsockname()[1]}{PATH}")
        config = uvicorn.Config(made, log_level="warning", lifespan="on", ws="none")
        uvicorn.Server(config).run(sockets=[listener])


def serve_stdio(server: Server[Any]) -> None:
    """Serve over standard input and output until the client closes them."""
    import anyio

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    anyio.run(serve)
