"""Two texts token by token: which numbers differ, and where a place of one stands in the other.

A token is a number with the unit beside it, a unit that a table's header or unit column states, or
a word or mark. Words, their order and the punctuation have to be the same; white space may differ.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Final

from engiagent.text import Problem
from engiagent.text.blocks import read_sentences, read_tables
from engiagent.text.datafile import Column, DataFile
from engiagent.text.frontmatter import split_front_matter
from engiagent.text.markdown import read_layout
from engiagent.text.parts import Quantity, Sentence, Span, Table
from engiagent.text.quantities import read_quantities
from engiagent.units.unit import Unit, parse_unit
from engiagent.units.words import conventions_of

_WORD: Final = re.compile(r"-{3,}|\w+|[^\w\s]")
_NAMING: Final = re.compile(r"(?m)^(?:id|title|family|tags|  *rows):.*\n(?:[ \t]*- .*\n)*")


@dataclass(frozen=True)
class PlainText:
    """A text that was read earlier, without its data files."""

    text: str = field(repr=False)
    body_start: int
    tables: tuple[Table, ...]
    sentences: tuple[Sentence, ...]
    quantities: tuple[Quantity, ...]

    @classmethod
    def of(cls, text: str, name: str) -> "PlainText":
        """Read a text with the lexers that a problem is loaded with."""
        _, start = split_front_matter(text)
        conventions = conventions_of(text[start:])
        layout = read_layout(text, start, name)
        sentences = read_sentences(layout, name)
        tables = read_tables(layout, sentences, conventions)
        numbers = read_quantities(text, layout.spaced, sentences, tables, conventions, name)
        return cls(text, start, tables, sentences, numbers)


Text = PlainText | Problem
"""What alignment takes: the texts as they stood and as they stand."""


@dataclass(frozen=True)
class Token:
    """A word or mark, a number with its unit, or a unit of a table that stands alone."""

    span: Span
    word: str = ""
    quantity: Quantity | None = None
    unit: Unit | None = None

    @property
    def shape(self) -> str:
        """What has to be the same in both texts."""
        if self.quantity is not None:
            return f"number:{self.quantity.kind}"
        return "unit" if self.unit is not None else self.word


@dataclass(frozen=True)
class Difference:
    """Where two texts part: the words around the place in the new text and in the old one."""

    new: str
    old: str
    reason: str


@dataclass(frozen=True)
class Alignment:
    """Two texts of the same words, and every number of the old one with that of the new."""

    old: Text
    new: Text
    numbers: tuple[tuple[Quantity, Quantity], ...]
    starts: dict[int, int] = field(repr=False)
    ends: dict[int, int] = field(repr=False)

    def changed(self) -> list[tuple[Quantity, Quantity]]:
        """Return the numbers that differ in value, unit or date."""
        return [(a, b) for a, b in self.numbers if not same_number(a, b)]

    def moved(self, span: Span) -> Span | None:
        """Return where a place of the old text stands in the new one.

        None if it begins or ends within a number that differs.
        """
        start, end = self.starts.get(span[0]), self.ends.get(span[1])
        return None if start is None or end is None or start >= end else (start, end)


def same_number(old: Quantity, new: Quantity) -> bool:
    """Whether two numbers are equal: as amounts where both have a unit, and in their dates."""
    if old.unit is None or new.unit is None:
        written = (old.unit, old.unit_text) == (new.unit, new.unit_text)
        return written and (old.exact, old.date) == (new.exact, new.date)
    same = old.unit.dimension == new.unit.dimension and old.unit.is_point == new.unit.is_point
    return same and in_si(old) == in_si(new) and old.date == new.date


def in_si(quantity: Quantity) -> Fraction:
    """Return the exact amount in coherent SI units, or the bare number."""
    if quantity.unit is None:
        return quantity.exact
    return quantity.exact * quantity.unit.factor + (quantity.unit.zero or 0)


def align(old: Text, new: Text) -> Alignment | Difference:
    """Align two texts, or say where they differ in more than numbers and units."""
    if _front(old) != _front(new):
        why = "the front matter differs in more than id, title, family and tags"
        return Difference(_front(new) or "no front matter", _front(old) or "no front matter", why)
    before, after = list(_tokens(old)), list(_tokens(new))
    for k in range(max(len(before), len(after))):
        here = before[k] if k < len(before) else None
        there = after[k] if k < len(after) else None
        if here is None or there is None or here.shape != there.shape:
            return _difference(old, new, here, there, "the words differ")
        why = _unlike(here, there)
        if why:
            return _difference(old, new, here, there, why)
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    pairs = []
    for here, there in zip(before, after, strict=True):
        _link(old, new, here, there, starts, ends)
        if here.quantity is not None and there.quantity is not None:
            pairs.append((here.quantity, there.quantity))
    return Alignment(old, new, tuple(pairs), starts, ends)


def sentence_at(text: Text, offset: int) -> str:
    """Return the sentence or the line of a table at a place, white space collapsed."""
    for sentence in text.sentences:
        if sentence.span[0] <= offset < sentence.span[1]:
            return " ".join(text.text[slice(*sentence.span)].split())
    start = text.text.rfind("\n", 0, offset) + 1
    end = text.text.find("\n", offset)
    return " ".join(text.text[start : len(text.text) if end < 0 else end].split())


def _front(text: Text) -> str:
    """Return the front matter without what only names the problem."""
    return " ".join(_NAMING.sub("", text.text[: text.body_start]).split())


def _tokens(text: Text) -> Iterator[Token]:
    """Yield the tokens of the body in order."""
    marks = [Token(q.span, quantity=q) for q in text.quantities if q.kind != "label"]
    apart = {
        q.unit_span: q.unit
        for q in text.quantities
        if q.table is not None and q.unit_span is not None and not _inside(q.unit_span, q.span)
    }
    for table in text.tables:
        spans = zip(table.unit_spans, table.units, strict=True)
        apart |= {span: unit for span, unit in spans if span is not None}
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
        word = "---" if match[0].startswith("---") else match[0]
        yield Token(match.span(), word)


def _unlike(old: Token, new: Token) -> str:
    """Return why two tokens are no two values of one thing; empty if they are."""
    units = (old.unit, new.unit)
    if old.quantity is not None and new.quantity is not None:
        a, b = old.quantity, new.quantity
        units = (a.unit, b.unit)
        ways = {(q.approximate, q.ambiguous, q.range_id is None) for q in (a, b)}
        if len(ways) > 1:
            return "the number is written another way"
        if (a.unit is None or b.unit is None) and a.unit_text != b.unit_text:
            return "the unit differs, and is not one of the same dimension"
    if units[0] is None or units[1] is None:
        return "" if units[0] is units[1] else "the unit differs"
    if units[0].dimension != units[1].dimension or units[0].is_point != units[1].is_point:
        return f"the unit {units[1]} measures something else than {units[0]}"
    return ""


def _difference(
    old: Text, new: Text, here: Token | None, there: Token | None, reason: str
) -> Difference:
    after = "the text ends" if there is None else sentence_at(new, there.span[0])
    before = "the text ended" if here is None else sentence_at(old, here.span[0])
    return Difference(after, before, reason)


def _link(
    old: Text, new: Text, here: Token, there: Token, starts: dict[int, int], ends: dict[int, int]
) -> None:
    """Link the places of two tokens: their ends, and inside where they are the same."""
    shift = there.span[0] - here.span[0]
    if old.text[slice(*here.span)] == new.text[slice(*there.span)]:
        for place in range(here.span[0], here.span[1]):
            starts[place] = place + shift
            ends[place + 1] = place + 1 + shift
        return
    pairs = [(here.span, there.span)]
    a, b = here.quantity, there.quantity
    if a is not None and b is not None:
        pairs.append((a.number_span, b.number_span))
        if a.unit_span is not None and b.unit_span is not None:
            pairs.append((a.unit_span, b.unit_span))
    for first, second in pairs:
        if _inside(first, here.span):
            starts[first[0]] = second[0]
            ends[first[1]] = second[1]


Json = dict[str, Any]


def shapes_of(problem: Problem) -> dict[str, Json]:
    """Return the shape of every data file by name: rows, stamps, columns and their ranges."""
    return {name: _shape(file) for name, file in problem.data.items()}


def _shape(file: DataFile) -> Json:
    axis = file.axis
    return {
        "sha256": file.sha256,
        "rows": file.rows,
        "first": None if axis is None else file.times[0].strftime("%Y-%m-%dT%H:%M"),
        "step_seconds": None if axis is None else axis.step_seconds,
        "zone": file.zone,
        "columns": [_column(c, name == file.time_column) for name, c in file.columns.items()],
    }


def _column(column: Column, is_time: bool) -> Json:
    unit = None if column.unit is None else str(column.unit)
    found: Json = {"name": column.name, "header": column.header, "unit": unit}
    if is_time:
        return found | {"kind": "time"}
    if isinstance(column.values, tuple):
        digest = hashlib.sha256("\n".join(column.values).encode()).hexdigest()
        return found | {"kind": "text", "digest": digest}
    low, high = float(column.values.min()), float(column.values.max())
    return found | {"kind": "number", "low": low, "high": high}


def unlike(name: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return why a data file is not another one of the same shape; empty if it is.

    Units may differ within their dimension, and the number of rows and the first stamp at all:
    what they mean for the horizon is for the reading to say.
    """
    if old["sha256"] == new["sha256"]:
        return ""
    if (old["step_seconds"], old["zone"]) != (new["step_seconds"], new["zone"]):
        return f"{name}: the step or the zone of its time stamps differs"
    if len(old["columns"]) != len(new["columns"]):
        return f"{name} has {len(new['columns'])} columns, it had {len(old['columns'])}"
    for a, b in zip(old["columns"], new["columns"], strict=True):
        why = _unlike_column(a, b)
        if why:
            return f"{name}, column {b['header']}: {why}"
    return ""


def _unlike_column(a: Mapping[str, Any], b: Mapping[str, Any]) -> str:
    if (a["name"], a["kind"]) != (b["name"], b["kind"]):
        return f"it was {a['header']} of kind {a['kind']}"
    one, two = _unit(a), _unit(b)
    if (one is None) != (two is None) or (a["header"] != b["header"] and one is None):
        return f"the header was {a['header']}"
    if one is not None and two is not None:
        if one.dimension != two.dimension or one.is_point != two.is_point:
            return f"the unit {two} measures something else than {one}"
        if one.is_point:
            return ""
    if a["kind"] == "text" and a["digest"] != b["digest"]:
        return "its texts differ, which no number of the reading carries"
    if a["kind"] == "number" and sign_lost((a["low"], a["high"]), (b["low"], b["high"])):
        return (
            f"values from {b['low']:g} to {b['high']:g} have a sign that none of the old ones had"
        )
    return ""


def sign_lost(old: tuple[float, float], new: tuple[float, float]) -> bool:
    """Whether a range reaches 0, or beyond it, where the old one did not.

    What a reading leaves out may rest on a sign, as that no price is negative.
    """
    below = (old[0] >= 0 > new[0]) or (old[0] > 0 >= new[0])
    return below or (old[1] <= 0 < new[1]) or (old[1] < 0 <= new[1])


def _unit(column: Mapping[str, Any]) -> Unit | None:
    return None if column["unit"] is None else parse_unit(str(column["unit"]))
