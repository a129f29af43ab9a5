"""Numbers in words: two batteries, half full, a quarter of an hour, noon."""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Final

from engiagent.text.calendar_words import find_date
from engiagent.text.numerals import PART, find_words, part_value
from engiagent.text.parts import QuantityKind
from engiagent.text.tokens import Token, is_about, kind_of, unit_after, with_unit
from engiagent.units.unit import parse_unit
from engiagent.units.words import Conventions, find_unit

_NOON: Final = re.compile(r"(?i)(?:noon|midnight)\b")
_TIME_PART: Final = re.compile(
    r"(?i)\b(?:(half)(?:[\s-]{1,3}an?)?|(?:(an?|one|three)\s{1,3})?(quarters?)(?:\s{1,3}of\s{1,3}an?)?)"
    r"[\s-]{1,20}(hours?)\b"
)
_NOT_A_COUNT: Final = frozenset(
    [
        "of",
        "another",
        "can",
        "is",
        "has",
        "should",
        "or",
        "and",
        "way",
        "by",
        "must",
        "will",
        "that",
        "which",
        "who",
        "may",
        "at",
        "the",
        "to",
        "from",
        "in",
        "on",
        "was",
        "are",
        "for",
        "with",
        "thing",
        "where",
        "does",
        "would",
        "could",
        "as",
        "if",
        "a",
        "an",
        "it",
    ]
)
_PART_FOLLOWS: Final = re.compile(
    r"\s{1,20}(?:of|full|empty|less|more|lower|higher|larger|smaller|as|charged|the)\b|\s{0,3}[.,;:)]|\s*$"
)


def find_worded(text: str, start: int, conventions: Conventions) -> Token | None:
    """Return the number in words, or the date or time of day, that begins at a place; or None."""
    time = _TIME_PART.match(text, start) or _TIME_PART.match(text, _article(text, start))
    if time is not None:
        return _part_of_hour(time)
    if _NOON.match(text, start):
        hours = 12 if text[start] in "nN" else 0
        end = start + (4 if hours else 8)
        return Token(start, end, (start, end), Fraction(hours), "clock", is_midnight=not hours)
    date = find_date(text, start)
    if date is not None:
        return Token(start, date.end, (start, date.end), date.exact, "date", date=date.iso)
    part = PART.match(text, start)
    if part is not None and (part[1] or part[2].lower() == "half"):
        return _part(text, part, conventions)
    numeral = find_words(text, start) if part is None else None
    if numeral is None or not _counts(text, start, numeral.end):
        return None
    token = Token(start, numeral.end, (start, numeral.end), numeral.exact, "word")
    token = with_unit(text, token, conventions)
    kind: QuantityKind = "duration" if token.kind == "duration" else "word"
    return replace(token, kind=kind, approximate=is_about(text, start))


def _article(text: str, start: int) -> int:
    match = re.compile(r"(?i)an?\s{1,3}").match(text, start)
    return match.end() if match else start


def _part_of_hour(match: re.Match[str]) -> Token:
    count = (match[2] or "").lower()
    exact = Fraction(1, 2) if match[1] else Fraction(3 if count == "three" else 1, 4)
    unit = parse_unit("h")
    end_of_number = match.end(1) if match[1] else match.end(3)
    return Token(
        match.start(),
        match.end(),
        (match.start(), end_of_number),
        exact,
        "duration",
        unit,
        match[4],
        match.span(4),
    )


def _part(text: str, match: re.Match[str], conventions: Conventions) -> Token | None:
    """Read a third, two thirds, half; "a third zone" counts and is none of them."""
    plain = match[2].lower() in ("half", "quarter", "halve") or match[3]
    if not plain and not _PART_FOLLOWS.match(text, match.end()):
        return None
    token = Token(match.start(), match.end(), match.span(), part_value(match), "word")
    found = unit_after(text, match.end(), conventions)
    if found is not None and found[1].unit is not None:
        token = replace(
            token,
            end=found[2],
            unit=found[1].unit,
            unit_text=found[1].text,
            unit_span=(found[0], found[1].end),
        )
        if kind_of(found[1]) == "duration":
            token = replace(token, kind="duration")
    return token


def _counts(text: str, start: int, end: int) -> bool:
    """Whether "one" counts something, and is no pronoun; other numerals always count."""
    if text[start:end].lower() != "one":
        return True
    if text[end : end + 1] in ("-", "\u2011"):
        return find_unit(text, end + 1) is not None
    following = re.compile(r"\s{1,20}([A-Za-z]+)").match(text, end)
    previous = re.search(
        r"(?i)\b(no|the|this|that|which|each|every|another|any)\s{1,20}$",
        text[max(0, start - 24) : start],
    )
    if following is None or following[1].lower() in _NOT_A_COUNT:
        return False
    return previous is None or find_unit(text, following.start(1)) is not None
