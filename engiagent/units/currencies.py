"""Money as people write it: symbols and names of currencies, and what a bare sign means in a text.

A dollar is Canadian in a text whose only currency is the Canadian dollar, and ``¥`` is the yuan
where a text speaks of that; cents are those of the one currency that a text names, and euro cents
(``¢`` US cents) where it names none. The dollars around mathematics are no currency.
"""

import re
from functools import lru_cache
from typing import Final

from engiagent.units.unit import CURRENCIES, Unit, parse_unit
from engiagent.units.wordlists import spelt

MATH: Final = re.compile(
    r"\$\$?(?:(?=[^$\n]*\\[A-Za-z])|(?=[^$\n]*[\\=_^])(?![\d.,]+\s)|(?=[A-Za-z]{1,3}(?:\s?[-+<>]\s?\w{1,3})?\$|[-+]?[\d.,]+\$(?!\d)))"
    r"([^$\n]{1,300})\$\$?"
)
"""Mathematics between dollars, in TeX or a plain name."""
_FORMULA_END: Final = re.compile(r"(?<=\d)\$(?=\s+(?!(?:per|an?|each|every)\b)[A-Za-z%°])")
SYMBOLS: Final = spelt("units", "currency symbols")
"""Signs that mean one currency wherever they stand."""
WORDS: Final = spelt("units", "currency words")
_DOLLARS: Final = frozenset(["USD", "CAD", "AUD", "NZD", "HKD", "SGD"])
_WORD: Final = re.compile(
    "|".join(rf"\b{word.replace(' ', chr(92) + 's+').removesuffix('s')}s?\b" for word in WORDS),
    re.IGNORECASE,
)
_SIGN: Final = re.compile(r"(?<![A-Za-z])(?:" + "|".join(map(re.escape, SYMBOLS)) + ")")
_CODE: Final = re.compile(rf"(?<![A-Za-z])(?:k|M|ct_)?({'|'.join(CURRENCIES)})(?![A-Za-z])")
_CENTS: Final = re.compile(r"(?<![\w_])(?:ct|cts|cents?|¢)(?![\w_])|(?<=\d)¢|¢(?=\d)")
_NAMES: Final = "|".join(
    [*map(re.escape, [*CURRENCIES, *SYMBOLS]), *(word.removesuffix("s") for word in WORDS)]
)
_OWN_CENTS: Final = re.compile(
    rf"(?<![A-Za-z])(?:({_NAMES})[\s-]*(?:cts?|cents?)|c({'|'.join(map(re.escape, SYMBOLS))}))"
    r"(?![A-Za-z])",
    re.IGNORECASE,
)
"""Cents with their currency: ``€-ct``, ``euro cents``, ``c€``."""
_PENCE: Final = re.compile(r"\b(?:pence|penny)\b|(?<=\d)\s?p(?![A-Za-z])")
_RAPPEN: Final = re.compile(r"\bRappen\b|(?<=\d)\s?Rp\b\.?|\bRp\.?(?=\s?/)")
_BARE_DOLLAR: Final = re.compile(r"(?<![A-Za-z])\$(?!\s*\\)|\bdollars?\b", re.IGNORECASE)


@lru_cache(maxsize=256)
def named_currencies(text: str) -> frozenset[str]:
    """Return the currencies that a text names by code, by sign or in words.

    A bare ``$`` or ``¥`` names none while another dollar, or the yuan, is named.

    >>> sorted(named_currencies("30 CAD a day, then $2 each")), sorted(named_currencies("$2, €3"))
    (['CAD'], ['EUR', 'USD'])
    """
    text = MATH.sub(r" \1 ", text)
    found = {match[1] for match in _CODE.finditer(text)}
    found |= {SYMBOLS[match[0]] for match in _SIGN.finditer(text)}
    found |= {_of_word(match[0]) for match in _WORD.finditer(text)}
    if "pence" in text:
        found.add("GBP")
    if _RAPPEN.search(text):
        found.add("CHF")
    if not found & _DOLLARS and _BARE_DOLLAR.search(_SIGN.sub("", text)):
        found.add("USD")
    if "¥" in text and not found & {"CNY", "JPY"}:
        found.add("JPY")
    if not found and _CENTS.search(text):
        found.add("USD" if "¢" in text else "EUR")
    return frozenset(found)


def dollar_of(text: str) -> str:
    """Return which dollar a bare ``$`` is: the one that the text names, else the US dollar."""
    named = named_currencies(text) & _DOLLARS
    return next(iter(named)) if len(named) == 1 else "USD"


def yen_or_yuan(text: str) -> str:
    """Return what ``¥`` is: the yuan in a text that names it and no yen."""
    return "CNY" if named_currencies(text) & {"CNY", "JPY"} == {"CNY"} else "JPY"


def only_currency(text: str) -> str | None:
    """Return the currency that a text names; None for none or several."""
    found = named_currencies(text)
    return next(iter(found)) if len(found) == 1 else None


def with_codes(words: str, text: str) -> str:
    """Return some words of a text with the ISO code of every currency, and its cents by name.

    >>> with_codes("$0.12/kWh and 5 cents", "Prices are in CAD: $0.12/kWh and 5 cents")
    'CAD 0.12/kWh and 5 ct_CAD'
    """
    words = MATH.sub(r"\1", words)
    if MATH.search(text):  # of "$P \\le 3$ MW" somebody may quote the end
        words = _FORMULA_END.sub("", words)
    words = _OWN_CENTS.sub(lambda match: f" ct_{_code(match[1] or match[2])}", words)
    words = _WORD.sub(lambda match: _of_word(match[0]), words)
    words = _SIGN.sub(lambda match: SYMBOLS[match[0]] + _gap(words, match.end()), words)
    words = re.sub(r"\$(?=\s*\d)", f"{dollar_of(text)} ", words)
    words = re.sub(r"(?<![A-Za-z])\$(?=/)|\bdollars?\b", dollar_of(text), words)
    words = re.sub(r"¥(?=\s*\d)", f"{yen_or_yuan(text)} ", words).replace("¥", yen_or_yuan(text))
    words = _RAPPEN.sub(" ct_CHF", words)
    currency = only_currency(text)
    if currency == "GBP":
        words = _PENCE.sub(" ct_GBP", words)
    return words if currency is None else _CENTS.sub(f" ct_{currency}", words).replace("  ", " ")


def unit_of_column(text: str, wanted: Unit) -> Unit:
    """Return the unit in a column's header; cents or a sign alone are of the wanted currency.

    >>> str(unit_of_column("ct/kWh", parse_unit("EUR/MWh")))
    'ct_EUR/kWh'
    """
    return parse_unit(with_codes(text, str(wanted)).strip())


def _code(name: str) -> str:
    """Return the code of a currency by its code, its sign or a word for it."""
    return name.upper() if name.upper() in CURRENCIES else SYMBOLS.get(name) or _of_word(name)


def _of_word(word: str) -> str:
    plain = " ".join(word.lower().split())
    return WORDS.get(plain) or WORDS.get(f"{plain}s") or WORDS[plain.removesuffix("s")]


def _gap(words: str, place: int) -> str:
    return " " if words[place : place + 1].isdigit() else ""
