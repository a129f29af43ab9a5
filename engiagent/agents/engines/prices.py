"""What tokens cost, by a file with a date that anybody can replace."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Final

from engiagent.agents.engines.exchange import Tokens
from engiagent.errors import InputError
from engiagent.io.files import packaged_yaml

FILE: Final = "prices.yaml"
_RATES: Final = ("input", "output", "cache_read", "cache_write")
_MILLION: Final = 1_000_000


@dataclass(frozen=True)
class Rate:
    """USD for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def cost(self, tokens: Tokens) -> float:
        """Return what some tokens cost, in USD."""
        return (
            tokens.fresh * self.input
            + tokens.cached * self.cache_read
            + tokens.kept * self.cache_write
            + tokens.out * self.output
        ) / _MILLION


@dataclass(frozen=True)
class Price:
    """Of one model; from ``above`` tokens of a prompt on ``long`` holds for all of the call."""

    rate: Rate
    above: int | None = None
    long: Rate | None = None

    def of(self, tokens: Tokens) -> Rate:
        """Return the rate of a call."""
        prompt = tokens.fresh + tokens.cached + tokens.kept
        if self.long is not None and self.above is not None and prompt > self.above:
            return self.long
        return self.rate


@dataclass(frozen=True)
class Prices:
    """Prices by the name of a model, and the day on which they were looked up."""

    dated: date
    models: Mapping[str, Price]

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
    if not isinstance(document, Mapping) or not isinstance(document.get("models"), Mapping):
        raise InputError("these are no prices", file, expected="date and models")
    dated = document.get("date")
    if not isinstance(dated, date):
        raise InputError("the date is no day", file, found=repr(dated), expected="as 2026-10-24")
    models = {
        str(name): _price(entry, str(name), file) for name, entry in document["models"].items()
    }
    return Prices(dated, models)


def _price(entry: Any, name: str, file: str) -> Price:
    if not isinstance(entry, Mapping):
        raise InputError(f"{name}: no price", file, expected=", ".join(_RATES))
    long = entry.get("long_prompts")
    if long is None:
        return Price(_rate(entry, name, file))
    above = long.get("above") if isinstance(long, Mapping) else None
    if isinstance(above, bool) or not isinstance(above, int) or above <= 0:
        raise InputError(f"{name}: long_prompts: 'above' is no number of tokens", file)
    return Price(_rate(entry, name, file), above, _rate(long, name, file))


def _rate(entry: Mapping[str, Any], name: str, file: str) -> Rate:
    for field in _RATES:
        value = entry.get(field)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e6:
            said, expected = f"{name}: '{field}' is no price", "USD for a million tokens"
            raise InputError(said, file, found=repr(value), expected=expected)
    return Rate(**{field: float(entry[field]) for field in _RATES})
