"""The checker's own small reader of numbers in a text: ``8 MW``, ``1,200 kWh``, ``half``."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from engiagent.units.currencies import with_codes
from engiagent.units.unit import CURRENCIES, Dimension, Unit, UnitError, parse_unit
from engiagent.units.words import tons_settled
from engiagent.verify.tolerances import TOLERANCES

_SPACES = "\u00a0\u2009\u202f "
_NUMBER = re.compile(
    rf"(?<![\w.,])([+\-\u2212\u2013]?)((?:\d{{1,3}}(?:[,'{_SPACES}]\d{{3}})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?)"
    rf"(?![\d])"
)
_CLOCK = re.compile(
    r"(?<!\d)([01]?\d|2[0-4])(?::([0-5]\d)(?!\d)|(?:\.([0-5]\d))?\s*(?:Uhr|o['\u2019]clock)\b)"
)
_HALF_DAY = re.compile(
    r"(?<![\d.:])(0?[1-9]|1[0-2])(?::([0-5]\d))?\s?([ap])(?:\.\s?m\.|m)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_NAMED_CLOCK = re.compile(r"\b(noon|midday|midnight)\b", re.IGNORECASE)
_WORDS = {
    name: value
    for value, names in (
        (0.0, "zero empty"),
        (1.0, "one full once"),
        (2.0, "two twice double zwei deux dos due"),
        (3.0, "three drei trois tres tre"),
        (4.0, "four vier quatre cuatro quattro"),
        (5.0, "five fünf cinq cinco cinque"),
        (6.0, "six sechs seis sei"),
        (7.0, "seven sieben sept siete sette"),
        (8.0, "eight acht huit ocho otto"),
        (9.0, "nine neun neuf nueve nove"),
        (10.0, "ten zehn dix diez dieci"),
        (11.0, "eleven elf onze undici"),  # Spanish "once" is English for 1
        (12.0, "twelve zwölf douze dodici"),
        (20.0, "twenty"),
        (30.0, "thirty"),
        (100.0, "hundred"),
        (0.5, "half"),
        (0.25, "quarter"),
        (1.0 / 3.0, "third"),
    )
    for name in names.split()
}
_ORDINAL_WORDS = "second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth"
_ORDINAL = re.compile(rf"\b(?:the|every|each|and)\s+({_ORDINAL_WORDS})\b", re.IGNORECASE)
_WORD = re.compile(r"\b(" + "|".join(_WORDS) + r")\b", re.IGNORECASE)
_NOTHING = re.compile(
    r"\b(?:none|nil|empty|zero|at rest|at a standstill|shut down|stopped|"
    r"(?:stands|stood|is|are|was|were|be) (?:still|idle)|not (?:running|in operation)|"
    r"(?:switched|turned|is|are|was|were|be) off|out of (?:service|operation)|"
    r"no(?!\s*\d|\.|\s+(?:more|less|later|earlier|fewer|greater|longer|sooner|"
    r"other|higher|lower|larger|smaller|matter|one|need)\b))\b",
    re.IGNORECASE,
)
_SIGNS = {"€": "EUR", "$": "USD", "£": "GBP", "¥": "JPY"} | {c: c for c in CURRENCIES}
_BEFORE = re.compile("(" + "|".join(re.escape(s) for s in _SIGNS) + r")\s*$")
_EACH = re.compile(r"\s+(?:for|per|in)\s+(?:every|each)\s+|\s+(?:an?|each|every)\s+(?=[A-Za-z]+\b)")
_TIMES = r"(hours?|days?|weeks?|years?|annum|h|d|yr)"
_PER = re.compile(r"\s+per\s+([A-Za-z²³0-9^]+)(?![A-Za-z0-9])")
_DEGREE = re.compile(r"\b(per|each|every)\s+degree\b(?!s?\s+(?:C|F|of\s+(?:tilt|arc)))")
"""A degree by which something is reckoned: of temperature, as a difference."""
_FLOW = re.compile(r"\s+per\s+(m³|m3|kg|[lL]|t)/(s|h|min)(?![A-Za-z])")
"""Per a flow: MW per m³/s are MW*s/m³."""
_AND_TIME = re.compile(rf"(/[A-Za-z²³0-9^]+)\s+and\s+(?:per\s+)?{_TIMES}\b")
_UNIT_RUN = re.compile(r"[A-Za-z%€$£¥°℃℉²³0-9/*·⋅^().\-_]+")
_SCALES = {"thousand": 1e3, "million": 1e6, "billion": 1e9}

# TeX as it stands in texts: spaces and commas between digits, names in upright letters, indices.
_TEX = (
    (re.compile(r",?\s*\\[lc]?dots\s*,?"), " … "),
    (re.compile(r"_\{[^{}]*\}"), ""),
    (re.compile(r"(?<=\d)\\[,;: ](?=\d{3})"), ","),
    (re.compile(r"(?<=\d)\{,\}(?=\d)"), ","),
    (re.compile(r"\^\{?\\circ\}?\s*"), "°"),
    (re.compile(r"(?<=°)\\(?:text|mathrm)\s*\{([^{}]*)\}"), r"\1 "),
    (re.compile(r"\\(?:text|mathrm|mathit|operatorname)\s*\{([^{}]*)\}(?=\^\{?-?\d)"), r" \1"),
    (re.compile(r"(?<=[A-Za-z])\^\{(-?\d)\}"), r"^\1"),
    (re.compile(r"\\(?:text|mathrm|mathit|operatorname)\s*\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"\\([%$])"), r"\1"),
    (re.compile(r"\\(?:begin|end)\{[a-zA-Z*]*\}(?:\{[clr|@ ]*\})?"), " "),
    (re.compile(r"\\(?:[,;:! ]|hline|q?quad|left|right|cdot)"), " "),
    (re.compile(r"(?<=\d)\s*~\s*"), " "),
)
_KEY_BEFORE = re.compile(
    r"(?:\b(?:hours?|periods?|steps?|slots?|intervals?|days?|weeks?|months?)\s*=?|\b[tkhijn]\s*=|#|\()\s*$",
    re.I,
)
_KEY_AFTER = re.compile(r"\s*(?:[:)]|->|\u2192|=)(?!\d)")


@dataclass(frozen=True)
class Figure:
    """A number of a text with the unit beside it, if there is one."""

    value: float
    unit: Unit | None


def figures(text: str, whole: str | None = None) -> Iterator[Figure]:
    """Yield every number in a piece of text, in the order of writing.

    What a bare sign of a currency means there is said by the ``whole`` text. What one of a unit is
    worth in another is also yielded as their ratio: 1 hp as 0.7457 kW is 0.7457 kW/hp.

    >>> [(f.value, str(f.unit)) for f in figures("at most 1,200 kWh, 96 % and EUR 5 per MWh")]
    [(1200.0, 'kWh'), (96.0, '%'), (5.0, 'EUR/MWh')]
    """
    plain = _plain(text, whole)
    halves = [match.span() for match in _HALF_DAY.finditer(plain)]
    for match in _HALF_DAY.finditer(plain):
        hours = int(match[1]) % 12 + (12 if match[3] in "pP" else 0)
        yield Figure(hours + int(match[2] or 0) / 60.0, parse_unit("h"))
    for match in _CLOCK.finditer(plain):
        if not any(start <= match.start() < stop for start, stop in halves):
            yield Figure(int(match[1]) + int(match[2] or match[3] or 0) / 60.0, parse_unit("h"))
    for match in _NAMED_CLOCK.finditer(plain):
        for hours in (0, 24) if match[1].lower() == "midnight" else (12,):
            yield Figure(float(hours), parse_unit("h"))
    one: Unit | None = None
    for figure, _ in _numbers(plain):
        yield figure
        amount = None if figure.unit is None or figure.unit.is_point else figure.unit
        if one is not None and amount is not None:
            yield Figure(figure.value, amount / one)
        one = amount if figure.value == 1.0 else None
    for match in _WORD.finditer(plain):
        yield Figure(_WORDS[match[1].lower()], unit_after(plain[match.end() :]))
    for match in _ORDINAL.finditer(plain):
        yield Figure(2.0 + _ORDINAL_WORDS.split("|").index(match[1].lower()), None)


def _plain(text: str, whole: str | None = None) -> str:
    """Return a text on one line, its currencies by code and "per X and year" as "/X/year"."""
    whole = whole or text
    text = _DEGREE.sub(r"\1 K", in_points(text, whole))
    text = _FLOW.sub(r"*\2/\1", text)
    settled = tons_settled(with_codes(without_tex(text), whole), whole)
    plain = _EACH.sub("/", " ".join(settled.split()))
    plain = _PER.sub(lambda m: f"/{m[1]}" if _unit(m[1]) is not None else m[0], plain)
    return _AND_TIME.sub(r"\1/\2", plain)


_COMMA = re.compile(
    r"(?<![\d.,])(?:0(?:,|\{,\})\d+|\d{1,9}(?:,|\{,\})(?:\d{1,2}|\d{4,}))(?![\d,]|\.\d)"
)
_POINT = re.compile(r"(?<![\d.,:])(?:0|\d{1,9}(?!\.\d{3}(?!\d)))\.\d{1,9}(?![\d.,:])")
_ROW = re.compile(r"^[\d\s.,;+\-]+$", re.MULTILINE)
_POINTED = re.compile(rf"(?<![\d.,])\d{{1,3}}(?:[.{_SPACES}]\d{{3}})+(?![\d.])")
_PARTED = re.compile(r"(?<![\d.,])(\d{1,9})(?:,|\{,\})(\d{1,20})(?![\d,]|\.\d)")


@cache
def has_decimal_commas(whole: str) -> bool:
    """Whether a text writes 0,9 for 0.9: more of its numbers have a comma than a point.

    A comma or point before exactly three digits, as in 1,200, says nothing; nor do dates, times and
    lines that are rows of numbers.

    >>> has_decimal_commas("entre 1,20 m y 4,45 m"), has_decimal_commas("0.9 of 1,250 kWh")
    (True, False)
    """
    prose = _ROW.sub("", whole)
    return len(_COMMA.findall(prose)) > len(_POINT.findall(prose))


def in_points(text: str, whole: str) -> str:
    """Return a piece of a text with decimal points, where the text has decimal commas.

    >>> in_points("von 1.250 kWh zu 0,31 EUR/kWh", "von 1.250 kWh zu 0,31 EUR/kWh")
    'von 1250 kWh zu 0.31 EUR/kWh'
    """
    if not has_decimal_commas(whole):
        return text
    text = _POINTED.sub(lambda found: re.sub(r"\D", "", found[0]), text)
    return _PARTED.sub(r"\1.\2", text)


_OTHERWISE_NOTHING = re.compile(
    r"\b(?:otherwise|else|elsewhere|outside|at (?:all )?other (?:times|hours)|the rest)\b"
    r"[^.;\d]{0,30}\b(?:none|nil|zero|nothing|no|0)\b"
    r"|\b(?:none|nil|zero|nothing|0)\b[^.;\d]{0,12}\b(?:otherwise|else|elsewhere|outside|"
    r"at (?:all )?other (?:times|hours))\b",
    re.IGNORECASE,
)


def says_otherwise_nothing(text: str) -> bool:
    """Whether a piece of text gives zero beside amounts that hold at other times.

    >>> says_otherwise_nothing("9 kW from 08:00 to 10:00, otherwise none")
    True
    """
    return _OTHERWISE_NOTHING.search(text) is not None


def says_nothing(text: str) -> bool:
    """Whether a piece of text gives zero in words, in whatever unit: "none", "no load".

    >>> says_nothing("there is no load"), says_nothing("no more than 5 kW"), says_nothing("is off")
    (True, False, True)
    """
    return _NOTHING.search(text) is not None


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


def without_tex(text: str) -> str:
    """Return a text without the marks of TeX that stand in and around its numbers."""
    if "\\" not in text and "_{" not in text:
        return text
    for pattern, instead in _TEX:
        text = pattern.sub(instead, text)
    return text


def sequences(text: str, whole: str | None = None) -> Iterator[tuple[Figure, ...]]:
    """Yield the series of numbers that a piece of text may give, each in the order of writing.

    All its numbers but times of day; the same without the keys of a list, as the 1 and 2 of
    "hour 1: 20, hour 2: 30".

    >>> [[f.value for f in s] for s in sequences("1: 20, 2: 30.5 and 3: 41 kW")]
    [[1.0, 20.0, 2.0, 30.5, 3.0, 41.0], [20.0, 30.5, 41.0]]
    """
    numbers = list(_numbers(_plain(text, whole)))
    every = tuple(figure for figure, _ in numbers)
    unkeyed = tuple(figure for figure, is_key in numbers if not is_key)
    yield from dict.fromkeys((every, unkeyed))


def _numbers(text: str) -> Iterator[tuple[Figure, bool]]:
    """Yield the numbers of a text, and whether each only says which of a list follows."""
    clocks = [m.span() for pattern in (_HALF_DAY, _CLOCK) for m in pattern.finditer(text)]
    for match in _NUMBER.finditer(text):
        if any(start <= match.start(2) < stop for start, stop in clocks):
            continue
        named = _KEY_BEFORE.search(text[: match.start()])
        is_key = match[2].isdigit() and (named or _KEY_AFTER.match(text, match.end()))
        yield _figure(text, match), bool(is_key)


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


_THINGS_PER = re.compile(r"\s+(?:[A-Za-z-]+\s+)?([A-Za-z-]+)\s+(?:per|an?|each|every)\s+(?=\w)")


def rate_of_things(rest: str) -> Unit | None:
    """Return the unit of a number of things that are no unit, per unit, which a text begins with.

    >>> str(rate_of_things(" points per hour, but not at night"))
    '1/h'
    """
    things = _THINGS_PER.match(rest)
    if things is None or _unit(things[1]) is not None:
        return None
    below = unit_after(rest[things.end() :])
    return None if below is None or below.is_point else parse_unit("1") / below


def _unit(text: str) -> Unit | None:
    if not text or text[0].isdigit() or text in ("-", "a"):
        return None
    try:
        return parse_unit(text)
    except UnitError:
        return None


def lone_units(text: str, whole: str | None = None) -> Iterator[Unit]:
    """Yield the units that a text names, with or without a number before them.

    >>> [str(unit) for unit in lone_units("The prices, in EUR per MWh, are 20, 30 and 40.")]
    ['EUR/MWh']
    """
    plain = re.sub(r"\s+per\s+", "/", _plain(text, whole))
    for run in _UNIT_RUN.findall(plain):
        unit = _unit(run.strip(".,;:()-"))
        if unit is not None and unit.dimension:
            yield unit


_EACH_UNIT = re.compile(r"\b(?:each|every|per|one|an?)\s+", re.IGNORECASE)
_EACH_SQUARE = re.compile(
    r"\b(?:each|every|per)\s+(?:square(?:\s+of\s+(?:an?|one))?\s+([a-z]+)|([a-z]+)\s+squared)\b",
    re.IGNORECASE,
)


def units_of_each(text: str) -> Iterator[Unit]:
    """Yield the units that follow ``each`` and the like: what stands beside it is per such a unit.

    >>> [str(unit) for unit in units_of_each("each °F of cooling takes 10.4 kBTU/h")]
    ['degF']
    >>> [str(unit) for unit in units_of_each("each square of a kelvin costs 0.06 € per hour")]
    ['K^2', 'K', 'h']
    """
    for match in _EACH_SQUARE.finditer(text):
        unit = _unit(match[1] or match[2])
        if unit is not None:
            yield unit**2
    for match in _EACH_UNIT.finditer(text):
        unit = unit_after(text[match.end() :])
        if unit is not None and unit.dimension:
            yield unit


_COUNTS = re.compile("cycle|item|kit|machine|panel|passenger|person|piece|start|unit|vehicle")


def without_counts(dimension: Dimension) -> Dimension:
    """Return a dimension without counts: a text seldom says ``per panel`` beside every price."""
    return tuple(part for part in dimension if not _COUNTS.fullmatch(part[0]))


def close_to(a: float, b: float) -> bool:
    """Whether two numbers are the same but for the rounding of a conversion; NaN is never."""
    return bool(abs(a - b) <= TOLERANCES["parameter"] * max(abs(a), abs(b)))
