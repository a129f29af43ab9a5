"""What numbers share with their neighbours: the unit of a range or a list, and who is a range."""

import re
from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Final

from engiagent.text.lexer import Token
from engiagent.units.words import resolve_unit

_RANGE: Final = re.compile(
    r"(?i)\s{0,20}(?:-|–|—|\u2012|to|until|till|through|up\s{1,20}to(?:\s{1,20}and\s{1,20}including)?|\.{2,3}|…)\s{0,20}"
)
_AND: Final = re.compile(r"(?i)\s{0,20}and\s{0,20}")
_LIST: Final = re.compile(r"(?i)\s{0,20}(?:,|;|/|&|,?\s{0,20}(?:and|or|respectively))\s{0,20}")
_BETWEEN: Final = re.compile(
    r"(?i)\b(?:between|in\s{1,20}the\s{1,20}range)(?:\s{1,20}of)?\s{1,20}$"
)
_DIMENSIONLESS: Final = re.compile(
    r"(?i)(?:efficienc|\bcop\b|coefficient|factor|share|ratio|fraction|probabilit|number\s{1,20}of)"
    r"[^,.;]{0,30}$"
)
_MAX_GAP: Final = 60


def share(text: str, tokens: Iterable[Token]) -> list[Token]:
    """Return the tokens of a stretch with shared units filled in and ranges joined."""
    found = list(tokens)
    ranges = 0
    for k in range(len(found) - 2, -1, -1):
        left, right = found[k], found[k + 1]
        gap = text[left.end : right.start]
        if len(gap) > _MAX_GAP:
            continue
        if _is_range(text, gap, left) and _comparable(left, right):
            first, second = _ends(left, right)
            index = ranges if right.range_index is None else right.range_index
            ranges += right.range_index is None
            found[k] = replace(first, range_index=index)
            found[k + 1] = replace(second, range_index=index)
        elif (right.plus_minus and not gap.strip()) or (
            _LIST.fullmatch(gap) and _list_shares(text, left, right)
        ):
            found[k] = _with_unit_of(left, right)
    return _labels_on(text, found)


def _is_range(text: str, gap: str, left: Token) -> bool:
    if _RANGE.fullmatch(gap):
        return True
    before = text[max(0, left.start - 30) : left.start]
    return bool(_AND.fullmatch(gap) and _BETWEEN.search(before))


def _comparable(left: Token, right: Token) -> bool:
    """Whether two neighbours can be the ends of one range."""
    if left.kind == right.kind and left.kind in ("clock", "date"):
        return True
    plain = ("number", "percent", "duration", "word")
    if right.kind == "clock" and left.is_bare:
        return left.exact.denominator == 1 and 0 <= left.exact <= 24
    if left.kind not in plain or right.kind not in plain:
        return False
    if _per_follows(left, right):
        return True
    if left.unit is not None and right.unit is not None:
        return left.unit.same_dimension(right.unit)
    if left.unit_text and right.unit_text:
        return left.unit_text == right.unit_text
    return not (left.kind == "word" and right.kind == "word" and not right.unit_text)


def _ends(left: Token, right: Token) -> tuple[Token, Token]:
    if right.kind == "clock" and left.is_bare:
        hours = left.exact
        if right.half:
            hours = hours % 12 + (12 if right.half == "p" else 0)
            if hours > right.exact and right.half == "p":
                hours -= 12  # from 9 to 5 pm
        return replace(left, kind="clock", exact=Fraction(hours)), right
    if right.kind == "clock" and right.is_midnight:
        return left, replace(right, exact=Fraction(24))  # from 22:00 to midnight
    if _per_follows(left, right):
        unit = resolve_unit(f"{left.unit}{str(right.unit)[1:]}")
        written = f"{left.unit_text} {right.unit_text}"
        both = (replace(token, unit=unit, unit_text=written) for token in (left, right))
        return next(both), next(both)
    if not left.unit_text and right.unit_text:
        return _with_unit_of(left, right), right
    if left.unit_text and not right.unit_text:
        return left, _with_unit_of(right, left)
    return left, right


def _per_follows(left: Token, right: Token) -> bool:
    """Whether a currency before the first number and a ``per`` behind the second are one unit."""
    per = right.unit_text.lower().startswith(("per ", "/")) and right.unit is not None
    return per and bool(left.currency) and left.unit_text == left.currency


def _with_unit_of(bare: Token, other: Token) -> Token:
    if bare.unit_text or not other.unit_text or bare.kind not in ("number", "word"):
        return bare
    kind = other.kind if bare.kind == "number" or other.kind == "duration" else bare.kind
    return replace(
        bare, unit=other.unit, unit_text=other.unit_text, unit_span=other.unit_span, kind=kind
    )


def _list_shares(text: str, left: Token, right: Token) -> bool:
    if not left.is_bare or not right.unit_text or right.currency:
        return False
    return not _DIMENSIONLESS.search(text[max(0, left.start - 60) : left.start])


def _labels_on(text: str, found: list[Token]) -> list[Token]:
    """Make the rest of "zones 1, 2 and 3" labels like its first number."""
    for k in range(1, len(found)):
        left, right = found[k - 1], found[k]
        gap = text[left.end : right.start]
        if (
            left.kind == "label"
            and right.is_bare
            and right.exact.denominator == 1
            and (_LIST.fullmatch(gap[:_MAX_GAP]) or _RANGE.fullmatch(gap[:_MAX_GAP]))
        ):
            found[k] = replace(right, kind="label")
    return found
