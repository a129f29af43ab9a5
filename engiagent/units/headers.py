"""Column headers: the name, and the unit that people write into them in a dozen ways."""

import re
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from engiagent.units.unit import CURRENCIES, Unit
from engiagent.units.wordlists import listed, spelt
from engiagent.units.words import Conventions, resolve_unit

_SQUARE: Final = re.compile(r"\[([^\[\]]{0,80})\]\s*$")
_ROUND: Final = re.compile(r"\(([^()]{0,60}(?:\([^()]{0,40}\)[^()]{0,20})?)\)\s*$")
_WORD: Final = re.compile(r"[^\s,;]+")
_PIECE: Final = re.compile(r"[^\s,;](?:[^,;]*[^\s,;])?")
_ENGLISH: Final = re.compile(r"[A-Za-z]|[a-z]{3,}|[A-Z]?[a-z]{3,}|(?!kg|km|cm|mm|ft)[a-z]{2}|\d+")
"""Words that are no unit among others: single letters and what is spelt in small letters."""
_LONGER: Final = re.compile(r"(?i)\bper\b|/\s|\s/|[*·^]\s|\d")
_RATIO: Final = re.compile(r"(?i)\s(?:per|je|pro|par)\s|/")
_TAIL: Final = re.compile(r"(?:,\s{0,3}|\s/\s|\s(?:in|/)\s|\s)")
_POWER_OR_ENERGY: Final = re.compile(r"[kMG]W(?:h|_?th|_?el)?")
_TEMPERATURE: Final = re.compile(r"(?i)temp|outdoor|indoor|ambient|setpoint|dew|bulb")

# Endings of column names such as load_kw, in small letters; single letters are too easily names.
_SUFFIXES: Final = {
    **{unit.lower(): unit for unit in (*listed("units", "suffixes as they are"), *CURRENCIES)},
    **spelt("units", "suffixes"),
}
del _SUFFIXES["try"]  # a word as well
_BELOW: Final = {**_SUFFIXES, **spelt("units", "suffixes below")}
_CENTS: Final = re.compile(r"(?i)(?:ct|cents?|¢)(?:\s*/|\s+(?:per|je|pro)\s)")
_ABOVE: Final = {"w": "W", "ct": "ct", "cent": "ct", "cents": "ct"}  # of something per something
_PRICE: Final = re.compile(r"(?i)price|cost|tariff|fee")
_WATT_HINT: Final = re.compile(r"(?i)power|load|demand|gain|heat|pv|import|export|generation")


@dataclass(frozen=True)
class Header:
    """A column header taken apart."""

    name: str  # the name without the unit
    unit_text: str = ""  # the unit as written; empty when the header names none
    unit: Unit | None = None  # the unit, or None when there is none or it cannot be read
    # where ``unit_text`` stands in the header, or None when it is read from a name's ending
    span: tuple[int, int] | None = None


def same_header(one: str, other: str) -> bool:
    """Whether two headers have one name and one unit, however it is written beside it.

    >>> same_header("Price [EUR/MWh]", "Price (€/MWh)"), same_header("Load [kW]", "Load (MW)")
    (True, False)
    """
    first, second = split_header(one), split_header(other)
    if first.name != second.name or first.unit is None or second.unit is None:
        return False
    units = ((u.dimension, u.factor, u.zero) for u in (first.unit, second.unit))
    return len(set(units)) == 1


def split_header(header: str, conventions: Conventions | None = None) -> Header:
    """Take the unit out of a header such as ``Price [EUR/MWh]``, ``P, kW`` or ``load_kw``.

    Square brackets always hold a unit, known or not; round ones, commas, strokes and blanks only
    where a known unit follows. A name such as ``load_kw`` stays whole and has the unit kW.

    >>> found = split_header("Price (EUR/MWh)")
    >>> found.name, str(found.unit)
    ('Price', 'EUR/MWh')
    >>> split_header("Temperature (mean)").unit is None
    True
    """
    square = _SQUARE.search(header[-120:])
    shift = max(0, len(header) - 120)
    if square is not None and square[1].strip():
        whole = resolve_unit(square[1].strip(), conventions)
        found = _among_words(header, square, shift, conventions) if whole is None else None
        return found or _bracketed(header, square, shift, conventions)
    rounded = _ROUND.search(header[-120:])
    if rounded is not None and resolve_unit(rounded[1], conventions) is not None:
        return _bracketed(header, rounded, shift, conventions)
    if rounded is not None and re.search(r"(?i)\b(?:ct|cents?|¢)\b", rounded[1]):
        return _bracketed(header, rounded, shift, conventions)
    if rounded is not None:
        found = _among_words(header, rounded, shift, conventions)
        if found is not None:
            return found
    found = _tail(header[:300], conventions) or _suffix(header, conventions)
    found = found or _amid(header[:300], conventions)
    return found or Header(header.strip())


def _bracketed(
    header: str, match: re.Match[str], shift: int, conventions: Conventions | None
) -> Header:
    written = match[1].strip()
    start = shift + match.start(1) + match[1].index(written)
    name = header[: shift + match.start()].strip().rstrip(",/").strip()
    unit = resolve_unit(written, conventions)
    return Header(name or header.strip(), written, unit, (start, start + len(written)))


def _among_words(
    header: str, match: re.Match[str], shift: int, conventions: Conventions | None
) -> Header | None:
    """Find the one unit among other words in brackets, as in ``capacity (kW thermal)``.

    A word that may be one of English is no unit there: ``(day ahead)``, ``(A and B)``; nor is the
    beginning of a longer unit that cannot be read: ``(kW per truck)``.
    """
    found = []
    for piece in _PIECE.finditer(match[1]):
        whole = resolve_unit(piece[0], conventions)
        words = [] if whole or _LONGER.search(piece[0]) else _WORD.finditer(match[1], *piece.span())
        for word in [piece] if whole else words:
            unit = resolve_unit(word[0], conventions)
            if unit is not None and not _ENGLISH.fullmatch(word[0]):
                found.append((word, unit))
    if len(found) != 1:
        return None
    word, unit = found[0]
    start = shift + match.start(1) + word.start()
    name = header[: shift + match.start()].strip().rstrip(",/").strip()
    return Header(name or header.strip(), word[0], unit, (start, start + len(word[0])))


def _tail(header: str, conventions: Conventions | None) -> Header | None:
    """Find a unit at the end, after a comma, a stroke, ``in`` or a blank."""
    for match in _TAIL.finditer(header):
        written = header[match.end() :].strip()
        if not header[: match.start()].strip() or not written:
            continue
        if match[0].isspace() and (len(written) < 2 and written not in "%€$°"):
            continue  # "pump A" is no current
        if match[0].isspace() and written.islower() and written.isalpha() and len(written) > 3:
            continue  # "number of panels" is a name
        unit = resolve_unit(written, conventions)
        if (unit is not None and not written.isdigit()) or (unit is None and _CENTS.match(written)):
            start = header.index(written, match.end())
            name = header[: match.start()].strip().rstrip(",")
            return Header(name, written, unit, (start, start + len(written)))
    return None


def _amid(header: str, conventions: Conventions | None) -> Header | None:
    """Find the one unit among words, as in ``min MW (when on)`` or ``fuel, litres per hour on``.

    A unit per something may have words on both sides: ``additional litres per kWh generated``. A
    header may be nothing but a unit, as ``EUR/MWh``.
    """
    before, comma, tail = header.rpartition(",")
    words = list(_WORD.finditer(tail))[:12]
    runs = [(words[0], last) for last in words[-2:-4:-1] if last is not words[0]]
    ratios = [
        (first, last)
        for first, last in combinations(words, 2)
        if _RATIO.search(tail, first.end(), last.start())
    ]
    for first, last in runs + sorted(ratios, key=lambda pair: pair[0].start() - pair[1].end()):
        written = tail[first.start() : last.end()]
        unit = resolve_unit(written, conventions)
        if unit is not None:
            start = len(before + comma) + first.start()
            name = before.strip() or header.strip()
            return Header(name, written, unit, (start, start + len(written)))
    written = header.strip()
    whole = resolve_unit(written, conventions) if "/" in written else None
    if whole is not None:
        start = header.index(written)
        return Header(written, written, whole, (start, start + len(written)))
    if _LONGER.search(header):
        return None
    found = [word for word in _WORD.finditer(header) if _POWER_OR_ENERGY.fullmatch(word[0])]
    if len(found) != 1:
        return None
    word = found[0]
    return Header(header.strip(), word[0], resolve_unit(word[0], conventions), word.span())


def _suffix(header: str, conventions: Conventions | None) -> Header | None:
    """Find a unit in the last words of a name such as ``price_eur_per_mwh``."""
    name = header.strip()
    words = re.split(r"[_\s]+", name.lower())
    if not 2 <= len(words) <= 12:
        return None
    unit = _suffix_unit(name, words)
    if unit is None or (_PRICE.search(name) and "/" not in unit and unit not in CURRENCIES):
        return None  # price_kwh is a price, of a currency that nobody named
    return Header(name, unit, resolve_unit(unit, conventions))


def _suffix_unit(name: str, words: list[str]) -> str | None:
    last = words[-1]
    if last in ("c", "f") and _TEMPERATURE.search(name):
        return "degC" if last == "c" else "degF"
    if last == "k" and _TEMPERATURE.search(name) and len(words) == 2:
        return "K"
    if last in ("w", "wm2") and _WATT_HINT.search(name):
        return "W"
    below = _BELOW.get(last)
    if below is not None and len(words) > 2 and words[-2] in ("per", "je", "pro", "par"):
        above = _SUFFIXES.get(words[-3]) or _ABOVE.get(words[-3])
        return f"{above}/{below}" if above else None
    if below is not None and len(words) > 2:
        currency = words[-2].upper() if words[-2] != "try" else ""
        if currency in CURRENCIES and last.upper() not in CURRENCIES:
            return f"{currency}/{below}"
        if words[-2] in ("ct", "cent", "cents"):
            return f"ct/{below}"
        if words[-2] == "w" and last == "m2":
            return "W/m2"
    if "/" in last:
        above, _, under = last.partition("/")
        if above in _SUFFIXES and under in _BELOW:
            return f"{_SUFFIXES[above]}/{_BELOW[under]}"
    return _SUFFIXES.get(last)
