"""A number as the lexer sees it, and the unit that follows it."""

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from engiagent.text.parts import QuantityKind, Span
from engiagent.units.unit import Unit
from engiagent.units.words import Conventions, UnitMatch, find_per, find_unit

_ABOUT: Final = re.compile(
    r"(?i)(?:\b(?:approx\.?|approximately|about|around|roughly|circa|ca\.|some|nearly|almost)"
    r"\s{1,20}|[~≈\u223c]\s{0,3})$"
)
_GAP: Final = re.compile(r"\s{0,40}")
_BRACKET: Final = re.compile(r"\s{0,3}([\[(])\s?")
_HYPHEN_WORD: Final = re.compile(r"[-\u2011][A-Za-z]")


@dataclass(frozen=True)
class Token:
    """A number as the lexer sees it; offsets are those of the stretch."""

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
    kind = kind_of(match)
    return replace(
        token,
        end=end,
        unit=match.unit,
        unit_text=match.text,
        unit_span=(start, match.end),
        kind=kind,
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


def kind_of(match: UnitMatch) -> QuantityKind:
    """Return the kind of a number with this unit."""
    lower = match.text.lower()
    if lower.startswith(("%", "percent", "per cent")):
        return "percent"
    if lower.startswith("month"):
        return "duration"
    if match.unit is not None and match.unit.dimension == (("s", 1),):
        return "duration"
    return "number"
