"""Exchanges by the Messages API, through the official SDK: the only module that imports it.

The key comes from ``ANTHROPIC_API_KEY`` and goes nowhere but into the SDK's request; wherever a
server sends it back, in a message or a reply, it is struck out before anybody sees it.
"""

import math
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.engines.exchange import Reply, Request, Tokens
from engiagent.agents.protocol import Fault
from engiagent.errors import EngiagentError

if TYPE_CHECKING:
    import anthropic

KEY: Final = "ANTHROPIC_API_KEY"
STREAM_ABOVE: Final = 8_000
"""Tokens of a reply from which on it is streamed: a long wait without a byte is cut by proxies."""
SECONDS: Final = 600.0
CONNECT_SECONDS: Final = 10.0
RETRIES: Final = 3
_SYSTEM_CACHE: Final = {"type": "ephemeral"}
_STOPS: Final = {
    "max_tokens": ("reply-truncated", "the answer was cut off at {} tokens"),
    "model_context_window_exceeded": (
        "reply-truncated", "the answer was cut off where the model's context ends"
    ),
    "refusal": ("engine-refused", "the model declined to answer"),
}  # fmt: skip


class NoKeyError(EngiagentError):
    """There is no key in the environment."""


@dataclass
class AnthropicExchange:
    """A client of a server that speaks the Messages API.

    Attributes
    ----------
    base_url
        Of the server; None for the SDK's own.
    seconds
        The longest wait for a server between two bytes, and for a whole reply.
    retries
        Further attempts after what may pass: no connection, 408, 409, 429, 5xx, a stream that broke
        off.
    structured
        Whether the server is asked to hold the answer to a schema; set to False by itself when it
        says that it does not know how.
    """

    base_url: str | None = None
    seconds: float = SECONDS
    retries: int = RETRIES
    structured: bool = True
    _key: str = field(default="", repr=False)
    _client: "anthropic.Anthropic | None" = field(default=None, repr=False)

    def send(self, request: Request, seconds: float | None = None) -> Reply:
        """Return the model's reply."""
        limit = self.seconds if seconds is None else max(0.05, min(seconds, self.seconds))
        until = time.monotonic() + limit
        tokens = Tokens()
        attempt = 0
        while True:
            reply, again = self._attempt(request, until)
            tokens += reply.tokens
            attempt += not self._unstructured(reply)
            if again and attempt <= self.retries and time.monotonic() < until:
                continue
            return Reply(self._bare(reply.text), tokens, self._bare(reply.model), reply.fault)

    def _unstructured(self, reply: Reply) -> bool:
        """Whether the attempt only showed that a server knows no schemas."""
        return reply.fault is not None and reply.fault.kind == _UNSTRUCTURED

    def _attempt(self, request: Request, until: float) -> tuple[Reply, bool]:
        """Return the reply to one attempt, and whether another may help."""
        import anthropic
        import httpx2

        arguments = self._arguments(request)
        told = _Told()
        try:
            if request.max_tokens > STREAM_ABOVE:
                return self._streamed(arguments, request, until, told), False
            left = max(0.05, until - time.monotonic())
            timeout = httpx2.Timeout(left, connect=min(left, CONNECT_SECONDS))
            message = self._open().messages.create(**arguments, timeout=timeout)
            return _reply(message, request), False
        except anthropic.BadRequestError as error:
            if self.structured and "output_config" in str(error.body or error):
                self.structured = False
                return Reply("", fault=Fault(_UNSTRUCTURED, "no output_config")), True
            return self._failed(told, "engine-unreachable", _status(error)), False
        except anthropic.APIStatusError as error:
            # Before a reply begins the SDK has retried; an error within a stream it does not.
            return self._failed(told, "engine-unreachable", _status(error)), told.begun
        except anthropic.APITimeoutError:
            return self._failed(told, "engine-unreachable", _late(until)), False
        except anthropic.APIConnectionError as error:
            said = f"no connection: {_cause(error)}"
            return self._failed(told, "engine-unreachable", said), told.begun
        except TimeoutError:
            return self._failed(told, "engine-unreachable", _late(until)), False
        except (httpx2.HTTPError, anthropic.AnthropicError, ValueError, TypeError) as error:
            said = f"the reply broke off: {type(error).__name__}: {error}"
            return self._failed(told, "engine-unreachable", said), True

    def _failed(self, told: "_Told", kind: str, said: str) -> Reply:
        return Reply(told.text, told.tokens, told.model, Fault(kind, self._bare(said)[:500]))

    def _arguments(self, request: Request) -> dict[str, Any]:
        blocks: list[dict[str, Any]] = [{"type": "text", "text": text} for text in request.system]
        if blocks:
            # What is before the mark is read once and then taken from the server's cache.
            blocks[0]["cache_control"] = _SYSTEM_CACHE
            blocks[-1]["cache_control"] = _SYSTEM_CACHE
        arguments: dict[str, Any] = {
            "model": request.model,
            "max_tokens": request.max_tokens,
            "system": blocks,
            "messages": [{"role": t.role, "content": t.text} for t in request.turns],
        }
        if self.structured:
            arguments["output_config"] = {
                "effort": request.effort,
                "format": {"type": "json_schema", "schema": request.schema},
            }
        return arguments

    def _streamed(
        self, arguments: Mapping[str, Any], request: Request, until: float, told: "_Told"
    ) -> Reply:
        """Return the reply of a stream; what has come is in ``told`` when it breaks off."""
        import httpx2

        left = max(0.05, until - time.monotonic())
        timeout = httpx2.Timeout(left, connect=min(left, CONNECT_SECONDS))
        stream = self._open().messages.create(**arguments, stream=True, timeout=timeout)
        told.begun = True
        with stream:
            for event in stream:
                told.take(event)
                if time.monotonic() > until:
                    raise TimeoutError
        if not told.ended:
            raise httpx2.RemoteProtocolError("the stream ended before the message did")
        return told.reply(request)

    def _open(self) -> "anthropic.Anthropic":
        if self._client is None:
            import anthropic

            self._key = key()
            self._client = anthropic.Anthropic(
                api_key=self._key, base_url=self.base_url, max_retries=self.retries
            )
        return self._client

    def _bare(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


_UNSTRUCTURED: Final = "unstructured"


@dataclass
class _Told:
    """What a stream has told so far."""

    text: str = ""
    tokens: Tokens = field(default_factory=Tokens)
    model: str = ""
    stop: str | None = None
    ended: bool = False
    begun: bool = False

    def take(self, event: Any) -> None:
        """Take in one event; those of kinds that nobody knows yet are passed over."""
        kind = getattr(event, "type", "")
        if kind == "message_start":
            self.model = str(event.message.model)
            self.tokens = _tokens(event.message.usage)
        elif kind == "content_block_delta" and getattr(event.delta, "type", "") == "text_delta":
            self.text += event.delta.text
        elif kind == "message_delta":
            self.stop = event.delta.stop_reason
            out = _whole(getattr(event.usage, "output_tokens", 0))
            self.tokens = Tokens(self.tokens.fresh, self.tokens.cached, self.tokens.kept, out)
        elif kind == "message_stop":
            self.ended = True

    def reply(self, request: Request) -> Reply:
        """Return what it comes to."""
        return Reply(self.text, self.tokens, self.model, _fault(self.stop, request))


def key() -> str:
    """Return the key.

    Raises
    ------
    NoKeyError
        When the environment has none, or one that cannot be a key.
    """
    found = os.environ.get(KEY, "").strip()
    if not found:
        raise NoKeyError(
            f"there is no key: set {KEY} in the environment "
            "(a local server without keys takes any word)"
        )
    if not found.isascii() or not found.isprintable() or " " in found:
        raise NoKeyError(f"{KEY} has characters that no key has")
    return found


def _reply(message: Any, request: Request) -> Reply:
    """Return what a whole message says."""
    texts = [b.text for b in message.content or () if getattr(b, "type", "") == "text"]
    model, stop = str(message.model), message.stop_reason
    return Reply("".join(texts), _tokens(message.usage), model, _fault(stop, request))


def _fault(stop: str | None, request: Request) -> Fault | None:
    if stop not in _STOPS:
        return None
    kind, said = _STOPS[stop]
    return Fault(kind, said.format(request.max_tokens))


def _tokens(usage: Any) -> Tokens:
    """Return a server's count; what it does not say is nothing."""
    names = (
        "input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens",
    )  # fmt: skip
    return Tokens(*(_whole(getattr(usage, name, 0)) for name in names))


def _whole(value: Any) -> int:
    """Return a count as a server gave it; nothing for what is no count."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0
    return max(0, int(value))


def _status(error: "anthropic.APIStatusError") -> str:
    said = error.api_message or "without a message"
    return f"the server answered {error.status_code}: {said}"


def _cause(error: BaseException) -> str:
    cause = error.__cause__ or error
    return f"{type(cause).__name__}: {cause}"


def _late(until: float) -> str:
    del until
    return "the server did not answer in time"
