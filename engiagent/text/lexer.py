"""Numbers in one stretch of text, each with its sign, unit, kind and place.

The lexer looks at one sentence or cell at a time; what numbers share with their neighbours (the
unit of a range or a list) is the business of :mod:`engiagent.text.quantities`.
"""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from engiagent.text.numerals import (
    CARDINAL,
    MONTH,
    MULTIPLE,
    PART,
    find_clock,
    find_date,
    find_numeral,
    find_words,
    part_value,
)
from engiagent.text.parts import QuantityKind, Span
from engiagent.units.unit import CURRENCIES, Unit, parse_unit
from engiagent.units.wordlists import listed
from engiagent.units.words import Conventions, UnitMatch, find_per, find_unit, with_currency

_ABOUT: Final = re.compile(
    r"(?i)(?:\b(?:approx\.?|approximately|about|around|roughly|circa|ca\.|some|nearly|almost)"
    r"\s{1,20}|[~≈\u223c]\s{0,3})$"
)
_GAP: Final = re.compile(r"\s{0,40}")
_BRACKET: Final = re.compile(r"\s{0,3}([\[(])\s?")
_HYPHEN_WORD: Final = re.compile(r"[-\u2011][A-Za-z]")


@dataclass(frozen=True)
class Token:
    """A number as the lexer sees it; offsets and numbers of ranges are those of the stretch."""

    start: int
    end: int
    number: Span
    exact: Fraction
    kind: QuantityKind
    unit: Unit | None = None
    unit_text: str = ""
    unit_span: Span | None = None
    approximate: bool = False
    ambiguous: str = ""
    date: str | None = None
    half: str = ""
    plus_minus: bool = False
    currency: str = ""
    is_midnight: bool = False
    range_index: int | None = None

    @property
    def is_bare(self) -> bool:
        """Whether the number has no unit and may take that of a neighbour."""
        return self.kind == "number" and not self.unit_text


def is_about(text: str, start: int) -> bool:
    """Whether the words before a place say that the number there is approximate."""
    return bool(_ABOUT.search(text[max(0, start - 20) : start]))


def with_unit(text: str, token: Token, conventions: Conventions) -> Token:
    """Look to the right of a number for its unit."""
    found = unit_after(text, token.end, conventions)
    if found is None:
        if _HYPHEN_WORD.match(text, token.end) and token.exact.denominator == 1:
            return replace(token, kind="label")  # 3-phase, 5-zone
        return token
    start, match, end = found
    span = (start, match.end)
    return replace(
        token,
        end=end,
        unit=match.unit,
        unit_text=match.text,
        unit_span=span,
        kind=kind_of(match.unit, match.text),
    )


def unit_after(text: str, end: int, conventions: Conventions) -> tuple[int, UnitMatch, int] | None:
    """Return where the unit behind a number begins, the unit, and where brackets around it end."""
    gap = _GAP.match(text, end)
    start = gap.end() if gap else end
    if text[end : end + 1] in ("-", "\u2011"):
        start = end + 1
    match = find_unit(text, start, conventions)
    if match is None and start > end and text[end : end + 1] not in ("-", "\u2011"):
        match = find_per(text, start, conventions)
    elif match is None and text[end : end + 1] == "/":
        match = find_per(text, end, conventions)
    if match is not None:
        return start, match, match.end
    bracket = _BRACKET.match(text, end)
    if bracket is not None:
        match = find_unit(text, bracket.end(), conventions)
        closing = "]" if bracket[1] == "[" else ")"
        if match is not None and text[match.end : match.end + 1] == closing:
            return bracket.end(), match, match.end + 1
    return None


def kind_of(unit: Unit | None, written: str) -> QuantityKind:
    """Return the kind of a number with this unit."""
    lower = written.lower()
    if lower.startswith(("%", "percent", "per cent")):
        return "percent"
    timed = unit is not None and unit.dimension == (("s", 1),)
    return "duration" if timed or lower.startswith("month") else "number"


_ARTICLE: Final = re.compile(r"(?i)an?\s{1,3}")
_NOON: Final = re.compile(r"(?i)(?:noon|midnight)\b")
_TIME_PART: Final = re.compile(
    r"(?i)\b(?:(half)(?:[\s-]{1,3}an?)?|(?:(an?|one|three)\s{1,3})?(quarters?)(?:\s{1,3}of\s{1,3}an?)?)"
    r"[\s-]{1,20}(hours?)\b"
)
_NOT_A_COUNT: Final = frozenset(listed("text", "words after a pronoun"))
_PART_FOLLOWS: Final = re.compile(
    r"\s{1,20}(?:of|full|empty|less|more|lower|higher|larger|smaller|as|charged|the)\b|\s{0,3}[.,;:)]|\s*$"
)


def find_worded(text: str, start: int, conventions: Conventions) -> Token | None:
    """Return the number in words, or the date or time of day, that begins at a place; or None."""
    article = _ARTICLE.match(text, start)
    time = _TIME_PART.match(text, start)
    time = time or (_TIME_PART.match(text, article.end()) if article else None)
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


def _part_of_hour(match: re.Match[str]) -> Token:
    count = (match[2] or "").lower()
    exact = Fraction(1, 2) if match[1] else Fraction(3 if count == "three" else 1, 4)
    number = match.start(), match.end(1) if match[1] else match.end(3)
    span, unit = match.span(4), parse_unit("h")
    return Token(match.start(), match.end(), number, exact, "duration", unit, match[4], span)


def _part(text: str, match: re.Match[str], conventions: Conventions) -> Token | None:
    """Read a third, two thirds, half; "a third zone" counts and is none of them."""
    plain = match[2].lower() in ("half", "quarter", "halve") or match[3]
    if not plain and not _PART_FOLLOWS.match(text, match.end()):
        return None
    token = Token(match.start(), match.end(), match.span(), part_value(match), "word")
    found = with_unit(text, token, conventions)
    if found.unit is None:
        return token
    return found if found.kind == "duration" else replace(found, kind="word")


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


_CANDIDATE: Final = re.compile(
    rf"\d|(?<![\w.])\.(?=\d)|{CARDINAL.pattern[4:]}|{PART.pattern[4:]}"
    rf"|{MULTIPLE.pattern[4:]}|\b(?:noon|midnight)\b|(?-i:\b{MONTH}(?=\.?,?\s{{1,20}}\d))",
    re.I,
)
_CURRENCY_BEFORE: Final = re.compile(
    rf"((?:US|AU|A|CA|C|NZ|HK|S|R)?\$|[€£¥₹]|(?<![A-Za-z])(?:{'|'.join(CURRENCIES)}))[\s ]?$"
)
_SIGN_WORD: Final = re.compile(r"(?i)\b(?:minus|negative)\s{1,20}$")
_ORDINAL_END: Final = re.compile(r"(?:st|nd|rd|th)(?![A-Za-z])")
_VERSION: Final = re.compile(r"\d{1,6}(?:\.\d{1,6}){2,9}")
_SHORT_SCALE: Final = re.compile(r"(bn|[kKMmB])(?![A-Za-z])")
_LAST_WORD: Final = re.compile(r"([A-Za-z]+)(?:\.|\s{0,2}[#:])?\s{0,20}$")
_INDEX_EQUALS: Final = re.compile(r"(?<![\w^])[tkhijn]\s{0,2}(?:=|∈)\s{0,2}$")
_POWER: Final = re.compile(r"[A-Za-z)\]}](?:\^|\*\*)[\s{]?-?$")
_LABEL_NOUNS: Final = frozenset(listed("text", "nouns with a number"))


def tokens_of(text: str, conventions: Conventions, limit: int = 100_000) -> list[Token]:
    """Return the numbers of a stretch of text in order, at most ``limit``."""
    found: list[Token] = []
    position = 0
    while len(found) < limit:
        match = _CANDIDATE.search(text, position)
        if match is None:
            break
        token = _token(text, match.start(), found[-1].end if found else 0, conventions)
        if token is None:
            position = match.end()
            while position < len(text) and text[position].isdigit():  # of them nothing is made
                position += 1
            continue
        found.append(token)
        position = max(token.end, token.number[1])
    return found


def _token(text: str, start: int, before: int, conventions: Conventions) -> Token | None:
    if not (text[start].isdigit() or text[start] == "."):
        return find_worded(text, start, conventions)
    if not text[start].isascii():
        return None
    attached = _attached(text, start, before)
    if not attached:
        timed = _timed(text, start)
        if timed is not None:
            return timed
    version = _VERSION.match(text, start)
    if version is not None and not re.fullmatch(r"\d{1,3}(?:\.\d{3})+", version[0]):
        return Token(start, version.end(), version.span(), Fraction(0), "label")
    numeral = find_numeral(text, start)
    if numeral is None:
        return None
    if attached:
        return Token(start, numeral.end, (start, numeral.end), numeral.exact, "label")
    end = numeral.end
    ordinal = _ORDINAL_END.match(text, end)
    if ordinal is not None and numeral.is_plain_integer:
        return Token(start, ordinal.end(), (start, end), numeral.exact, "label")
    token = Token(start, end, (start, end), numeral.exact, "number", ambiguous=numeral.ambiguous)
    token = _with_sign_and_currency(text, token, before, conventions)
    if not token.unit_text:
        token = with_unit(text, token, conventions)
    if is_about(text, token.start):
        token = replace(token, approximate=True)
    if token.is_bare and _is_label(text, token, numeral.is_plain_integer):
        return replace(token, kind="label")
    return token


def _attached(text: str, start: int, before: int) -> bool:
    """Whether a number hangs on a name, as in R1, x_2 or P-101."""
    if start == 0 or start == before:
        return False
    previous = text[start - 1]
    if _POWER.search(text[max(0, start - 4) : start]):
        return True
    if previous.isalpha() or previous == "_":
        if previous in "T" and re.search(r"\d{2}T$", text[max(0, start - 3) : start]):
            return False
        return not _CURRENCY_BEFORE.search(text[max(0, start - 5) : start])
    if previous in "-\u2011" and start >= 2 and text[start - 2].isalpha():
        return start - 1 > before  # after a unit it is a range: 10 kW-20 kW
    return previous in "./" and start >= 2 and text[start - 2].isalpha()


def _timed(text: str, start: int) -> Token | None:
    date = find_date(text, start)
    if date is not None:
        token = Token(start, date.end, (start, date.end), date.exact, "date", date=date.iso)
        return replace(token, ambiguous=date.ambiguous)
    clock = find_clock(text, start)
    if clock is not None:
        return Token(start, clock.end, (start, clock.end), clock.exact, "clock", half=clock.half)
    return None


def _with_sign_and_currency(
    text: str, token: Token, before: int, conventions: Conventions
) -> Token:
    """Look to the left of a number for a sign and a currency, in either order."""
    start, sign, symbol, plus_minus = token.start, 1, "", False
    number_start = start
    for _ in range(2):
        found = _sign_before(text, start, before)
        if found is not None and sign == 1 and not plus_minus:
            start, sign, plus_minus = found
            number_start = start if not symbol else number_start
            continue
        currency = _CURRENCY_BEFORE.search(text[max(before, start - 6) : start])
        if currency is not None and not symbol:
            symbol = currency[1]
            start -= len(currency[0])
    if start == token.start:
        return token
    number, exact = (number_start, token.end), sign * token.exact
    token = replace(token, start=start, number=number, exact=exact)
    token = replace(token, plus_minus=plus_minus, currency=symbol)
    return _with_leading_currency(text, token, conventions) if symbol else token


def _sign_before(text: str, start: int, before: int) -> tuple[int, int, bool] | None:
    """Return where a sign begins, its factor, and whether it is ±."""
    word = _SIGN_WORD.search(text[max(before, start - 14) : start])
    if word is not None:
        return start - len(word[0]), -1, False
    apart = text[start - 2 : start] in ("± ", "− ") if start >= 2 else False
    stripped = start - 1 if apart else start
    if stripped == 0:
        return None
    mark = text[stripped - 1]
    place = stripped - 1
    if mark == "±" or text[place - 1 : stripped] == "+-":
        return (place if mark == "±" else place - 1), 1, True
    if mark == "−":
        joined = before and not text[before:place].strip() and place > 0 and text[place - 1] != " "
        return None if joined else (place, -1, False)
    if mark not in "-–+":
        return None
    touching = before > 0 and not text[before:place].strip()
    if touching and (mark == "–" or place == before):
        return None  # a range
    if place > 0 and not (text[place - 1].isspace() or text[place - 1] in "([{|=<>≤≥~≈,;:/\"'€$£"):
        return None
    return place, (1 if mark == "+" else -1), False


def _with_leading_currency(text: str, token: Token, conventions: Conventions) -> Token:
    end, exact = token.end, token.exact
    scale = _SHORT_SCALE.match(text, end)
    if scale is not None:
        exact *= {"k": 10**3, "m": 10**6, "b": 10**9}[scale[1][0].lower()]
        end = scale.end()
    match = with_currency(text, token.currency, end, conventions)
    if match is None:
        return token
    span = token.start, token.start + len(token.currency)
    if match.end > end:
        span = min(token.start, token.number[0]), match.end
    token = replace(token, end=match.end, number=(token.number[0], end), exact=exact)
    return replace(token, unit=match.unit, unit_text=match.text, unit_span=span)


def _is_label(text: str, token: Token, is_integer: bool) -> bool:
    """Whether a bare integer only names something: zone 2, Table 1, (3), [12]."""
    if not is_integer or token.exact >= 1000:
        return False
    around = text[max(0, token.start - 1) : token.start] + text[token.end : token.end + 1]
    if around in ("()", "[]") or text[max(0, token.start - 1) : token.start] == "#":
        return True
    if text[token.end : token.end + 2] == "/7" and token.exact == 24:
        return True
    if _INDEX_EQUALS.search(text[max(0, token.start - 12) : token.start]):
        return True
    word = _LAST_WORD.search(text[max(0, token.start - 24) : token.start])
    if word is None:
        return False
    noun = word[1].lower()
    if noun in _LABEL_NOUNS:
        return True
    return noun.endswith("s") and (noun[:-1] in _LABEL_NOUNS or noun[:-3] + "y" in _LABEL_NOUNS)
