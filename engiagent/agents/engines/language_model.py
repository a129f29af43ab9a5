"""The engine that asks a language model: question, prompt, exchange, JSON, answer, and its price.

It knows nothing of servers. Whatever comes back is held against the question's schema; a reply that
does not fit is shown what does not and asked for once more. A budget is kept before money is spent:
a reply may be as long as what is left pays for, by a file of prices with a date that anybody can
replace.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

from engiagent.agents.engines.exchange import Exchange, Reply, Request, Tokens, Turn
from engiagent.agents.engines.prompting import Prompting
from engiagent.agents.engines.wire import WireError, read_reply, said_form
from engiagent.agents.protocol import NOTHING, Answer, Budget, Fault, Question, Usage, misfit
from engiagent.errors import InputError
from engiagent.io.files import packaged_yaml

FILE: Final = "prices.yaml"
_RATES: Final = ("input", "output", "cache_read", "cache_write")
_MILLION: Final = 1_000_000


@dataclass(frozen=True)
class Rate:
    """USD for a million tokens; for prompts of more than ``above`` tokens ``long`` holds."""

    input: float
    output: float
    cache_read: float
    cache_write: float
    above: int | None = None
    long: "Rate | None" = None

    def of(self, tokens: Tokens) -> "Rate":
        """Return the rate of a call."""
        prompt = tokens.fresh + tokens.cached + tokens.kept
        return self if self.long is None or prompt <= (self.above or 0) else self.long

    def cost(self, tokens: Tokens) -> float:
        """Return what some tokens cost, in USD."""
        read = tokens.fresh * self.input + tokens.cached * self.cache_read
        return (read + tokens.kept * self.cache_write + tokens.out * self.output) / _MILLION


@dataclass(frozen=True)
class Prices:
    """Prices by the name of a model, and the day on which they were looked up."""

    dated: date
    models: Mapping[str, Rate]

    def cost(self, model: str, tokens: Tokens) -> float | None:
        """Return what a call cost in USD, None for a model without a price."""
        price = self.models.get(model)
        return None if price is None else price.of(tokens).cost(tokens)


@cache
def packaged() -> Prices:
    """Return the prices that come with the package."""
    return _prices(packaged_yaml("engiagent.agents", FILE), FILE)


def load(path: Path | str) -> Prices:
    """Return the prices of a file."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        document = YAML(typ="safe", pure=True).load(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InputError(f"the prices cannot be read: {error}", str(path)) from None
    return _prices(document, str(path))


def _prices(document: Any, file: str) -> Prices:
    models = document.get("models") if isinstance(document, Mapping) else None
    if not isinstance(models, Mapping) or not isinstance(document.get("date"), date):
        raise InputError("these are no prices", file, expected="a date, as 2026-10-24, and models")
    return Prices(document["date"], {str(k): _price(v, str(k), file) for k, v in models.items()})


def _price(entry: Any, name: str, file: str) -> Rate:
    rate = _rate(entry, name, file)
    long = entry.get("long_prompts")
    if long is None:
        return rate
    longer, above = _rate(long, f"{name}, long_prompts", file), long.get("above")
    if isinstance(above, bool) or not isinstance(above, int) or above <= 0:
        raise InputError(f"{name}: long_prompts: 'above' is no number of tokens", file)
    return replace(rate, above=above, long=longer)


def _rate(entry: Any, name: str, file: str) -> Rate:
    given = entry if isinstance(entry, Mapping) else {}
    values = [given.get(field) for field in _RATES]
    known = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(known) < len(values) or not all(0 <= v < 1e6 for v in known):
        expected = f"{', '.join(_RATES)}: USD for a million tokens"
        raise InputError(f"{name}: no price", file, found=repr(entry), expected=expected)
    fresh, out, read, write = map(float, known)
    return Rate(fresh, out, read, write)


LEAST_REPLY: Final = 400
"""Tokens without which no reply can be whole, so that none is asked for."""
CAUTION: Final = 1.3
"""By how much a prompt may have more tokens than it was estimated to have."""
MOST_SHOWN: Final = 20_000
"""Letters of a reply that are shown to the model again."""

Read = Callable[[Reply], Any]


@dataclass
class LanguageModel:
    """Answers every kind of question in the words of a model, within the run's budget."""

    exchange: Exchange
    prices: Prices
    prompting: Prompting = field(default_factory=Prompting)
    budget: Budget = field(default_factory=Budget)
    clock: Callable[[], float] = time.monotonic
    name: str = "anthropic"
    judges: bool = True
    usage: Usage = NOTHING
    _begun: float = field(init=False)
    _last: str = field(default="", init=False, repr=False)

    def __post_init__(self) -> None:
        self._begun = self.clock()

    def ask(self, question: Question) -> Answer:
        """Return what the model answers, or why there is no answer."""
        return self.answer(self.prompting.request(question), partial(_value, question=question))

    def answer(self, request: Request, read: Read) -> Answer:
        """Return what ``read`` makes of the reply; one that does not fit is asked for once more."""
        said, usage = self._asked(request, read)
        if isinstance(said, Fault) and said.kind == "reply-malformed":
            again = self._again(request, said)
            said, more = self._asked(again, read)
            usage += more
        value, fault = (None, said) if isinstance(said, Fault) else (said, None)
        return Answer(value, usage, fault)

    def _asked(self, request: Request, read: Read) -> tuple[Any, Usage]:
        """Return the value of one exchange, or its fault, and what it took."""
        begun = self.clock()
        limited = self.limited(request)
        if isinstance(limited, Fault):
            return limited, NOTHING
        reply = self.exchange.send(limited, self._seconds())
        self._last = reply.text
        usage = self._usage(request.model, reply.tokens, self.clock() - begun)
        self.usage += usage
        return read(reply), usage

    def _usage(self, model: str, tokens: Tokens, seconds: float) -> Usage:
        return Usage(
            calls=1,
            input_tokens=tokens.fresh + tokens.cached + tokens.kept,
            cached_tokens=tokens.cached,
            output_tokens=tokens.out,
            cost=self.prices.cost(model, tokens),
            seconds=seconds,
        )

    def _again(self, request: Request, fault: Fault) -> Request:
        """Return the request with the reply that did not fit and what is wrong with it."""
        place = f" at {fault.place}" if fault.place else ""
        said = (
            f"This does not fit{place}: {fault.message}\nAnswer again, with one JSON object and "
            f"nothing else, by this JSON Schema:\n{said_form(request.schema)}"
        )
        shown = self._last[:MOST_SHOWN].strip() or "(nothing)"
        turns = (*request.turns, Turn("assistant", shown), Turn("user", said))
        return replace(request, turns=turns, label=f"{request.label}, again")

    # --- budgets -------------------------------------------------------------------------------

    def limited(self, request: Request) -> Request | Fault:
        """Return a request that what is left of the budget pays for, or why there is none."""
        seconds = self._seconds()
        if seconds is not None and seconds <= 0:
            return _spent(f"{self.budget.minutes:g} minutes")
        most = request.max_tokens
        prompt = round(request.estimated_tokens * CAUTION)
        if self.budget.tokens is not None:
            used = self.usage.input_tokens + self.usage.output_tokens
            most = min(most, self.budget.tokens - used - prompt)
            if most < LEAST_REPLY:
                return _spent(f"{used} of {self.budget.tokens} tokens")
        if self.budget.cost is not None:
            paid = self._paid_for(request.model, prompt)
            if isinstance(paid, Fault):
                return paid
            most = min(most, paid)
            if most < LEAST_REPLY:
                return _spent(f"{self.usage.cost:.4f} of {self.budget.cost:g} USD")
        return replace(request, max_tokens=most)

    def _paid_for(self, model: str, prompt: int) -> int | Fault:
        """Return how many tokens of a reply the rest of the money pays for."""
        assert self.budget.cost is not None
        price = self.prices.models.get(model)
        if price is None or self.usage.cost is None:
            said = f"there is no price for {model}, so that no cost can be kept; give --prices"
            return Fault("budget-spent", said)
        tokens = Tokens(kept=prompt)
        rate = price.of(tokens)
        left = self.budget.cost - self.usage.cost - rate.cost(tokens)
        return int(left / rate.output * 1_000_000) if rate.output > 0 else 1_000_000

    def _seconds(self) -> float | None:
        """Return how long there is left, None for as long as it takes."""
        if self.budget.minutes is None:
            return None
        return self.budget.minutes * 60.0 - (self.clock() - self._begun)


def _spent(what: str) -> Fault:
    return Fault("budget-spent", f"{what} are used up, or the rest pays for no answer")


def _value(reply: Reply, question: Question) -> Any:
    """Return the answer that a reply is, or the fault that it has."""
    if reply.fault is not None:
        return reply.fault
    try:
        value = read_reply(question.kind, reply.text, question.board.problem)
    except WireError as error:
        return Fault("reply-malformed", str(error)[:500])
    return misfit(value, question.schema) or value
