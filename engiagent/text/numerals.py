"""Numerals as English texts write them: separators, fractions, powers of ten, and words."""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

MAX_DIGITS: Final = 40
_MAX_POWER: Final = 300

_FRACTIONS: Final = {
    "½": Fraction(1, 2),
    "¼": Fraction(1, 4),
    "¾": Fraction(3, 4),
    "⅓": Fraction(1, 3),
    "⅔": Fraction(2, 3),
    "⅕": Fraction(1, 5),
    "⅛": Fraction(1, 8),
    "⅜": Fraction(3, 8),
}
_GROUPED: Final = re.compile(
    r"(\d{1,3})([,'\u2019\u00a0\u202f\u2009 ])(\d{3}(?:\2\d{3}){0,6})(?!\d|,\d)(\.\d{1,40})?"
)
_GERMAN: Final = re.compile(r"(\d{1,3}(?:\.\d{3}){1,6}),(\d{1,20})(?!\d)")
_COMMA: Final = re.compile(r"(\d{1,20}),(\d{1,20})(?!\d|,\d)")
_PLAIN: Final = re.compile(r"\d{1,40}(?:\.\d{1,40})?|\.\d{1,40}")
_E_POWER: Final = re.compile(r"[eE]([+\-−]?\d{1,3})(?![\dA-Za-z_])")
_TEN_POWER: Final = re.compile(
    r"\s?(?:[×x·*⋅]|\\times|\\cdot)\s{0,2}10(?:(?:\^|\*\*)\{?([-−+]?\d{1,3})\}?|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))"
)
_POWER_OF_TEN: Final = re.compile(
    r"10(?:(?:\^|\*\*)\{?([-−+]?\d{1,3})\}?|([⁻⁺]?[⁰¹²³⁴⁵⁶⁷⁸⁹]{1,3}))"
)
_RATIO: Final = re.compile(r"(\d{1,2})\s?/\s?(\d{1,2})(?![\d/.,]\d?)")
_MIXED: Final = re.compile(r"(\d{1,3})(?:\s?([½¼¾⅓⅔⅕⅛⅜])|\s(\d{1,2})/(\d{1,2})(?![\d/]))")
_MULTIPLIER: Final = re.compile(
    r"\s{1,3}(?:(million|mn|mio\.?)|(billion|bn)|(thousand))(?![A-Za-z])"
)
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")

_ONES: Final = {
    word: k
    for k, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS: Final = {
    word: 10 * k
    for k, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_PARTS: Final = {
    "half": 2,
    "halve": 2,
    "third": 3,
    "quarter": 4,
    "fifth": 5,
    "sixth": 6,
    "eighth": 8,
    "tenth": 10,
}
_SIMPLE: Final = "|".join([*sorted(_ONES, key=len, reverse=True), *_TENS])
CARDINAL: Final = re.compile(
    rf"(?i)\b((?:{'|'.join(_TENS)})[\s-](?:{'|'.join(list(_ONES)[1:10])})|{_SIMPLE})"
    r"(\s(?:hundred))?(\s(?:thousand|million))?(\s{1,3}and\s{1,3}a\s{1,3}half)?\b"
)
PART: Final = re.compile(
    r"(?i)\b(?:(an?|one|two|three|four|five|seven|nine)[\s-]{1,3})?(half|halve|third|quarter|fifth|"
    r"sixth|eighth|tenth)(s)?\b"
)
MULTIPLE: Final = re.compile(r"(?i)\b(twice|thrice|(?:a\s{1,3})?dozen)\b")


@dataclass(frozen=True)
class Numeral:
    """A numeral found at a place: where it ends, its exact value, and another reading of it."""

    end: int
    exact: Fraction
    ambiguous: str = ""
    is_plain_integer: bool = False


def find_numeral(text: str, start: int) -> Numeral | None:
    """Return the longest unsigned numeral in digits that starts at a place, or None."""
    power = _POWER_OF_TEN.match(text, start)
    if power is not None:
        exponent = _exponent(power[1] or power[2])
        return None if exponent is None else Numeral(power.end(), Fraction(10) ** exponent)
    found = _mixed(text, start) or _ratio(text, start) or _digits(text, start)
    return None if found is None else _scaled(text, found)


def parse_number(text: str) -> Fraction | None:
    """Return the value of a whole numeral with its sign, in digits or words; None if it is none.

    Examples
    --------
    >>> parse_number("16,200"), parse_number("−0.5"), parse_number("three quarters")
    (Fraction(16200, 1), Fraction(-1, 2), Fraction(3, 4))
    """
    cleaned = text.strip()
    sign = 1
    signed = re.match(r"(?i)(?:minus\s{1,20}|[-−–])\s?", cleaned)
    if signed is not None:
        sign, cleaned = -1, cleaned[signed.end() :]
    elif cleaned[:1] in ("+", "±"):
        cleaned = cleaned[1:].lstrip()
    found = find_numeral(cleaned, 0) or find_words(cleaned, 0)
    return sign * found.exact if found is not None and found.end == len(cleaned) else None


def find_words(text: str, start: int) -> Numeral | None:
    """Return a numeral in words that starts at a place, as ``two thirds`` or ``twenty-four``."""
    part = PART.match(text, start)
    if part is not None:
        return Numeral(part.end(), part_value(part))
    multiple = MULTIPLE.match(text, start)
    if multiple is not None:
        word = multiple[1].lower()
        return Numeral(
            multiple.end(), Fraction({"t": 2, "d": 12, "a": 12}[word[0]] + (word == "thrice"))
        )
    cardinal = CARDINAL.match(text, start)
    return None if cardinal is None else Numeral(cardinal.end(), _cardinal_value(cardinal))


def part_value(match: re.Match[str]) -> Fraction:
    """Return the value of a match of :data:`PART`."""
    count = (match[1] or "one").lower()
    numerator = 1 if count in ("a", "an") else _ONES[count]
    return Fraction(numerator, _PARTS[match[2].lower()])


def _cardinal_value(match: re.Match[str]) -> Fraction:
    words = re.split(r"[\s-]", match[1].lower())
    value = Fraction(sum(_ONES.get(word, 0) + _TENS.get(word, 0) for word in words))
    value *= 100 if match[2] else 1
    if match[3]:
        value *= 1000 if "thousand" in match[3].lower() else 10**6
    return value + (Fraction(1, 2) if match[4] else 0)


def _mixed(text: str, start: int) -> Numeral | None:
    if text[start : start + 1] in _FRACTIONS:
        return Numeral(start + 1, _FRACTIONS[text[start]])
    match = _MIXED.match(text, start)
    if match is None:
        return None
    whole = Fraction(int(match[1]))
    if match[2]:
        return Numeral(match.end(), whole + _FRACTIONS[match[2]])
    above, below = int(match[3]), int(match[4])
    return Numeral(match.end(), whole + Fraction(above, below)) if _clear(above, below) else None


def _ratio(text: str, start: int) -> Numeral | None:
    match = _RATIO.match(text, start)
    if match is None:
        return None
    above, below = int(match[1]), int(match[2])
    return Numeral(match.end(), Fraction(above, below)) if _clear(above, below) else None


def _clear(above: int, below: int) -> bool:
    """Whether ``above/below`` can only be a fraction: 1/3 is, 24/7 and 10/20 are not."""
    return 0 < above < below <= 12


def _digits(text: str, start: int) -> Numeral | None:
    inside_list = start >= 2 and text[start - 1] == "," and text[start - 2].isdigit()
    grouped = _GROUPED.match(text, start)
    if grouped is not None and not inside_list:
        return _grouped(grouped)
    german = _GERMAN.match(text, start)
    if german is not None:
        written = german[1].replace(".", "") + "." + german[2]
        return Numeral(german.end(), Fraction(written), "read with a decimal comma")
    comma = _COMMA.match(text, start)
    if comma is not None and not inside_list:
        exact = Fraction(f"{comma[1]}.{comma[2]}")
        return Numeral(comma.end(), exact, "read with a decimal comma")
    plain = _PLAIN.match(text, start)
    if plain is None or text[plain.end() : plain.end() + 1].isdigit():
        return None
    return Numeral(plain.end(), Fraction(plain[0]), "", plain[0].isdigit())


def _grouped(match: re.Match[str]) -> Numeral:
    if match[1] == "0" and match[2] == "," and not match[4]:
        digits = match[3].replace(",", "")
        return Numeral(match.end(), Fraction(f"0.{digits}"), "read with a decimal comma")
    digits = "".join(c for c in match[1] + match[3] if c.isdigit())
    return Numeral(match.end(), Fraction(digits + (match[4] or "")))


def _scaled(text: str, found: Numeral) -> Numeral:
    power = _E_POWER.match(text, found.end) or _TEN_POWER.match(text, found.end)
    if power is not None:
        exponent = _exponent(power[1] or power[2])
        if exponent is not None:
            return Numeral(power.end(), found.exact * Fraction(10) ** exponent, found.ambiguous)
    match = _MULTIPLIER.match(text, found.end)
    if match is not None:
        factor = 10**6 if match[1] else 10**9 if match[2] else 10**3
        return Numeral(match.end(), found.exact * factor, found.ambiguous)
    return found


def _exponent(written: str) -> int | None:
    exponent = int(written.translate(_SUPERSCRIPTS))
    return exponent if abs(exponent) <= _MAX_POWER else None
