"""Units as people write them in prose and headers: ``€ per MWh``, ``degrees Celsius``, ``W/m²K``.

:func:`find_unit` reads the longest unit at a place of a text and ends in the closed table of
:mod:`engiagent.units.unit`; what that table refuses as ambiguous keeps its text and has no
unit.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from engiagent.units.currencies import SYMBOLS, WORDS, dollar_of, only_currency, yen_or_yuan
from engiagent.units.unit import CURRENCIES, Unit, UnitError, parse_unit, quotient_text, unit_names
from engiagent.units.wordlists import spelt

UNRESOLVED: Final = "?"
"""Canonical name of a unit word that the table cannot hold, such as months."""

# Phrases, matched without regard to case. A blank stands for any white space or a hyphen.
_PHRASES: Final = {**spelt("units", "phrases"), **WORDS}
for _size, _short in (("", ""), ("kilo", "k"), ("mega", "M"), ("giga", "G"), ("tera", "T")):
    for _end in ("", "s"):
        _PHRASES[f"{_size}watt hour{_end}"] = f"{_short}Wh"
        _PHRASES[f"{_size}watthour{_end}"] = f"{_short}Wh"
        if _size != "tera":
            _PHRASES[f"{_size}watt{_end}"] = f"{_short}W"

# Symbols beyond the table's own, matched as written.
_SYMBOLS: Final = {**spelt("units", "symbols"), **SYMBOLS}
_NEVER_FIRST: Final = frozenset({"a", "1", "-", "", "kgK", "mK", "m2K", "m2a", "c", "p"})
_SUPERSCRIPTS: Final = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_MAX_ATOMS = 6
_MAX_UNIT_LENGTH = 80


@dataclass(frozen=True)
class Conventions:
    """What the rest of a text settles about its units."""

    # the one currency that the text uses, as ``EUR``; None when it uses none or several
    currency: str | None = None
    # whether the text speaks of angles, so that bare degrees are not a temperature
    angles: bool = False
    # whether the text says that its tons are tons of refrigeration; else they are unclear
    refrigeration: bool = False
    # dollar, yen: the currencies that a bare ``$`` and ``¥`` stand for
    dollar: str = "USD"
    yen: str = "JPY"


@dataclass(frozen=True)
class UnitMatch:
    """A unit found in a text: where it ends, how it is written, and what it means."""

    end: int
    text: str
    unit: Unit | None


Part = tuple[str, int]


def _alternation(words: dict[str, str], flexible: bool) -> str:
    def pattern(word: str) -> str:
        escaped = re.escape(word)
        return escaped.replace("\\ ", r"(?:\s{1,20}|-)" if flexible else r"\s{1,20}")

    return "|".join(pattern(word) for word in sorted(words, key=len, reverse=True))


def _symbol_names() -> dict[str, str]:
    names = {name: name for name in unit_names() if name not in ("", "-", "1", "tons", "per cent")}
    for word in _PHRASES:  # these go by phrase, so that "Hours" and "hours" are one
        names.pop(word, None)
    for name in ("C", "F", "M", "deg_C"):
        names[name] = UNRESOLVED
    names["°"] = "deg"
    return {**names, "c": "ct", "p": "p", "a": "yr", **_SYMBOLS}


_NAMES: Final = _symbol_names()
_EXPONENT = r"(?P<power>\^\{?-?[1-4]\}?|[⁻⁺]?[¹²³⁴]|(?<=[cmkft])[23](?!\d)|-[12](?![\dA-Za-z]))?"
_ATOM: Final = re.compile(
    rf"(?:(?P<symbol>{_alternation(_NAMES, False)})"
    rf"|(?P<phrase>(?i:{_alternation(_PHRASES, True)})))"
    rf"(?:{_EXPONENT})(?P<more>(?<=[²³23])(?=[A-Za-z])|(?![A-Za-z_0-9]))"
)
_FIRST_CHARACTERS: Final = frozenset(name[0].lower() for name in (*_NAMES, *_PHRASES))
_SUBSTANCE: Final = re.compile(
    r"[\s-]{0,3}(?:of\s{1,20})?(?:CO2|CO₂|CO_2)(?:[\s-]?(?:eq|e)\b\.?)?(?![A-Za-z])"
)
_SHARE_OF: Final = re.compile(r"^(?:%|percent|per cent)\s+of\s+[^\d]{2,40}$", re.IGNORECASE)
_DOTTED: Final = re.compile(r"\.[a-z]\w*\s*[=:(\[]")
"""What makes a name of a unit before it, as in ``hp.cop = 3``."""
_DIVIDE: Final = re.compile(
    r"\s{0,2}/\s{0,2}|\s{1,20}(?:per|je|pro|par)\s{1,20}(?:each\s|every\s)?", re.I
)
_FOR_EVERY: Final = re.compile(
    r"\s{1,20}(?:for\s{1,20})?(?:every|each)\s{1,20}|\s{1,20}an?\s{1,20}"
)
_AND_TIME: Final = re.compile(
    r"\s{1,20}and\s{1,20}(?:per\s{1,20})?(?=(?:hour|day|week|year|annum|h|d|a|yr)\b)", re.I
)
_TIMES: Final = re.compile(r"\s?[·⋅*]\s?")
_BLANK: Final = re.compile(r"\s{1,20}")
_PER_START: Final = re.compile(r"(?:per|each|every|for\s{1,20}every)\s{1,20}|/\s?", re.I)
_FLOW: Final = re.compile(r"/(s|h|min)(?![A-Za-z])")
_PER_UNIT_OF: Final = re.compile(r"\s{1,20}(?:area|length|time|volume|mass)\b")


def find_unit(text: str, start: int, conventions: Conventions | None = None) -> UnitMatch | None:
    """Return the longest unit that starts at a place of a text, or None.

    Line breaks count as blanks; white space before the unit is skipped already.

    >>> str(find_unit("price of 80 euros per MWh", 12).unit)
    'EUR/MWh'
    >>> find_unit("12 batteries", 3) is None
    True
    """
    found = _read_atom(text, start, first=True)
    if found is None or _DOTTED.match(text, found[1]):
        return None
    parts, end = _read_rest(text, found[1], [found[0]])
    return _match(text, start, end, parts, conventions)


def find_per(text: str, start: int, conventions: Conventions | None = None) -> UnitMatch | None:
    """Return a unit that begins with ``per`` or ``/``, as in ``3 per hour``, or None."""
    per = _PER_START.match(text, start)
    if per is None:
        return None
    found = _read_denominator(text, per.end())
    if found is None:
        return None
    parts, end = _read_rest(text, found[1], found[0])
    return _match(text, start, end, parts, conventions)


def with_currency(
    text: str, symbol: str, start: int, conventions: Conventions | None = None
) -> UnitMatch | None:
    """Return the unit of an amount whose currency stands before it, as in ``$0.12/kWh``.

    ``start`` is where the number ends; the match covers only what follows the number.
    """
    per = _DIVIDE.match(text, start) or _FOR_EVERY.match(text, start)
    currency = _settled(SYMBOLS.get(symbol, symbol), conventions or Conventions())
    if per is not None:
        found = _read_denominator(text, per.end())
        if found is not None:
            parts, end = _read_rest(text, found[1], [(currency, 1), *found[0]])
            match = _match(text, start, end, parts, conventions)
            return UnitMatch(match.end, symbol + match.text, match.unit)
    return UnitMatch(start, symbol, parse_unit(currency))


def resolve_unit(text: str, conventions: Conventions | None = None) -> Unit | None:
    """Return the unit that a whole text names, in any of the spellings known here, or None."""
    cleaned = _SHARE_OF.sub("%", text.strip())
    if not cleaned or len(cleaned) > _MAX_UNIT_LENGTH:
        return None
    match = find_unit(cleaned, 0, conventions) or find_per(cleaned, 0, conventions)
    if match is not None and match.end == len(cleaned):
        return match.unit
    try:
        return parse_unit(cleaned)
    except UnitError:
        return None


def unit_beside(text: str, own: str) -> Unit:
    """Return the unit that a text names for a place in a unit ``own``, whose currency cents are of.

    Raises UnitError when there is none.

    >>> str(unit_beside("ct/kWh", "USD/MWh"))
    'ct_USD/kWh'
    """
    try:
        return parse_unit(text)
    except UnitError:
        found = resolve_unit(text, Conventions(only_currency(own)))
        if found is None:
            raise
        return found


def _match(
    text: str, start: int, end: int, parts: list[Part], conventions: Conventions | None
) -> UnitMatch:
    written = " ".join(text[start:end].split())
    return UnitMatch(end, written, _compose(tuple(parts), conventions or Conventions()))


def _read_atom(text: str, start: int, first: bool) -> tuple[Part, int] | None:
    if text[start : start + 1].lower() not in _FIRST_CHARACTERS:
        return None  # most numbers have no unit: spare them the long pattern
    match = _ATOM.match(text, start)
    if match is None:
        return None
    written = match["symbol"] or match["phrase"]
    if (
        first
        and written in _NEVER_FIRST
        and not (written in "cp" and text[match.end() :][:1] == "/")
    ):
        return None
    if match["symbol"]:
        name = _NAMES[" ".join(written.split())]
    else:
        name = _PHRASES[re.sub(r"[\s-]+", " ", written.lower())]
    power = match["power"]
    exponent = int(power.translate(_SUPERSCRIPTS).strip("^{}")) if power else 1
    end = match.end()
    substance = _SUBSTANCE.match(text, end) if name in ("g", "kg", "t", "tons") else None
    if substance is not None:
        name, end = UNRESOLVED if name == "tons" else name, substance.end()
    return (name, exponent), end


def _read_rest(text: str, end: int, parts: list[Part]) -> tuple[list[Part], int]:
    """Read what follows the first factor: products, quotients, brackets below the line."""
    below = any(exponent < 0 for _, exponent in parts)
    while len(parts) < _MAX_ATOMS:
        divide = _DIVIDE.match(text, end)
        if divide is None and _is_amount(parts[0][0]):
            divide = _FOR_EVERY.match(text, end)
        if divide is None and below:
            divide = _AND_TIME.match(text, end)
        if divide is not None:
            found = _read_denominator(text, divide.end())
            if found is None:
                break
            parts, end, below = [*parts, *found[0]], found[1], True
            continue
        more = _read_product(text, end, below)
        if more is None:
            break
        parts, end = [*parts, more[0]], more[1]
    return parts, end


def _read_product(text: str, end: int, below: bool) -> tuple[Part, int] | None:
    """Read one more factor; after a stroke ``W/m²·K`` and ``W/m²K`` divide by both, as is meant."""
    times = _TIMES.match(text, end)
    if times is not None:
        found = _read_atom(text, times.end(), first=False)
        return None if found is None else (_signed(found[0], below), found[1])
    if text[end - 1 : end] in ("²", "³", "2", "3") and text[end : end + 1].isalpha():
        found = _read_atom(text, end, first=False)
        return None if found is None else (_signed(found[0], below), found[1])
    blank = _BLANK.match(text, end)
    if blank is not None:  # W m⁻² K⁻¹
        found = _read_atom(text, blank.end(), first=False)
        if found is not None and found[0][1] < 0:
            return found
        if found is not None and below and found[0][0] == "K" and text[end - 1] in "²2":
            return _signed(found[0], below), found[1]  # W/m² K
    return None


def _signed(part: Part, below: bool) -> Part:
    return (part[0], -part[1]) if below and part[1] > 0 else part


def _read_denominator(text: str, start: int) -> tuple[list[Part], int] | None:
    if text[start : start + 1] != "(":
        found = _read_atom(text, start, first=False)
        if found is None or _PER_UNIT_OF.match(text, found[1]):
            return None
        parts, end = [(found[0][0], -found[0][1])], found[1]
        flow = _FLOW.match(text, end) if text[:start].endswith("per ") else None
        if flow is not None and found[0] in (("m3", 1), ("m", 3), ("kg", 1), ("L", 1), ("t", 1)):
            return [*parts, (flow[1], 1)], flow.end()  # MW per m³/s
        return parts, end
    position = start + 1
    parts = []
    while len(parts) < _MAX_ATOMS:
        found = _read_atom(text, position, first=False)
        if found is None:
            return None
        parts.append((found[0][0], -found[0][1]))
        position = found[1]
        if text[position : position + 1] == ")":
            return parts, position + 1
        times = _TIMES.match(text, position) or _BLANK.match(text, position)
        position = times.end() if times else position
    return None


def _is_amount(name: str) -> bool:
    return name in CURRENCIES or name.startswith("ct") or name in ("€", "$", "£")


_DIFFERENCES: Final = {"degC": "K", "°C": "K", "℃": "K", "degF": "degF_diff", "°F": "degF_diff"}


@lru_cache(maxsize=4096)
def _compose(parts: tuple[Part, ...], conventions: Conventions) -> Unit | None:
    names = []
    for name, exponent in parts:
        name = _settled(name, conventions)
        if name == UNRESOLVED:
            return None
        if len(parts) > 1:  # per degree Celsius means per kelvin
            name = _DIFFERENCES.get(name, name)
        names += [(_canonical(inner), exponent) for inner in name.split("*")]
    try:
        return parse_unit(quotient_text(names))
    except UnitError:
        return None


def _canonical(name: str) -> str:
    try:
        return parse_unit(name).text or name
    except UnitError:
        return name


def _settled(name: str, conventions: Conventions) -> str:
    cents = f"ct_{conventions.currency}" if conventions.currency else UNRESOLVED
    found = {
        **dict.fromkeys(("ct", "cent", "cents", "¢"), cents),
        "$": conventions.dollar,
        "¥": conventions.yen,
        "p": "ct_GBP" if conventions.currency == "GBP" else UNRESOLVED,
        "degrees": "deg" if conventions.angles else UNRESOLVED,
        "tons": "TR" if conventions.refrigeration else UNRESOLVED,
    }
    return found.get(name, name)


_ANGLES: Final = re.compile(
    r"(?i)\b(?:azimuth|tilt|angles?|slope|latitude|longitude|orientation)\b"
)


_REFRIGERATION: Final = re.compile(
    r"(?i)\btons?\s+of\s+(?:refrigeration|cooling)\b|\brefrigeration\s+tons?\b"
    r"|\btons?[-\u00b7 ](?:hours?|hrs?|h)\b"
    r"|\bton\s*=\s*12[,.]?\d*\s*k?btu\b|\bkW\s*(?:/|per)\s*ton\b"
)


def tons_settled(words: str, text: str) -> str:
    """Return some words of a text with its tons as TR, where those are tons of refrigeration."""
    if not _REFRIGERATION.search(text):
        return words
    words = re.sub(r"\btons?[-\u00b7 ](?:hours?|hrs?|h)\b", "TRh", words)
    return re.sub(r"\btons?\b(?!\s+of\s+(?!refrigeration|cooling))", "TR", words)


def conventions_of(text: str) -> Conventions:
    """Return what a text settles: its one currency, whether it speaks of angles, what a ton is."""
    return Conventions(
        only_currency(text),
        bool(_ANGLES.search(text)),
        bool(_REFRIGERATION.search(text)),
        dollar_of(text),
        yen_or_yuan(text),
    )
