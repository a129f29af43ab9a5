"""Numerals, dates and times of day as English texts write them."""

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Final

from engiagent.units.wordlists import listed

_GROUPED: Final = re.compile(
    r"(\d{1,3})([,'\u2019\u00a0\u202f\u2009 ])(\d{3}(?:\2\d{3}){0,6})(?!\d|,\d)(\.\d{1,40})?"
)
_GERMAN: Final = re.compile(r"(\d{1,3}(?:\.\d{3}){1,6}),(\d{1,20})(?!\d)")
_COMMA: Final = re.compile(r"(\d{1,20}),(\d{1,20})(?!\d|,\d)")
_PLAIN: Final = re.compile(r"\d{1,40}(?:\.\d{1,40})?|\.\d{1,40}")
_E_POWER: Final = re.compile(r"[eE]([+\-−]?\d{1,2})(?![\dA-Za-z_])")
_RATIO: Final = re.compile(r"(\d{1,2})\s?/\s?(\d{1,2})(?![\d/.,]\d?)")
_MULTIPLIER: Final = re.compile(
    r"\s{1,3}(?:(million|mn|mio\.?)|(billion|bn)|(thousand))(?![A-Za-z])"
)
_ONES: Final = {word: k for k, word in enumerate(listed("text", "ones"))}
_TEN_WORDS: Final = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_TENS: Final = {word: 10 * k for k, word in enumerate(_TEN_WORDS, start=2)}
_PART_WORDS: Final = ["half", "halve", "third", "quarter", "fifth", "sixth", "eighth", "tenth"]
_PARTS: Final = dict(zip(_PART_WORDS, (2, 2, 3, 4, 5, 6, 8, 10), strict=True))
_SIMPLE: Final = "|".join([*sorted(_ONES, key=len, reverse=True), *_TENS])
CARDINAL: Final = re.compile(
    rf"(?i)\b((?:{'|'.join(_TENS)})[\s-](?:{'|'.join(list(_ONES)[1:10])})|{_SIMPLE})"
    r"(\s(?:hundred))?(\s(?:thousand|million))?(\s{1,3}and\s{1,3}a\s{1,3}half)?\b"
)
PART: Final = re.compile(
    r"(?i)\b(?:(an?|one|two|three|four|five|seven|nine)[\s-]{1,3})?(half|halve|third|quarter|fifth|"
    r"sixth|eighth|tenth)(s)?\b"
)
MULTIPLE: Final = re.compile(r"(?i)\b(twice|(?:a\s{1,3})?dozen)\b")


@dataclass(frozen=True)
class Numeral:
    """A numeral, a date or a time of day found at a place."""

    end: int  # where it ends
    exact: Fraction  # its value: of a date its ordinal or year, of a time of day its hours
    ambiguous: str = ""  # how it could be read otherwise
    is_plain_integer: bool = False
    iso: str | None = None  # of a date
    half: str = ""  # ``a`` or ``p`` where it is written behind a time of day


def find_numeral(text: str, start: int) -> Numeral | None:
    """Return the longest unsigned numeral in digits that starts at a place, or None."""
    ratio = _RATIO.match(text, start)
    if ratio is not None and 0 < int(ratio[1]) < int(ratio[2]) <= 12:  # not 24/7, not 10/20
        return Numeral(ratio.end(), Fraction(int(ratio[1]), int(ratio[2])))
    found = _digits(text, start)
    if found is None:
        return None
    power = _E_POWER.match(text, found.end)
    if power is not None:
        factor = Fraction(10) ** int(power[1].replace("−", "-"))
        return Numeral(power.end(), found.exact * factor, found.ambiguous)
    match = _MULTIPLIER.match(text, found.end)
    if match is not None:
        factor = Fraction(10**6 if match[1] else 10**9 if match[2] else 10**3)
        return Numeral(match.end(), found.exact * factor, found.ambiguous)
    return found


def find_words(text: str, start: int) -> Numeral | None:
    """Return a numeral in words that starts at a place, as ``a dozen`` or ``twenty-four``."""
    multiple = MULTIPLE.match(text, start)
    if multiple is not None:
        return Numeral(multiple.end(), Fraction(2 if multiple[1].lower() == "twice" else 12))
    match = CARDINAL.match(text, start)
    if match is None:
        return None
    words = re.split(r"[\s-]", match[1].lower())
    value = Fraction(sum(_ONES.get(word, 0) + _TENS.get(word, 0) for word in words))
    value *= 100 if match[2] else 1
    if match[3]:
        value *= 1000 if "thousand" in match[3].lower() else 10**6
    return Numeral(match.end(), value + (Fraction(1, 2) if match[4] else 0))


def part_value(match: re.Match[str]) -> Fraction:
    """Return the value of a match of :data:`PART`."""
    count = (match[1] or "one").lower()
    numerator = 1 if count in ("a", "an") else _ONES[count]
    return Fraction(numerator, _PARTS[match[2].lower()])


def _digits(text: str, start: int) -> Numeral | None:
    inside_list = start >= 2 and text[start - 1] == "," and text[start - 2].isdigit()
    grouped = _GROUPED.match(text, start)
    if grouped is not None and not inside_list:
        digits = "".join(c for c in grouped[1] + grouped[3] if c.isdigit()) + (grouped[4] or "")
        if grouped[1] == "0" and grouped[2] == "," and not grouped[4]:
            exact = Fraction(f"0.{digits[1:]}")
            return Numeral(grouped.end(), exact, "read with a decimal comma")
        return Numeral(grouped.end(), Fraction(digits))
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


_MONTHS: Final = listed("text", "months")
_NUMBER_OF: Final = {
    **{name: k for k, name in enumerate(_MONTHS, 1)},
    **{name[:3]: k for k, name in enumerate(_MONTHS, 1)},
    "Sept": 9,
}
MONTH: Final = "(?:" + "|".join(sorted(_NUMBER_OF, key=len, reverse=True)) + r")(?![a-z])"
_ORDINAL: Final = r"(?:st|nd|rd|th)?"
_ISO: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)")
_ISO_MONTH: Final = re.compile(r"((?:19|20)\d{2})-(0[1-9]|1[0-2])(?![\d.-])(?!\s?[%€$A-Za-z°])")
_DAY_MONTH: Final = re.compile(
    rf"(\d{{1,2}}){_ORDINAL}(?:\s{{1,9}}of)?\s{{1,20}}({MONTH})\.?(?:,?\s{{1,20}}(\d{{4}})(?!\d))?"
)
_DAY_TO_DAY: Final = re.compile(
    rf"(\d{{1,2}}){_ORDINAL}(?=\s{{0,9}}(?:-|–|to|and|until|or)\s{{0,9}}(\d{{1,2}}{_ORDINAL}\s{{1,20}}{MONTH}))"
)
_MONTH_DAY: Final = re.compile(
    rf"({MONTH})\.?\s{{1,20}}(\d{{1,2}}){_ORDINAL}(?:,?\s{{1,20}}(\d{{4}}))?(?![\d:])"
)
_MONTH_YEAR: Final = re.compile(rf"({MONTH})\.?,?\s{{1,20}}(\d{{4}})(?!\d)")
_DOTTED: Final = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})(?![\d.]\d?)")
_STROKED: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)")
_YEAR: Final = re.compile(r"((?:19|20)\d{2})(?:/(\d{2}))?(?![\d.,:'%/°]\d?|[A-Za-z€$%°])")
_YEAR_BEFORE: Final = re.compile(
    r"(?i)(?:\b(?:in|since|from|until|till|by|year|years|before|after|during|for|of|to|spring|summer|"
    r"autumn|fall|winter|q[1-4]|end|mid|early|late|and|edition|ed\.|©|built)[\s-]|\()$"
)
_CLOCK: Final = re.compile(
    r"(\d{1,2}):(\d{2})(?::(\d{2}))?(?!:?\d)(?:\s?([ap])\.?\s?m(?:\.|\b))?"
    r"(?:\s?(?:hrs|h|o[\u2019']clock)(?![A-Za-z]))?"
)
_HALF_DAY: Final = re.compile(
    r"(\d{1,2})(?:\.(\d{2}))?\s{0,3}([apAP])(?:\.\s?[mM]\.|[mM](?![A-Za-z]))"
)
_O_CLOCK: Final = re.compile(r"(\d{1,2})\s{1,3}o[\u2019']clock")


def find_date(text: str, start: int) -> Numeral | None:
    """Return the date that starts at a place, or None."""
    for pattern, order in ((_ISO, "ymd"), (_DOTTED, "dmy"), (_STROKED, "d/y")):
        match = pattern.match(text, start)
        if match is not None:
            return _numeric(match, order)
    for pattern, order in ((_DAY_MONTH, "dmy"), (_MONTH_YEAR, "my"), (_MONTH_DAY, "mdy")):
        match = pattern.match(text, start)
        if match is not None:
            return _worded(match, order)
    month = _ISO_MONTH.match(text, start)
    if month is not None:
        return Numeral(month.end(), Fraction(int(month[1])), iso=month[0])
    return _first_of_two(text, start) or _year(text, start)


def _numeric(match: re.Match[str], order: str) -> Numeral | None:
    a, b, c = (int(group) for group in match.groups())
    ambiguous = ""
    if order == "ymd":
        year, month, day = a, b, c
    else:
        year, month, day = c, b, a
        if order == "d/y" and month > 12:
            month, day = day, month
        elif order == "d/y" and day <= 12 and day != month:
            ambiguous = "day and month may be the other way round; write 2025-07-01"
    return _dated(match.end(), year, month, day, ambiguous)


def _dated(end: int, year: int, month: int, day: int, ambiguous: str = "") -> Numeral | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return Numeral(end, Fraction(found.toordinal()), ambiguous, iso=found.isoformat())


def _worded(match: re.Match[str], order: str) -> Numeral | None:
    parts = dict(zip(order, match.groups(), strict=True))
    month = _NUMBER_OF[parts["m"]]
    year, day = parts.get("y"), parts.get("d")
    if day is None and year is not None:
        return Numeral(match.end(), Fraction(int(year)), iso=f"{year}-{month:02d}")
    if day is None or not 1 <= int(day) <= 31:
        return None
    if year is None:
        return Numeral(match.end(), Fraction(int(day)), iso=f"--{month:02d}-{int(day):02d}")
    return _dated(match.end(), int(year), month, int(day))


def _first_of_two(text: str, start: int) -> Numeral | None:
    """Read the 16 of "16 to 17 January 2026"."""
    match = _DAY_TO_DAY.match(text, start)
    second = _DAY_MONTH.match(text, match.start(2)) if match is not None else None
    if match is None or second is None:
        return None
    month, year = _NUMBER_OF[second[2]], second[3]
    if year is None:
        day = int(match[1])
        return Numeral(match.end(), Fraction(day), iso=f"--{month:02d}-{day:02d}")
    return _dated(match.end(), int(year), month, int(match[1]))


def _year(text: str, start: int) -> Numeral | None:
    """Read a year alone, where the word before it says that it is one."""
    match = _YEAR.match(text, start)
    if match is None or not _YEAR_BEFORE.search(text[max(0, start - 12) : start]):
        return None
    return Numeral(match.end(), Fraction(int(match[1])), iso=match[1])


def find_clock(text: str, start: int) -> Numeral | None:
    """Return the time of day that starts at a place, or None."""
    match = _CLOCK.match(text, start)
    if match is not None:
        hour, minute, second = int(match[1]), int(match[2]), int(match[3] or 0)
        return _clock(match.end(), hour, minute, second, (match[4] or "").lower())
    match = _HALF_DAY.match(text, start)
    if match is not None:
        return _clock(match.end(), int(match[1]), int(match[2] or 0), 0, match[3].lower())
    match = _O_CLOCK.match(text, start)
    return None if match is None else _clock(match.end(), int(match[1]), 0, 0, "")


def _clock(end: int, hour: int, minute: int, second: int, half: str) -> Numeral | None:
    if hour > 24 or minute > 59 or second > 59 or (hour == 24 and (minute or second)):
        return None
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return Numeral(end, Fraction(3600 * hour + 60 * minute + second, 3600), half=half)
