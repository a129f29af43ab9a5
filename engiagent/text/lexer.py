"""Numbers in one stretch of text, each with its sign, unit, kind and place.

The lexer looks at one sentence or cell at a time; what numbers share with their neighbours (the
unit of a range or a list) is the business of :mod:`engiagent.text.sharing`.
"""

import re
from dataclasses import replace
from fractions import Fraction
from typing import Final

from engiagent.text.calendar_words import MONTH, find_clock, find_date
from engiagent.text.number_words import find_worded
from engiagent.text.numerals import CARDINAL, MULTIPLE, PART, find_numeral
from engiagent.text.tokens import Token, is_about, with_unit
from engiagent.units.unit import CURRENCIES
from engiagent.units.words import Conventions, with_currency

_CANDIDATE: Final = re.compile(
    rf"\d|[½¼¾⅓⅔⅕⅛⅜]|(?<![\w.])\.(?=\d)|{CARDINAL.pattern[4:]}|{PART.pattern[4:]}"
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
_LABEL_NOUNS: Final = frozenset(
    [
        "appendix",
        "battery",
        "block",
        "boiler",
        "branch",
        "building",
        "bus",
        "case",
        "chapter",
        "chiller",
        "column",
        "compressor",
        "day",
        "edition",
        "equation",
        "example",
        "feeder",
        "fig",
        "figure",
        "generator",
        "heater",
        "hour",
        "house",
        "interval",
        "item",
        "job",
        "level",
        "line",
        "machine",
        "method",
        "mode",
        "model",
        "no",
        "node",
        "nr",
        "number",
        "option",
        "order",
        "page",
        "part",
        "period",
        "phase",
        "pipe",
        "plant",
        "point",
        "problem",
        "product",
        "pump",
        "reactor",
        "requirement",
        "room",
        "route",
        "row",
        "rule",
        "scenario",
        "section",
        "shift",
        "site",
        "stage",
        "station",
        "step",
        "store",
        "storage",
        "table",
        "tank",
        "task",
        "tap",
        "tier",
        "turbine",
        "type",
        "unit",
        "variant",
        "vehicle",
        "version",
        "week",
        "zone",
    ]
)


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
            position = max(match.end(), _word_end(text, match.start()))
            continue
        found.append(token)
        position = max(token.end, token.number[1])
    return found


def _word_end(text: str, start: int) -> int:
    """Return the end of the run of digits at a place, which nothing could be made of."""
    end = start
    while end < len(text) and text[end].isdigit():
        end += 1
    return end


def _token(text: str, start: int, before: int, conventions: Conventions) -> Token | None:
    if not (text[start].isdigit() or text[start] in ".½¼¾⅓⅔⅕⅛⅜"):
        return find_worded(text, start, conventions)
    if not text[start].isascii() and text[start].isdigit() and text[start] not in "½¼¾":
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
        return Token(
            start,
            date.end,
            (start, date.end),
            date.exact,
            "date",
            date=date.iso,
            ambiguous=date.ambiguous,
        )
    clock = find_clock(text, start)
    if clock is not None:
        return Token(start, clock.end, (start, clock.end), clock.hours, "clock", half=clock.half)
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
    token = replace(
        token,
        start=start,
        number=(number_start, token.end),
        exact=sign * token.exact,
        plus_minus=plus_minus,
        currency=symbol,
    )
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
    written = match.text
    unit_span = (
        (min(token.start, token.number[0]), max(match.end, end))
        if match.end > end
        else (token.start, token.start + len(token.currency))
    )
    return replace(
        token,
        end=match.end,
        number=(token.number[0], end),
        exact=exact,
        unit=match.unit,
        unit_text=written,
        unit_span=unit_span,
    )


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
