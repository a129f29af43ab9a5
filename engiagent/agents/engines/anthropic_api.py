"""Exchanges by the Messages API, through the official SDK: the only module that imports it.

The key comes from ``ANTHROPIC_API_KEY`` and goes nowhere but into the SDK's request; wherever a
server sends it back, in a message or a reply, it is struck out before anybody sees it.
"""

import math
import os
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from engiagent.agents.engines.exchange import Reply, Request, Tokens
from engiagent.agents.protocol import Fault
from engiagent.errors import EngiagentError

if TYPE_CHECKING:
    import anthropic

KEY: Final = "ANTHROPIC_API_KEY"
LEAST_KEY: Final = 16
"""Characters from which on a word is taken for a key; servers without keys are given any word."""
SECONDS: Final = 600.0
CONNECT_SECONDS: Final = 10.0
RETRIES: Final = 3
FIRST_WAIT: Final = 0.5
"""Before the second attempt where the server asks for no other, doubled for each further. [s]"""
_PASSING: Final = (408, 409, 429)
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
        tokens, tried = Tokens(), 0
        while True:
            reply, wait = self._attempt(request, until)
            tokens += reply.tokens
            if reply.fault is None and wait == 0.0:
                continue  # asked again at once, without a schema
            if wait is not None:
                wait = max(wait, FIRST_WAIT * 2**tried)
            tried += 1
            if wait is None or tried > self.retries or time.monotonic() + wait >= until:
                return Reply(self._bare(reply.text), tokens, self._bare(reply.model), reply.fault)
            time.sleep(wait)

    def _attempt(self, request: Request, until: float) -> tuple[Reply, float | None]:
        """Return the reply to one attempt, and how long to wait before another may help.

        The SDK's own retries are off, as they wait as long as a server says, beyond any budget.
        """
        import anthropic
        import httpx2

        limit, message = min(until, time.monotonic() + self.seconds), None
        left = max(0.05, limit - time.monotonic())
        timeout = httpx2.Timeout(left, connect=min(left, CONNECT_SECONDS))
        wait: float | None = 0.0
        try:
            # A stream, since proxies cut a long wait without a byte.
            arguments = {**self._arguments(request), "timeout": timeout}
            with self._open().messages.stream(**arguments) as stream:
                for _ in stream:
                    message = stream.current_message_snapshot
                    if time.monotonic() > limit:
                        raise TimeoutError
            if message is not None and message.stop_reason is not None:
                return _reply(message, request), None
            said = "the reply broke off"
        except anthropic.APIStatusError as error:
            if self._knows_no_schemas(error):
                self.structured = False
                return Reply(""), 0.0
            said = f"the server answered {error.status_code}: {error.api_message or 'no message'}"
            wait = _wait_of(error)
        except (anthropic.APITimeoutError, TimeoutError):
            said = "the server did not answer in time"
        except (anthropic.AnthropicError, httpx2.HTTPError) as error:
            cause = error.__cause__ or error
            said = "no connection" if message is None else "the reply broke off"
            said = f"{said}: {type(cause).__name__}: {cause}"
        except (ValueError, TypeError, AttributeError, AssertionError) as error:
            # A server that calls itself compatible may send what the SDK's types cannot hold.
            said, wait = f"the reply is no message: {error}", None
        sofar = Reply("") if message is None else _reply(message, request)
        fault = Fault("engine-unreachable", self._bare(said)[:500])
        return Reply(sofar.text, sofar.tokens, sofar.model, fault), wait

    def _knows_no_schemas(self, error: "anthropic.APIStatusError") -> bool:
        said = str(error.body or error)
        return self.structured and error.status_code in (400, 422) and "output_config" in said

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
        return text if len(self._key) < LEAST_KEY else text.replace(self._key, "[key]")


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
    """Return what a message says so far."""
    texts = [b.text for b in message.content or () if getattr(b, "type", "") == "text"]
    kind, said = _STOPS.get(message.stop_reason, (None, ""))
    fault = None if kind is None else Fault(kind, said.format(request.max_tokens))
    inputs = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    counts = (getattr(message.usage, name, 0) for name in (*inputs, "output_tokens"))
    tokens = Tokens(*(max(0, int(count or 0)) for count in counts))
    return Reply("".join(texts), tokens, str(message.model), fault)


def _wait_of(error: "anthropic.APIStatusError") -> float | None:
    """Return how long a server asks to wait [s]; None where waiting does not help."""
    if error.status_code not in _PASSING and error.status_code < 500:
        return None
    try:
        asked = float(error.response.headers.get("retry-after") or 0.0)
    except ValueError:
        return 0.0
    return max(0.0, asked) if math.isfinite(asked) else 0.0
