"""The checker's own small reader of numbers in a text: ``8 MW``, ``1,200 kWh``, ``half``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engiagent.blueprint.units import CURRENCIES, Dimension, Unit, UnitError, parse_unit

_SPACES = "\u00a0\u2009\u202f "
_NUMBER = re.compile(
    rf"(?<![\w.,])([+\-\u2212\u2013]?)((?:\d{{1,3}}(?:[,'{_SPACES}]\d{{3}})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    rf"(?![\d])"
)
_CLOCK = re.compile(r"(?<!\d)([01]?\d|2[0-4]):([0-5]\d)(?!\d)")
_HALF_DAY = re.compile(
    r"(?<![\d.:])(0?[1-9]|1[0-2])(?::([0-5]\d))?\s?([ap])(?:\.\s?m\.|m)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_WORDS = {
    "zero": 0.0, "empty": 0.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0,
    "five": 5.0, "six": 6.0, "seven": 7.0, "eight": 8.0, "nine": 9.0, "ten": 10.0, "eleven": 11.0,
    "twelve": 12.0, "twenty": 20.0, "thirty": 30.0, "hundred": 100.0, "half": 0.5,
    "quarter": 0.25, "third": 1.0 / 3.0, "full": 1.0, "twice": 2.0, "double": 2.0,
}  # fmt: skip
_WORD = re.compile(r"\b(" + "|".join(_WORDS) + r")\b", re.IGNORECASE)
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"} | {c: c for c in CURRENCIES}
_BEFORE = re.compile("(" + "|".join(re.escape(s) for s in _SIGNS) + r")\s*$")
_EACH = re.compile(r"\s+(?:for|per|in)\s+(?:every|each)\s+|\s+(?:an?|each|every)\s+(?=[A-Za-z]+\b)")
_UNIT_RUN = re.compile(r"[A-Za-z%€$£¥°℃℉²³0-9/*·⋅^().\-_]+")
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}


@dataclass(frozen=True)
class Figure:
    """A number of a text with the unit beside it, if there is one."""

    value: float
    unit: Unit | None


def figures(text: str) -> Iterator[Figure]:
    """Yield every number in a piece of text, in the order of writing.

    Examples
    --------
    >>> [(f.value, str(f.unit)) for f in figures("at most 1,200 kWh, 96 % and EUR 5 per MWh")]
    [(1200.0, 'kWh'), (96.0, '%'), (5.0, 'EUR/MWh')]
    """
    plain = _EACH.sub("/", " ".join(text.split()))
    clocks = []
    for match in _HALF_DAY.finditer(plain):
        clocks.append(match.span())
        hours = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
        yield Figure(hours + int(match[2] or 0) / 60.0, parse_unit("h"))
    for match in _CLOCK.finditer(plain):
        if any(start <= match.start() < stop for start, stop in clocks):
            continue
        clocks.append(match.span())
        yield Figure(int(match[1]) + int(match[2]) / 60.0, parse_unit("h"))
    for match in _NUMBER.finditer(plain):
        if any(start <= match.start(2) < stop for start, stop in clocks):
            continue
        yield _figure(plain, match)
    for match in _WORD.finditer(plain):
        yield Figure(_WORDS[match[1].lower()], unit_after(plain[match.end() :]))


def _figure(text: str, match: re.Match[str]) -> Figure:
    digits = re.sub(rf"[,'{_SPACES}]", "", match[2])
    value = float(digits) * (-1.0 if match[1] in ("-", "\u2212") else 1.0)
    rest = text[match.end() :]
    scale = re.match(r"\s*(thousand|million|billion)\b", rest)
    if scale:
        value *= _SCALES[scale[1]]
        rest = rest[scale.end() :]
    before = _BEFORE.search(text[: match.start()])
    if before is None:
        return Figure(value, unit_after(rest))
    currency = _SIGNS[before[1]]
    below = re.match(r"\s*(?:/|per\s)\s*(\S+)", rest)
    joined = f"{currency}/{below[1].rstrip('.,;:)')}" if below else currency
    return Figure(value, _unit(joined) or _unit(currency))


def unit_after(rest: str) -> Unit | None:
    """Return the unit that a text begins with, the longest that can be read."""
    words: list[str] = []
    position = 0
    while len(words) < 6:
        gap = re.compile(r"\s*").match(rest, position)
        assert gap is not None
        run = _UNIT_RUN.match(rest, gap.end())
        if run is None:
            break
        words.append(run[0])
        position = run.end()
    for count in range(len(words), 0, -1):
        text = " ".join(words[:count])
        for candidate in (text, text.rstrip(".,;:)-")):
            unit = _unit(candidate)
            if unit is not None:
                return unit
    return None


def _unit(text: str) -> Unit | None:
    if not text or text[0].isdigit() or text in ("-", "a"):
        return None
    try:
        return parse_unit(text)
    except UnitError:
        return None


def lone_units(text: str, currency: str | None = None) -> Iterator[Unit]:
    """Yield the units that a text names, with or without a number before them.

    ``currency`` is that of cents which do not say what they are a hundredth of.

    Examples
    --------
    >>> [str(unit) for unit in lone_units("The prices, in EUR per MWh, are 20, 30 and 40.")]
    ['EUR/MWh']
    """
    plain = re.sub(r"\s+per\s+", "/", " ".join(text.split()))
    if currency is not None:
        plain = re.sub(r"\b(?:ct|cents?)(?![\w_])", f"ct_{currency}", plain)
    for run in _UNIT_RUN.findall(plain):
        unit = _unit(run.strip(".,;:()-"))
        if unit is not None and unit.dimension:
            yield unit


def only_currency(text: str) -> str | None:
    """Return the currency that a text names, by its code or its sign; None for none or several."""
    found = {
        code
        for sign, code in _SIGNS.items()
        if re.search(rf"\b{sign}\b" if sign.isalpha() else re.escape(sign), text)
    }
    return found.pop() if len(found) == 1 else None


_COUNTS = ("cycle", "item", "kit", "machine", "panel", "passenger", "person", "piece", "start",
           "unit", "vehicle")  # fmt: skip


def without_counts(dimension: Dimension) -> Dimension:
    """Return a dimension without counts: a text seldom says ``per panel`` beside every price."""
    return tuple(part for part in dimension if part[0] not in _COUNTS)
