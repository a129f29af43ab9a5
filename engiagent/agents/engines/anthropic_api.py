"""Exchanges by the Messages API, through the official SDK: the only module that imports it.

The key comes from ``ANTHROPIC_API_KEY`` and goes nowhere but into the SDK's request; wherever a
server sends it back, in a message or a reply, it is struck out before anybody sees it.
"""

import email.utils
import math
import os
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.engines.exchange import Reply, Request, Tokens
from engiagent.agents.protocol import Fault
from engiagent.errors import EngiagentError

if TYPE_CHECKING:
    import anthropic
    import httpx2

KEY: Final = "ANTHROPIC_API_KEY"
LEAST_KEY: Final = 16
"""Characters from which on a word is taken for a key; servers without keys are given any word."""
STREAM_ABOVE: Final = 8_000
"""Tokens of a reply from which on it is streamed: a long wait without a byte is cut by proxies."""
SECONDS: Final = 600.0
CONNECT_SECONDS: Final = 10.0
RETRIES: Final = 3
AT_ONCE: Final = 0.0
SOME_TIME: Final = -1.0
"""A wait whose length nobody has said."""
FIRST_WAIT: Final = 0.5
MOST_WAIT: Final = 8.0
_SYSTEM_CACHE: Final = {"type": "ephemeral"}
_STOPS: Final = {
    "max_tokens": ("reply-truncated", "the answer was cut off at {} tokens"),
    "model_context_window_exceeded": (
        "reply-truncated",
        "the answer was cut off where the model's context ends",
    ),
    "refusal": ("engine-refused", "the model declined to answer"),
}


class NoKeyError(EngiagentError):
    """There is no key in the environment."""


@dataclass
class AnthropicExchange:
    """A client of a server that speaks the Messages API."""

    base_url: str | None = None  # of the server; None for the SDK's own
    seconds: float = SECONDS  # the longest wait for a whole reply
    # further attempts after what may pass: no connection, no answer in time, 408, 409, 429, 5xx, a
    # stream that broke off
    retries: int = RETRIES
    # whether the server is asked to hold the answer to a schema; set to False by itself when it
    # says that it does not know how
    structured: bool = True
    _key: str = field(default="", repr=False)
    _client: "anthropic.Anthropic | None" = field(default=None, repr=False)

    def send(self, request: Request, seconds: float | None = None) -> Reply:
        """Return the model's reply."""
        until = math.inf if seconds is None else time.monotonic() + seconds
        tokens, retried = Tokens(), 0
        while True:
            reply, wait = self._attempt(request, until)
            tokens += reply.tokens
            retried += wait != AT_ONCE
            wait = None if wait is None or retried > self.retries else backoff(wait, retried)
            if wait is None or time.monotonic() + wait >= until:
                return Reply(self._bare(reply.text), tokens, self._bare(reply.model), reply.fault)
            time.sleep(wait)

    def _attempt(self, request: Request, until: float) -> tuple[Reply, float | None]:
        """Return the reply to one attempt, and how long to wait before another may help.

        The SDK's own retries are off, as they wait as long as a server says, beyond any budget.
        """
        import anthropic
        import httpx2

        told, limit = _Stream(), min(until, time.monotonic() + self.seconds)
        try:
            return self._asked(request, limit, told), None
        except anthropic.APIStatusError as error:
            if self._knows_no_schemas(error):
                self.structured = False
                return Reply(""), AT_ONCE
            return self._failed(told, _status(error)), wait_of(error.response)
        except (anthropic.APITimeoutError, TimeoutError):
            return self._failed(told, "the server did not answer in time"), SOME_TIME
        except (anthropic.AnthropicError, httpx2.HTTPError) as error:
            cause = error.__cause__ or error
            said = "the reply broke off" if told.begun else "no connection"
            return self._failed(told, f"{said}: {type(cause).__name__}: {cause}"), SOME_TIME
        except (ValueError, TypeError, AttributeError) as error:
            # A server that calls itself compatible may send what the SDK's types cannot hold.
            return self._failed(told, f"the reply is no message: {error}"), None

    def _asked(self, request: Request, limit: float, told: "_Stream") -> Reply:
        arguments = {**self._arguments(request), "timeout": self._timeout(limit)}
        if request.max_tokens <= STREAM_ABOVE:
            return _reply(self._open().messages.create(**arguments), request)
        return self._streamed(arguments, request, limit, told)

    def _knows_no_schemas(self, error: "anthropic.APIStatusError") -> bool:
        said = str(error.body or error)
        return self.structured and error.status_code in (400, 422) and "output_config" in said

    def _failed(self, told: "_Stream", said: str) -> Reply:
        fault = Fault("engine-unreachable", self._bare(said)[:500])
        return Reply(told.text, told.tokens, told.model, fault)

    def _timeout(self, limit: float) -> "httpx2.Timeout":
        import httpx2

        left = max(0.05, limit - time.monotonic())
        return httpx2.Timeout(left, connect=min(left, CONNECT_SECONDS))

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
        self, arguments: Mapping[str, Any], request: Request, limit: float, told: "_Stream"
    ) -> Reply:
        """Return the reply of a stream; what has come is in ``told`` when it breaks off."""
        import anthropic

        stream = self._open().messages.create(**arguments, stream=True)
        told.begun = True
        with stream:
            for event in stream:
                told.take(event)
                if time.monotonic() > limit:
                    raise TimeoutError
        if not told.ended:
            raise anthropic.AnthropicError("the stream ended before the message did")
        return told.reply(request)

    def _open(self) -> "anthropic.Anthropic":
        if self._client is None:
            import anthropic

            self._key = key()
            self._client = anthropic.Anthropic(
                api_key=self._key, base_url=self.base_url, max_retries=0
            )
        return self._client

    def _bare(self, text: str) -> str:
        """Return a text without the key; a placeholder such as ``x`` is a part of other words."""
        if len(self._key) < LEAST_KEY:
            return text
        return text.replace(self._key, "[key]")


@dataclass
class _Stream:
    """What has come of a stream so far."""

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
            self.tokens = replace(self.tokens, out=out)
        elif kind == "message_stop":
            self.ended = True

    def reply(self, request: Request) -> Reply:
        """Return what it comes to."""
        return Reply(self.text, self.tokens, self.model, _fault(self.stop, request))


def key() -> str:
    """Return the key."""
    found = os.environ.get(KEY, "").strip()
    if not found:
        local = "(a local server without keys takes any word)"
        raise NoKeyError(f"there is no key: set {KEY} in the environment {local}")
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
    inputs = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Tokens(*(_whole(getattr(usage, name, 0)) for name in (*inputs, "output_tokens")))


def _whole(value: Any) -> int:
    """Return a count as a server gave it; nothing for what is no count."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return max(0, int(value)) if number and math.isfinite(value) else 0


def _status(error: "anthropic.APIStatusError") -> str:
    said = error.api_message or "without a message"
    return f"the server answered {error.status_code}: {said}"


# --- how long to wait before a request is sent again, as the official SDK does it -----------------


def wait_of(response: Any) -> float | None:
    """Return how long a server asks to wait after an error; None where waiting does not help."""
    said = response.headers.get("x-should-retry")
    status = response.status_code
    passing = status in (408, 409, 429) or status >= 500
    if said == "false" or not (passing or said == "true"):
        return None
    asked = _wait_asked(response.headers)
    return SOME_TIME if asked is None else asked


def _wait_asked(headers: Any) -> float | None:
    """Return the seconds in ``retry-after-ms`` or ``retry-after``; None without any."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        value = _number(headers.get(name))
        if value is not None:
            return value / scale
    date = email.utils.parsedate_tz(headers.get("retry-after") or "")
    return None if date is None else max(0.001, email.utils.mktime_tz(date) - time.time())


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value > 0 else None


def backoff(wait: float, retried: int) -> float:
    """Return how long to wait, in seconds: as asked, or longer each time with some chance in it."""
    if wait != SOME_TIME:
        return wait
    longest: float = min(FIRST_WAIT * 2 ** (retried - 1), MOST_WAIT)
    return longest * (1.0 - 0.25 * random.random())
