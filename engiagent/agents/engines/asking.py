"""Whom a run asks: the settings of the engine that asks a language model, and what it would ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from engiagent.agents.engines.anthropic_api import RETRIES, SECONDS, AnthropicExchange, key
from engiagent.agents.engines.exchange import (
    FOLDER,
    Exchange,
    Recorder,
    Request,
    Tokens,
    kept_exchanges,
)
from engiagent.agents.engines.language_model import LanguageModel, Prices, load, packaged
from engiagent.agents.engines.prompting import Prompting
from engiagent.agents.protocol import Board, Budget, Fault, Question
from engiagent.agents.retrieval import exemplars
from engiagent.errors import EngiagentError, InputError
from engiagent.solvers.result import SolveOptions
from engiagent.text import Problem, corpus_root

EXEMPLAR_TOKENS: Final = 1500
"""Of all exemplars together: more than one or two teach little and cost as much as the language."""


@dataclass(frozen=True)
class Asking:
    """Which model is asked, where, and what stands in for it."""

    model: str | None = None  # for every agent, whatever the cards say; None for the cards' own
    base_url: str | None = None  # of a server that speaks the Messages API; None for the provider's
    prices: Path | None = None
    replay: Path | None = None  # a run whose exchanges answer; nobody else is asked then
    seconds: float = SECONDS
    retries: int = RETRIES
    # exemplars, corpus: how many solved problems to show at most, and where they come from
    exemplars: int = 0
    corpus: Path | None = None

    def ready(self) -> None:
        """Make sure that there is somebody to ask."""
        self.known_prices()
        if self.replay is not None:
            if not kept_exchanges(self.replay):
                raise InputError("the run kept no exchanges", str(self.replay))
            return
        key()
        if find_spec("anthropic") is None:
            raise EngiagentError(
                "the engine anthropic needs the official SDK: pip install 'engiagent[llm]'"
            )
        if self.base_url is not None:
            _address(self.base_url)

    def known_prices(self) -> Prices:
        """Return the prices that costs are reckoned by."""
        return packaged() if self.prices is None else load(self.prices)

    def engine(
        self, run: Path, budget: Budget, problem: Problem | None = None, *, resumed: bool = False
    ) -> LanguageModel:
        """Return the engine of a run, which keeps its exchanges in the run's folder."""
        source = run if resumed else self.replay
        kept = [] if source is None else kept_exchanges(source)
        asked = None if self.replay is not None else self._exchange()
        recorder = Recorder(asked, run / FOLDER, kept, copies=not resumed)
        prompting = Prompting(self.model, self.shown(problem))
        return LanguageModel(recorder, self.known_prices(), prompting, budget)

    def shown(self, problem: Problem | None) -> tuple[str, ...]:
        """Return the solved problems to show beside a problem, as text."""
        if problem is None or self.exemplars == 0:
            return ()
        root = self.corpus or corpus_root()
        return exemplars(problem, root, most=self.exemplars, most_tokens=EXEMPLAR_TOKENS)

    def silent(self, budget: Budget, problem: Problem | None = None) -> LanguageModel:
        """Return an engine that makes requests and sends none, with no folder to keep them in."""
        prompting = Prompting(self.model, self.shown(problem))
        return LanguageModel(Recorder(None, Path()), self.known_prices(), prompting, budget)

    def _exchange(self) -> Exchange:
        return AnthropicExchange(self.base_url, self.seconds, self.retries)

    def asked(self) -> dict[str, Any]:
        """Return what a run's record says of it; an address without what may be a password."""
        return {
            "model": self.model,
            "base_url": None if self.base_url is None else _bare(self.base_url),
            "prices": None if self.prices is None else str(self.prices),
            "replay": None if self.replay is None else str(self.replay),
            "exemplars": self.exemplars,
        }

    @classmethod
    def of_record(cls, asked: Mapping[str, Any]) -> "Asking":
        """Return the settings that a run's record says."""
        prices, replay = asked.get("prices"), asked.get("replay")
        return cls(
            asked.get("model"),
            asked.get("base_url"),
            None if prices is None else Path(prices),
            None if replay is None else Path(replay),
            exemplars=int(asked.get("exemplars") or 0),
        )


def _address(url: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    said, found, expected = "is no address", url, "as http://localhost:11434"
    if good and (parts.username or parts.password or parts.query):
        said, found = "must carry no user, password or query", _bare(url)
        good, expected = False, "the key in ANTHROPIC_API_KEY"
    if not good:
        raise InputError(f"--base-url {said}", found=repr(found), expected=expected)


def _bare(url: str) -> str:
    """Return an address without user, password and query."""
    parts = urlsplit(url)
    host = parts.netloc.rsplit("@", 1)[-1]
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


@dataclass(frozen=True)
class Rehearsed:
    """A request that was not sent, and about how many tokens would go in, the schema included.

    ``cost`` is of those, ``most`` with the longest reply there may be, in USD, None without a
    price; ``refused`` says why the budget would not let it go out.
    """

    request: Request
    tokens: int
    cost: float | None
    most: float | None
    refused: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        rest = {k: v for k, v in vars(self).items() if k != "request"}
        return {**self.request.to_dict(), **rest}


def rehearsed(
    problem: Problem, asking: Asking, budget: Budget, overrides: Mapping[str, str]
) -> tuple[Rehearsed, ...]:
    """Return the request that does not hang on an answer: the first reading of the text."""
    place: dict[str, Any] = {"problem": problem, "data": Path(problem.folder), "name": problem.id}
    board = Board(**place, options=SolveOptions(), overrides=overrides)
    engine = asking.silent(budget, problem)
    read = Question("analyzer", "analyse", board, {})
    request = engine.prompting.request(read)
    limited = engine.limited(request)
    tokens, cost = request.estimated_tokens, engine.prices.cost
    longest = request.max_tokens if isinstance(limited, Fault) else limited.max_tokens
    now = cost(request.model, Tokens(fresh=tokens))
    most = cost(request.model, Tokens(fresh=tokens, out=longest))
    refused = limited.message if isinstance(limited, Fault) else ""
    return (Rehearsed(request, tokens, now, most, refused),)
