"""Two texts token by token: which numbers differ, and where a place of one stands in the other.

A token is a number with the unit beside it, a unit that a table's header or unit column states, or
a word or mark. Words, their order and the punctuation have to be the same; white space may differ.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import zip_longest
from typing import Any, Final

from engiagent.readings.reading import Gap
from engiagent.text.parts import Quantity, Span
from engiagent.text.problem import Body
from engiagent.units.unit import Unit

Pair = tuple[Quantity, Quantity]
"""A number of the old text and that of the new one in its place."""

_WORD: Final = re.compile(r"-{3,}|\w+|[^\w\s]")
_NAMING: Final = re.compile(r"(?m)^(?:id|title|family|tags|  *rows):.*\n(?:[ \t]*- .*\n)*")


@dataclass(frozen=True)
class Token:
    """A word or mark, a number with its unit, or a unit of a table that stands alone."""

    span: Span
    word: str = ""
    quantity: Quantity | None = None
    unit: Unit | None = None


@dataclass(frozen=True)
class Alignment:
    """Two texts of the same words, and every number of the old one with that of the new."""

    old: Body
    new: Body
    numbers: tuple[Pair, ...]
    starts: dict[int, int] = field(repr=False)
    ends: dict[int, int] = field(repr=False)

    def moved(self, span: Span) -> Span | None:
        """Return where a place of the old text stands in the new one.

        None if it begins or ends within a number that differs.
        """
        start, end = self.starts.get(span[0]), self.ends.get(span[1])
        return None if start is None or end is None or start >= end else (start, end)


def amount(quantity: Quantity) -> tuple[Any, ...]:
    """Return what has to be equal in two numbers that are the same: dimension, amount and date."""
    kind = quantity.unit_text if quantity.unit is None else quantity.unit.dimension
    return kind, in_si(quantity), quantity.date


def in_si(quantity: Quantity) -> Fraction:
    """Return the exact amount in coherent SI units, or the bare number."""
    if quantity.unit is None:
        return quantity.exact
    return quantity.exact * quantity.unit.factor + (quantity.unit.zero or 0)


def align(old: Body, new: Body) -> Alignment | Gap:
    """Align two texts, or quote where they differ in more than numbers and units."""
    fronts = _front(new), _front(old)
    if fronts[0] != fronts[1]:
        quotes = tuple(text or "no front matter" for text in fronts)
        return Gap(quotes, "the front matter differs in more than id, title, family and tags")
    found = Alignment(old, new, (), {}, {})
    pairs = []
    for here, there in zip_longest(_tokens(old), _tokens(new)):
        why = "the words differ" if here is None or there is None else _unlike(here, there)
        if why:
            after = "the text ends" if there is None else sentence_at(new, there.span[0])
            before = "the text ended" if here is None else sentence_at(old, here.span[0])
            return Gap((after, before), f"{why}; the text that was read says {before!r}")
        _link(found, here, there)
        if here.quantity is not None and there.quantity is not None:
            pairs.append((here.quantity, there.quantity))
    return Alignment(old, new, tuple(pairs), found.starts, found.ends)


def sentence_at(text: Body, offset: int) -> str:
    """Return the sentence or the line of a table at a place, white space collapsed."""
    inside = (s.span for s in text.sentences if s.span[0] <= offset < s.span[1])
    end = text.text.find("\n", offset)
    line = text.text.rfind("\n", 0, offset) + 1, len(text.text) if end < 0 else end
    return " ".join(text.text[slice(*next(inside, line))].split())


def _front(text: Body) -> str:
    """Return the front matter without what only names the problem."""
    return " ".join(_NAMING.sub("", text.text[: text.body_start]).split())


def _tokens(text: Body) -> Iterator[Token]:
    """Yield the tokens of the body in order."""
    marks = [Token(q.span, quantity=q) for q in text.quantities if q.kind != "label"]
    apart = {
        q.unit_span: q.unit
        for q in text.quantities
        if q.table is not None and q.unit_span is not None and not _inside(q.unit_span, q.span)
    }
    for table in text.tables:
        apart |= {s: u for s, u in zip(table.unit_spans, table.units, strict=True) if s is not None}
    marks += [Token(span, unit=unit) for span, unit in apart.items() if unit is not None]
    position = text.body_start
    for mark in sorted(marks, key=lambda token: token.span):
        start, end = mark.span
        if start < position and mark.quantity is not None:
            start, end = mark.quantity.number_span  # its unit belongs to the number before, too
        if start < position:
            continue
        yield from _words(text.text, position, start)
        yield Token((start, end), "", mark.quantity, mark.unit)
        position = end
    yield from _words(text.text, position, len(text.text))


def _inside(one: Span, other: Span) -> bool:
    return other[0] <= one[0] and one[1] <= other[1]


def _words(text: str, start: int, end: int) -> Iterator[Token]:
    for match in _WORD.finditer(text, start, end):
        yield Token(match.span(), "---" if match[0].startswith("---") else match[0])


def _unlike(old: Token, new: Token) -> str:
    """Return why two tokens are no two values of one thing; empty if they are."""
    a, b = old.quantity, new.quantity
    units = old.unit, new.unit
    if a is not None and b is not None and a.kind == b.kind:
        units = a.unit, b.unit
        ways = {(q.approximate, q.ambiguous, q.range_id is None) for q in (a, b)}
        if len(ways) > 1:
            return "the number is written another way"
        if None in units and a.unit_text != b.unit_text:
            return "the unit differs, and is not one of the same dimension"
    elif a is not None or b is not None or old.word != new.word:
        return "the words differ"
    return unlike_units(*units)


def unlike_units(old: Unit | None, new: Unit | None) -> str:
    """Return why one unit cannot stand for another; empty if both measure the same."""
    if old is None or new is None:
        return "" if old is new else "the unit differs"
    if old.dimension != new.dimension or old.is_point != new.is_point:
        return f"the unit {new} measures something else than {old}"
    return ""


def _link(found: Alignment, here: Token, there: Token) -> None:
    """Link the places of two tokens: their ends, and inside where they are the same."""
    pairs = [(here.span, there.span)]
    a, b = here.quantity, there.quantity
    if found.old.text[slice(*here.span)] == found.new.text[slice(*there.span)]:
        shift = there.span[0] - here.span[0]
        pairs = [((k, k + 1), (k + shift, k + shift + 1)) for k in range(*here.span)]
    elif a is not None and b is not None:
        pairs.append((a.number_span, b.number_span))
        if a.unit_span is not None and b.unit_span is not None:
            pairs.append((a.unit_span, b.unit_span))
    for first, second in pairs:
        if _inside(first, here.span):
            found.starts[first[0]] = second[0]
            found.ends[first[1]] = second[1]
