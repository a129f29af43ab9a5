"""Exchanges over real HTTP with a scripted server: what a server can do, and what becomes of it."""

import json
import time
from pathlib import Path

import pytest

from engiagent.agents.engines.anthropic_api import AnthropicExchange, NoKeyError, key
from engiagent.agents.engines.exchange import Recorder, Request, Tokens, Turn, kept_exchanges
from engiagent.agents.engines.language_model import load, packaged
from engiagent.errors import InputError
from tests.agents.messages_server import Messages, Say, serving
from tests.agents.scripts import KEY

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setattr("engiagent.agents.engines.anthropic_api.FIRST_WAIT", 0.01)


def request(max_tokens: int = 1000, boundary: str = "") -> Request:
    return Request(
        label="test",
        model="claude-haiku-5-5",
        effort="low",
        max_tokens=max_tokens,
        system=("stable", "card"),
        turns=(Turn("user", f"question {boundary}"),),
        schema=SCHEMA,
        boundary=boundary,
    )


def exchange(server: Messages, seconds: float = 5.0) -> AnthropicExchange:
    return AnthropicExchange(server.url, seconds, retries=2)


def test_a_reply_comes_back_with_its_tokens() -> None:
    with serving(lambda r, n: Say('{"a": "x"}', cached=3)) as server:
        reply = exchange(server).send(request())
    asked = server.requests[0]
    assert (reply.text, reply.fault) == ('{"a": "x"}', None)
    assert reply.model == "claude-haiku-5-5"
    assert reply.tokens.cached == 3
    assert reply.tokens.fresh + reply.tokens.cached == server.prompt_tokens[0]
    assert asked["stream"]
    assert asked["output_config"] == {
        "effort": "low",
        "format": {"type": "json_schema", "schema": SCHEMA},
    }
    assert asked["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert "temperature" not in asked
    assert KEY in " ".join(server.headers[0].values())


@pytest.mark.parametrize(
    ("stop", "kind"),
    [
        ("max_tokens", "reply-truncated"),
        ("refusal", "engine-refused"),
        ("model_context_window_exceeded", "reply-truncated"),
    ],
)
def test_a_reply_that_did_not_end_by_itself_is_a_fault(stop: str, kind: str) -> None:
    with serving(lambda r, n: Say('{"a": "x', stop=stop)) as server:
        reply = exchange(server).send(request())
    assert reply.fault is not None
    assert reply.fault.kind == kind
    assert reply.text == '{"a": "x'
    assert reply.tokens.fresh > 0


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
def test_what_may_pass_is_tried_again(status: int) -> None:
    def script(_: object, number: int) -> Say:
        return Say(status=status, error="busy") if number < 2 else Say("{}")

    with serving(script) as server:
        reply = exchange(server).send(request())
    assert reply.fault is None
    assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_what_will_not_pass_is_not_tried_again(status: int) -> None:
    with serving(lambda r, n: Say(status=status, error="no such thing")) as server:
        reply = exchange(server).send(request())
    assert reply.fault is not None
    assert reply.fault.kind == "engine-unreachable"
    assert f"{status}: no such thing" in reply.fault.message
    assert len(server.requests) == 1


def test_a_server_is_given_the_time_that_it_asks_for() -> None:
    def script(_: object, number: int) -> Say:
        wait = (("retry-after", "0.4"),)
        return Say(status=429, headers=wait, error="slow down") if number == 0 else Say("{}")

    begun = time.monotonic()
    with serving(script) as server:
        assert exchange(server).send(request()).fault is None
    assert time.monotonic() - begun >= 0.4


def test_a_wait_beyond_the_budget_is_not_begun() -> None:
    wait = (("retry-after", "3600"),)
    begun = time.monotonic()
    with serving(lambda r, n: Say(status=429, headers=wait, error="slow down")) as server:
        reply = exchange(server).send(request(), seconds=5.0)
    assert reply.fault is not None
    assert "429" in reply.fault.message
    assert time.monotonic() - begun < 2.0
    assert len(server.requests) == 1


def test_a_dropped_stream_is_tried_again_and_its_tokens_count() -> None:
    def script(_: object, number: int) -> Say:
        return Say('{"a": "xyz"}', broken_after=4 if number == 0 else None)

    with serving(script) as server:
        reply = exchange(server).send(request())
    assert (reply.text, reply.fault) == ('{"a": "xyz"}', None)
    assert len(server.requests) == 2
    assert reply.tokens.fresh == sum(server.prompt_tokens)


def test_a_server_that_does_not_answer_is_not_waited_for() -> None:
    begun = time.monotonic()
    with serving(lambda r, n: Say("{}", seconds=1.0)) as server:
        reply = exchange(server).send(request(), seconds=0.2)
        took = time.monotonic() - begun
    assert reply.fault is not None
    assert "in time" in reply.fault.message
    assert took < 0.9


@pytest.mark.parametrize("raw", [b"no json", b"[]", b"{}", b'{"type": "message"}', b"null"])
def test_a_reply_that_is_no_message_is_a_fault(raw: bytes) -> None:
    with serving(lambda r, n: Say(raw=raw)) as server:
        reply = exchange(server).send(request())
    assert reply.fault is not None or reply.text == ""


def test_a_server_that_knows_no_schemas_is_asked_without_one() -> None:
    def script(asked: dict[str, object], _: int) -> Say:
        if "output_config" in asked:
            return Say(status=400, error="output_config: Extra inputs are not permitted")
        return Say('{"a": "x"}')

    with serving(script) as server:
        client = exchange(server)
        assert client.send(request()).text == '{"a": "x"}'
        assert client.send(request()).text == '{"a": "x"}'
    assert ["output_config" in r for r in server.requests] == [True, False, False]


def test_a_key_that_a_server_sends_back_is_struck_out() -> None:
    with serving(lambda r, n: Say(status=401, error=f"invalid key {KEY}")) as server:
        reply = exchange(server).send(request())
    assert KEY not in json.dumps(reply.to_dict())
    with serving(lambda r, n: Say(f"your key is {KEY}")) as server:
        reply = exchange(server).send(request())
    assert reply.text == "your key is [key]"
    assert KEY not in repr(exchange(server))


def test_a_placeholder_for_a_key_is_struck_out_of_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    with serving(lambda r, n: Say("the maximum exceeds x")) as server:
        assert exchange(server).send(request()).text == "the maximum exceeds x"


@pytest.mark.parametrize("bad", ["", "  ", "two words", "schlüssel", "line\nbreak"])
def test_without_a_key_it_says_where_one_belongs(bad: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", bad)
    with pytest.raises(NoKeyError, match="ANTHROPIC_API_KEY"):
        key()


def test_an_exchange_is_answered_again_from_disk(tmp_path: Path) -> None:
    with serving(lambda r, n: Say('{"a": "x"}')) as server:
        first = Recorder(exchange(server), tmp_path / "exchanges")
        said = first.send(request(boundary="data-1111"))
    again = Recorder(None, tmp_path / "other", kept_exchanges(tmp_path))
    # Another boundary and another limit are no other question.
    assert again.send(request(2000, boundary="data-2222")) == said
    missing = again.send(request())
    assert missing.fault is not None
    assert missing.fault.kind == "engine-unreachable"
    document = json.loads((tmp_path / "exchanges/0001.json").read_text())
    assert document["request"]["model"] == "claude-haiku-5-5"
    assert KEY not in (tmp_path / "exchanges/0001.json").read_text()


def test_a_failure_that_may_pass_is_not_kept_as_an_answer(tmp_path: Path) -> None:
    with serving(lambda r, n: Say(status=404, error="gone")) as server:
        Recorder(exchange(server), tmp_path / "exchanges").send(request())
    assert len(list((tmp_path / "exchanges").iterdir())) == 1
    assert kept_exchanges(tmp_path) == []


def test_what_is_no_exchange_is_said_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "exchanges").mkdir()
    for text in ("", "{}", '{"schema": "engiagent-exchange/1"}', '{"schema": 1, "schema": 2}'):
        (tmp_path / "exchanges/0001.json").write_text(text)
        with pytest.raises(InputError, match=r"0001\.json"):
            kept_exchanges(tmp_path)


def test_a_call_costs_what_its_tokens_cost() -> None:
    prices = packaged()
    # 1 million each of fresh input, cached input, newly kept input and output.
    whole = Tokens(1_000_000, 1_000_000, 1_000_000, 1_000_000)
    assert prices.cost("claude-opus-5-5", whole) == pytest.approx(4.0 + 0.20 + 5.0 + 20.0)
    short, long = Tokens(fresh=100_000, out=1000), Tokens(fresh=100_001, out=1000)
    assert prices.cost("claude-haiku-5-5", short) == pytest.approx(0.01 + 0.0005)
    assert prices.cost("claude-haiku-5-5", long) == pytest.approx(0.0500005 + 0.0025)
    assert prices.cost("llama", whole) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "models: 1",
        "date: soon\nmodels: {}",
        "date: 2026-01-01\nmodels: {m: {input: 1}}",
        "date: 2026-01-01\nmodels: {m: {input: .nan, output: 1, cache_read: 1, cache_write: 1}}",
        "date: 2026-01-01\nmodels: {m: {input: -1, output: 1, cache_read: 1, cache_write: 1}}",
        "{",
    ],
)
def test_prices_that_are_none_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(InputError, match=r"prices\.yaml"):
        load(tmp_path / "prices.yaml")
