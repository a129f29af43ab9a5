"""Dates and times of day in prose."""

import re
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Final

_MONTHS: Final = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
]
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


@dataclass(frozen=True)
class DateMatch:
    """A date found at a place: where it ends, its ISO text and its value."""

    end: int
    iso: str
    exact: Fraction
    ambiguous: str = ""


@dataclass(frozen=True)
class ClockMatch:
    """A time of day found at a place, in hours; ``half`` is ``a`` or ``p`` where it is written."""

    end: int
    hours: Fraction
    half: str = ""


def find_date(text: str, start: int) -> DateMatch | None:
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
        return DateMatch(month.end(), month[0], Fraction(int(month[1])))
    return _first_of_two(text, start) or _year(text, start)


def _numeric(match: re.Match[str], order: str) -> DateMatch | None:
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


def _dated(end: int, year: int, month: int, day: int, ambiguous: str = "") -> DateMatch | None:
    try:
        found = date(year, month, day)
    except ValueError:
        return None
    return DateMatch(end, found.isoformat(), Fraction(found.toordinal()), ambiguous)


def _worded(match: re.Match[str], order: str) -> DateMatch | None:
    parts = dict(zip(order, match.groups(), strict=True))
    month = _NUMBER_OF[parts["m"]]
    year, day = parts.get("y"), parts.get("d")
    if day is None and year is not None:
        return DateMatch(match.end(), f"{year}-{month:02d}", Fraction(int(year)))
    if day is None or not 1 <= int(day) <= 31:
        return None
    if year is None:
        return DateMatch(match.end(), f"--{month:02d}-{int(day):02d}", Fraction(int(day)))
    return _dated(match.end(), int(year), month, int(day))


def _first_of_two(text: str, start: int) -> DateMatch | None:
    """Read the 16 of "16 to 17 January 2026"."""
    match = _DAY_TO_DAY.match(text, start)
    second = _DAY_MONTH.match(text, match.start(2)) if match is not None else None
    if match is None or second is None:
        return None
    month, year = _NUMBER_OF[second[2]], second[3]
    if year is None:
        return DateMatch(match.end(), f"--{month:02d}-{int(match[1]):02d}", Fraction(int(match[1])))
    return _dated(match.end(), int(year), month, int(match[1]))


def _year(text: str, start: int) -> DateMatch | None:
    """Read a year alone, where the word before it says that it is one."""
    match = _YEAR.match(text, start)
    if match is None or not _YEAR_BEFORE.search(text[max(0, start - 12) : start]):
        return None
    return DateMatch(match.end(), match[1], Fraction(int(match[1])))


def find_clock(text: str, start: int) -> ClockMatch | None:
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


def _clock(end: int, hour: int, minute: int, second: int, half: str) -> ClockMatch | None:
    if hour > 24 or minute > 59 or second > 59 or (hour == 24 and (minute or second)):
        return None
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return ClockMatch(end, Fraction(3600 * hour + 60 * minute + second, 3600), half)
