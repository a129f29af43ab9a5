"""A scripted Messages server on loopback: what a language model would be, without one.

Every answer is written by the test that uses it. The server counts tokens as a quarter of the
characters, prompt, schema and reply alike, and speaks plain replies and streams of events.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]


@dataclass(frozen=True)
class Say:
    """One reply.

    Attributes
    ----------
    text
        What the model says.
    status, headers, error
        For an answer that is an HTTP error.
    broken_after
        How many letters are sent before the connection is dropped; None for all.
    seconds
        How long the server thinks first.
    """

    text: str = ""
    stop: str = "end_turn"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    error: str = ""
    broken_after: int | None = None
    seconds: float = 0.0
    raw: bytes | None = None
    cached: int = 0


Script = Callable[[Json, int], Say]
"""What is said to a request; the number counts requests from 0."""


@dataclass
class Messages:
    """The server under way: its address and what it was asked."""

    script: Script
    url: str = ""
    requests: list[Json] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    prompt_tokens: list[int] = field(default_factory=list)
    reply_tokens: list[int] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def kinds(self) -> list[str]:
        """Return which kind of question each request was."""
        return [kind_of(request) for request in self.requests]

    @property
    def tokens(self) -> int:
        """All that went over the wire, at 4 characters a token."""
        return sum(self.prompt_tokens) + sum(self.reply_tokens)


_SIGNS = {
    "sufficiency": "analyse",
    "patch": "repair",
    "requirements": "requirements",
    "objections": "second",
    "differences": "differ",
    "estimated_success": "diagnose",
    "script": "script",
}


def kind_of(request: Json) -> str:
    """Return the kind of question by the field its answer must have."""
    told = json.dumps(request.get("output_config") or "")
    said = (
        told if len(told) > 2 else str(request["messages"][0]["content"]).rsplit("Answer {", 1)[-1]
    )
    return next((kind for sign, kind in _SIGNS.items() if f'"{sign}"' in said), "unknown")


def tokens_of(request: Json) -> int:
    """Return the request's tokens: system, messages and schema."""
    schema = (request.get("output_config") or {}).get("format", {}).get("schema", {})
    parts = _characters(request.get("system", "")) + _characters(request["messages"])
    return round((parts + len(json.dumps(schema))) / 4)


def _characters(value: Any) -> int:
    """Return how many characters of text a request's part has."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_characters, value))
    return _characters(value.get("text", value.get("content", "")))


@contextmanager
def serving(script: Script) -> Iterator[Messages]:
    """Serve until the block ends."""
    state = Messages(script)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
    server.daemon_threads = True
    state.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(state: Messages) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            request = json.loads(self.rfile.read(length))
            with state.lock:
                number = len(state.requests)
                state.requests.append(request)
                state.headers.append({k.lower(): v for k, v in self.headers.items()})
            say = state.script(request, number)
            time.sleep(say.seconds)
            try:
                self.answer(request, say)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def answer(self, request: Json, say: Say) -> None:
            if say.status != 200 or say.raw is not None:
                error = {"type": "error", "error": {"type": "api_error", "message": say.error}}
                self.plain(say, json.dumps(error).encode() if say.raw is None else say.raw)
                return
            state.prompt_tokens.append(tokens_of(request))
            state.reply_tokens.append(round(len(say.text) / 4))
            if not request.get("stream"):
                message = _message(request, say, [{"type": "text", "text": say.text}])
                self.plain(say, json.dumps(message).encode())
                return
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            self.close_connection = True
            for event in _events(request, say):
                text = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                self.wfile.write(text.encode())
                self.wfile.flush()

        def plain(self, say: Say, body: bytes) -> None:
            self.send_response(say.status)
            length = ("content-length", str(len(body)))
            for name, value in (("content-type", "application/json"), length, *say.headers):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *said: Any) -> None:
            """Say nothing."""

    return Handler


def _message(request: Json, say: Say, content: list[Json], out: int | None = None) -> Json:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": say.stop,
        "stop_sequence": None,
        "usage": {
            "input_tokens": tokens_of(request) - say.cached,
            "cache_read_input_tokens": say.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": round(len(say.text) / 4) if out is None else out,
        },
    }


def _events(request: Json, say: Say) -> Iterator[Json]:
    start = {**_message(request, say, [], out=1), "stop_reason": None}
    yield {"type": "message_start", "message": start}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    text = say.text if say.broken_after is None else say.text[: say.broken_after]
    for place in range(0, len(text), 400):
        piece = {"type": "text_delta", "text": text[place : place + 400]}
        yield {"type": "content_block_delta", "index": 0, "delta": piece}
    if say.broken_after is not None:
        return
    yield {"type": "content_block_stop", "index": 0}
    out = {"output_tokens": round(len(say.text) / 4)}
    delta: Json = {"stop_reason": say.stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": out}
    yield {"type": "message_stop"}
